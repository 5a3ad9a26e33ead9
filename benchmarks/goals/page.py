"""The section of docs/performance.md about the goals, from two runs alone."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.comparisons import ALONE, is_cost
from benchmarks.goals.case import GOALS, NAME
from benchmarks.goals.chart import PANELS, QUANTILES, STYLES, quantiles, step_times
from benchmarks.table import description, format_value, short, sides

Result = Mapping[str, Any]
BEGIN, END = "<!-- goals -->", "<!-- end of goals -->"
IMAGE, DATA = "step_times.png", "goals.json"


def render(text: str, results: Sequence[Result]) -> str:
    """Return the page with the section of some runs.

    Raises
    ------
    ValueError
        If the page has not both markers.
    """
    new = "\n\n".join([BEGIN, *section(results), END])
    text, count = re.subn(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: new, text, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"expected the markers {BEGIN} and {END}, once")
    return text


def section(results: Sequence[Result]) -> list[str]:
    """Return the paragraphs."""
    first = description(results[0])
    machines = [first[:2], *([description(result)[2]] for result in results)]
    numbers = ["", *(f"run {n}: " for n in range(1, len(results) + 1))]
    return [
        "\n".join(_goals(results)),
        f"![The share of steps that take longer, by time, log scales]({IMAGE})",
        "\n".join(_quantiles(results)),
        *_policy(results),
        "\n".join(_ratios(results)),
        "  \n".join(
            number + line
            for number, lines in zip(numbers, machines, strict=True)
            for line in lines
        ),
        f"Command: `{results[0]['machine']['command']}`. Every figure: "
        f"[{DATA}]({DATA}).",
        *_skipped(results),
    ]


def row_of(result: Result, title: str) -> Mapping[str, Any] | None:
    """Return a row of a run by its title; None if the run has no such row."""
    rows = [row for row in result["rows"] if row["title"] == title]
    return rows[0] if rows else None


def is_reached(result: Result, title: str) -> bool:
    """Return whether the median of a row reaches its target."""
    row = row_of(result, title)
    if row is None or not row["values"]:
        return False
    median = statistics.median(row["values"])
    if is_cost(row["kind"], _unit(result, row)):
        return bool(median <= row["target"])
    return bool(median >= row["target"])


def _unit(result: Result, row: Mapping[str, Any]) -> str:
    subject, _ = sides(result, row)
    return subject["unit"] if subject else ""


def _cell(result: Result, title: str) -> str:
    """Return the median of a row, its least and its greatest value."""
    row = row_of(result, title)
    if row is None or not row["values"]:
        return "not measured"
    values, unit = row["values"], _unit(result, row)
    median, least, greatest = (
        format_value(row["kind"], f(values)).removesuffix("×")
        for f in (statistics.median, min, max)
    )
    spread = f" ({least} – {greatest})" if len(values) > 1 else ""
    return f"{median}{_suffix(row['kind'], unit)}{spread}"


def _suffix(kind: str, unit: str) -> str:
    return "×" if kind != ALONE or unit.startswith("×") else f" {unit}"


def _goals(results: Sequence[Result]) -> list[str]:
    runs = [f"run {n}" for n in range(1, len(results) + 1)]
    lines = [
        f"| | before | goal | {' | '.join(runs)} | reached |",
        "|---|--:|--:|" + "--:|" * len(runs) + "---|",
    ]
    for row, before in GOALS:
        target, reached = "", ""
        if row.target is not None:
            measured = row_of(results[0], row.title)
            unit = _unit(results[0], measured) if measured else ""
            sign = "≤" if is_cost(row.kind, unit) else "≥"
            target = f"{sign} {row.target:g}{_suffix(row.kind, unit)}"
            marks = {is_reached(result, row.title) for result in results}
            reached = {(True,): "yes", (False,): "no"}.get((*marks,), "in one run")
        cells = [_cell(result, row.title) for result in results]
        lines.append(f"| {' | '.join([row.title, before, target, *cells, reached])} |")
    return lines


def _quantiles(results: Sequence[Result]) -> list[str]:
    lines = [
        f"| time of a step, ms | run | {' | '.join(QUANTILES)} | steps |",
        "|---|---|" + "--:|" * (len(QUANTILES) + 1),
    ]
    for panel, contenders in PANELS.items():
        for contender, (label, _) in zip(contenders, STYLES, strict=True):
            for number, result in enumerate(results, 1):
                times = step_times(result, contender)
                if len(times):
                    values = [short(value) for value in quantiles(times).values()]
                    cells = [f"{panel}, `{label}`", str(number), *values]
                    lines.append(f"| {' | '.join(cells)} | {len(times):,} |")
    return lines


def _details(result: Result, contender: str) -> list[Mapping[str, Any]]:
    for record in result["cases"][NAME]["contenders"]:
        if record["name"] == contender:
            return [*record["details"]]
    return []


def _policy(results: Sequence[Result]) -> list[str]:
    lengths = [
        details["policy_us"]
        for result in results
        for name in ("loop, ahead", "turns, ahead")
        for details in _details(result, name)
    ]
    if not lengths:
        return []
    least, greatest = min(lengths), max(lengths)
    return [f"The policy took {least:,} to {greatest:,} µs a step."]


def _ratios(results: Sequence[Result]) -> list[str]:
    """Return a table of automatic threads over one thread, by size."""
    lines: list[str] = []
    for games in ("lakes", "rooms"):
        for number, result in enumerate(results, 1):
            rounds = [details["ratios"] for details in _details(result, f"any {games}")]
            if not rounds:
                continue
            if not lines:
                sizes = " | ".join(f"{int(size):,}" for size in rounds[0])
                lines = [
                    f"| automatic threads over one | run | {sizes} |",
                    "|---|---|" + "--:|" * len(rounds[0]),
                ]
            medians = [
                f"{statistics.median(each[size] for each in rounds):.2f}"
                for size in rounds[0]
            ]
            lines.append(f"| {games} | {number} | {' | '.join(medians)} |")
    return lines


def _skipped(results: Sequence[Result]) -> list[str]:
    reasons = {
        f"- {entry['contender']}: {entry['reason']}"
        for result in results
        for entry in result["skipped"]
    }
    return ["Skipped:\n\n" + "\n".join(sorted(reasons))] if reasons else []
