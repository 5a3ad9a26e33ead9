"""Rows of a result as text, for the terminal and for pages."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.comparisons import ALONE, COST, NS_MORE, RATIO, is_cost
from benchmarks.peers import PEERS

Record = Mapping[str, Any]
HEADER = ("task", "ours", "theirs", "median", "least – greatest", "aim")


def short(number: float) -> str:
    """Return a number to three digits: 0.0123, 12.3, 1.23k, 12.3M."""
    for divisor, suffix in ((1e6, "M"), (1e3, "k"), (1, "")):
        # A number that rounds up to 1000 of a unit belongs to the next unit.
        if number >= divisor * 0.9995:
            return f"{number / divisor:#.3g}".rstrip(".") + suffix
    return f"{number:.3g}"


def sides(result: Record, row: Record) -> tuple[Record | None, Record | None]:
    """Return the records of the two contenders of a row."""
    by_name = {
        record["name"]: record for record in result["cases"][row["case"]]["contenders"]
    }
    return by_name.get(row["ours"]), by_name.get(row["theirs"])


def amounts(result: Record, row: Record) -> list[str]:
    """Return the median of each side's values, with its unit."""
    return [
        f"{short(statistics.median(values))} {side['unit']}" if side and values else ""
        for side, values in zip(
            sides(result, row), (row["our_values"], row["their_values"]), strict=True
        )
    ]


def setting(record: Record) -> str:
    """Return the settings of a contender as one line."""
    settings = record["facts"]
    cores = "1 core" if record["cores"] == 1 else f"{record['cores']} cores"
    if record["processes"] > 1:
        cores += f", {record['processes']} processes"
    if "threads" in settings:
        cores += f", {settings['threads']} thread{'s' * (settings['threads'] > 1)}"
    entries = [cores, f"batch {settings.get('batch', 1):,}", settings.get("levels", "")]
    if settings.get("observation", "none") != "none":
        entries.append(f"observation: {settings['observation']}")
    return "; ".join(entry for entry in entries if entry)


def format_value(kind: str, value: float) -> str:
    """Return a value of a row as text."""
    if kind == RATIO:
        return f"{value:,.0f}×" if value >= 100 else f"{value:#.3g}×"
    if kind == NS_MORE:
        return f"{value:.0f} ns"
    return f"{value:#.3g}×" if kind == COST else short(value)


def aim(row: Record, unit: str) -> str:
    """Return the target of a row as text."""
    if row["target"] is None:
        return ""
    sign = "≤" if is_cost(row["kind"], unit) else "≥"
    return f"{sign} {format_value(row['kind'], row['target'])}"


def cells(result: Record, row: Record) -> list[str]:
    """Return a row as text, in the order of `HEADER`; settings on second lines."""
    subject, baseline = sides(result, row)
    columns = [
        "" if side is None else f"{side['engine']}: {amount}\n{setting(side)}"
        for side, amount in zip((subject, baseline), amounts(result, row), strict=True)
    ]
    values = row["values"]
    if not values:
        return [row["title"], *columns, "skipped", row["skipped"], ""]
    unit = subject["unit"] if subject else ""
    median, least, greatest = (
        format_value(row["kind"], f(values)) for f in (statistics.median, min, max)
    )
    if row["kind"] == ALONE:
        median += f" {unit}"
    return [row["title"], *columns, median, f"{least} – {greatest}", aim(row, unit)]


def make_table(result: Record) -> Any:
    """Return the rows as a table of rich."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_lines=True)
    for number, title in enumerate(HEADER):
        wide = number in (0, 1, 2)
        table.add_column(title, justify="left" if wide else "right", no_wrap=number > 4)
    for row in result["rows"]:
        table.add_row(*(_dimmed(cell, Text) for cell in cells(result, row)))
    return table


def _dimmed(cell: str, text: Any) -> Any:
    """Return a cell whose lines after the first are dim."""
    first, _, tail = cell.partition("\n")
    return text(first).append(f"\n{tail}", style="dim") if tail else text(first)


def description(result: Record) -> list[str]:
    """Return the machine, the versions and the revision, one line each."""
    machine = result["machine"]
    versions = dict(machine["versions"])
    for case in result["cases"].values():
        for record in case["contenders"]:
            if record["peer"]:
                versions[PEERS[record["peer"]].title] = record["version"]
    threads = machine["threads"] and f", ROLL_VEC_NUM_THREADS={machine['threads']}"
    return [
        f"{machine['cpu']}, {machine['usable_cores']} cores, {machine['system']}, "
        f"Python {machine['python']}{threads or ''}",
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"revision {machine['revision']}, {result['rounds']} rounds of "
        f"{result['seconds']:g} s, load {_load(result['load'][0])} before and "
        f"{_load(result['load'][1])} after",
    ]


def _load(load: Sequence[float] | None) -> str:
    return "unknown" if load is None else f"{load[0]:g}"


def skipped(result: Record) -> list[str]:
    """Return the contenders that were skipped, one line a reason."""
    names: dict[str, list[str]] = {}
    for entry in result["skipped"]:
        group = names.setdefault(entry["reason"], [])
        group.append(f"{entry['case']}: {entry['contender']}")
    return [
        f"{group[0]}{f' and {len(group) - 1} more' if len(group) > 1 else ''}: {reason}"
        for reason, group in names.items()
    ]


def show(result: Record) -> None:
    """Print the table, the machine and the contenders that were skipped."""
    from rich.console import Console

    if result["rows"]:
        # A file has no width: use whole lines.
        Console(width=None if sys.stdout.isatty() else 160).print(make_table(result))
    else:
        print("no row was measured")
    print("\n".join(description(result)))
    for line in skipped(result):
        print(f"skipped: {line}")
