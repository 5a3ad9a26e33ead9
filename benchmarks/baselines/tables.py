"""The figures of docs/baselines.md and of quotations in other pages."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.baselines.results import RESULTS, key_of


@functools.cache
def content() -> dict[str, Any]:
    """Return the file of results."""
    parsed: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
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
