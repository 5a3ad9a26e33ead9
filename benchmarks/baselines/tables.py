"""The figures of docs/baselines.md and of other pages, and docs/baselines.png."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.result import RESULTS as FOLDER

RESULTS = FOLDER / "baselines.json"
# Colours and markers differ: they are told apart without colour, too (Okabe and Ito).
_STYLES = (("#999999", "o"), ("#E69F00", "s"), ("#0072B2", "D"), ("#D55E00", "^"))


def key_of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return id, split and policy of a row."""
    return row["id"], row["split"], row["policy"]


@functools.cache
def content(path: Path = RESULTS) -> dict[str, Any]:
    """Return the file of results; without a file one that has no rows."""
    if not path.exists():
        return {"rows": []}
    parsed: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return parsed


def show_figure(words: str) -> str:
    """Return a success rate, of ``ID SPLIT POLICY``.

    With ``new`` behind it, the success on levels that equal no training level.

    Raises
    ------
    ValueError
        If the file has no such row.
    """
    id, split, policy, *new = words.split()
    figure = "new_success" if new == ["new"] else "success"
    for row in content()["rows"]:
        if key_of(row) == (id, split, policy) and figure in row:
            return _percent(row[figure])
    raise ValueError(f"expected a baseline of the file, got {words}")


def show_table(words: str) -> str:
    """Return a table: ``success``, ``return``, ``length``, ``notes``, ``revisions``."""
    shows = {
        "success": _percent,
        "return": _decimal,
        "length": lambda value: f"{value:,.1f}",
    }
    if words in shows:
        return _table(words, shows[words])
    return "\n".join(_notes() if words == "notes" else _revisions())


def _percent(values: Sequence[float]) -> str:
    """Return an interval in percent; more digits where all is below one percent."""
    digits = 2 if max(values) < 0.01 else 1
    rate, low, high = (f"{100 * value:.{digits}f}" for value in values)
    return f"{rate} % ({low} to {high})"


def _decimal(values: Sequence[float]) -> str:
    """Return an interval; more digits where all is near 0."""
    digits = 4 if max(map(abs, values)) < 0.1 else 2
    mean, low, high = (f"{v:.{digits}f}".replace("-", "−") for v in values)
    return f"{mean} ({low} to {high})"


def _table(figure: str, show: Any) -> str:
    rows = {key_of(row): row for row in content()["rows"]}
    policies = list(content()["policies"])
    lines = [
        f"| id | split | {' | '.join(policies)} |",
        f"|---|---|{'--:|' * len(policies)}",
    ]
    for split in content()["splits"]:
        keys = [(split["id"], split["name"], policy) for policy in policies]
        cells = [show(rows[key][figure]) if key in rows else "–" for key in keys]
        lines.append(f"| `{split['id']}` | {split['name']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _notes() -> list[str]:
    """Return the policies, why rows are missing, and success on new levels."""
    lines = [f"- **{name}**: {text}" for name, text in content()["policies"].items()]
    places: dict[tuple[str, str], list[str]] = {}
    for entry in content()["absent"]:
        name = f"{entry['id'].split('/')[1]} {entry['split']}"
        places.setdefault((entry["policy"], entry["reason"]), []).append(name)
    lines += [
        f"- no {policy}: {reason} ({', '.join(names)})."
        for (policy, reason), names in places.items()
    ]
    return lines + [
        f"- {row['policy']} on `{row['id']}` {row['split']}: "
        f"{_percent(row['new_success'])} of the {row['new_episodes']} test levels that "
        f"equal none of the {row['training_levels']:,} training levels."
        for row in content()["rows"]
        if "new_success" in row
    ]


def _revisions() -> list[str]:
    """Return the code and the packages that the rows were measured with."""
    groups: dict[str, list[str]] = {}
    trainings: dict[str, str] = {}
    for row in content()["rows"]:
        versions: Mapping[str, str] = row["versions"]
        packages = ", ".join(f"{name} {v}" for name, v in versions.items())
        commit = f"commit {row['revision']}, {packages}"
        groups.setdefault(commit, []).append(row["policy"])
        if "training" in row:
            trainings[row["training"]] = row["checkpoint"][:12]
    lines = [f"- command: `{content()['command']}`"]
    lines += [f"- {', '.join(dict.fromkeys(x))}: {text}" for text, x in groups.items()]
    return lines + [
        f"- `{x}`: checkpoint `{digest}`" for x, digest in trainings.items()
    ]


def draw(path: Path) -> None:
    """Draw the success rates into a png."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = {key_of(row): row for row in content()["rows"]}
    splits = content()["splits"]
    figure = Figure(figsize=(7.6, 1.0 + 0.36 * len(splits)), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.subplots()
    for policy, (color, marker) in zip(content()["policies"], _STYLES, strict=True):
        points = [
            (place, [100 * value for value in rows[key]["success"]])
            for place, split in enumerate(splits)
            if (key := (split["id"], split["name"], policy)) in rows
        ]
        rates = [rate for _, (rate, _, _) in points]
        below = [rate - low for _, (rate, low, _) in points]
        above = [high - rate for _, (rate, _, high) in points]
        places = [place for place, _ in points]
        style = {"fmt": marker, "color": color, "markersize": 5, "capsize": 2}
        axes.errorbar(rates, places, xerr=[below, above], label=policy, **style)
    labels = [f"{s['id'].split('/')[1]}  {s['name']}" for s in splits]
    axes.set_yticks(range(len(splits)), labels, fontsize="small")
    axes.invert_yaxis()
    axes.set_xlim(-2, 102)
    axes.set_xlabel("success in %, with 95 % intervals")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.09), ncols=4, frameon=False)
    figure.set_dpi(90)
    canvas.print_png(path, metadata={"Software": None})
