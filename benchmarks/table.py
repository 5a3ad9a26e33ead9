"""Rows of a result as tables: for the terminal, and in Markdown."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.comparisons import ALONE, COST, EXTRA_NS, RATIO, is_cost
from benchmarks.peers import PEERS

Record = Mapping[str, Any]
HEADER = ("task", "median", "least – greatest", "aim", "ours", "theirs")


def short(number: float) -> str:
    """Return a number to three digits: 0.0123, 12.3, 1.23k, 12.3M."""
    for divisor, suffix in ((1e6, "M"), (1e3, "k"), (1, "")):
        # A number that rounds up to 1000 of a unit belongs to the next unit.
        if number >= divisor * 0.9995:
            return f"{number / divisor:#.3g}".rstrip(".") + suffix
    return f"{number:.3g}"


def setting(side: Record) -> str:
    """Return the settings of a contender as one line."""
    settings = side["facts"]
    cores = "1 core" if side["cores"] == 1 else f"{side['cores']} cores"
    if side["processes"] > 1:
        cores += f", {side['processes']} processes"
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
    if kind == EXTRA_NS:
        return f"{value:.0f} ns"
    return f"{value:#.3g}×" if kind == COST else short(value)


def cells(row: Record) -> list[str]:
    """Return a row as text, in the order of `HEADER`; the sides without settings."""
    amounts = [
        f"{short(statistics.median(side['values']))} {side['unit']}"
        if side and side["values"]
        else ""
        for side in (row["ours"], row["theirs"])
    ]
    values, kind, aim = row["values"], row["kind"], ""
    if not values:
        return [row["title"], "skipped", row["skipped"], "", *amounts]
    median, least, greatest = (
        format_value(kind, f(values)) for f in (statistics.median, min, max)
    )
    unit = row["ours"]["unit"]
    if row["target"] is not None:
        sign = "≤" if is_cost(kind, unit) else "≥"
        aim = f"{sign} {format_value(kind, row['target'])}"
    spread = f"{least} – {greatest}" if len(values) > 1 else ""
    if kind == ALONE:
        # Its own figure stands in the column of medians.
        return [row["title"], amounts[0].replace(" ×", "×"), spread, aim, "", ""]
    return [row["title"], median, spread, aim, *amounts]


def markdown(rows: Iterable[Record]) -> str:
    """Return rows as a table of Markdown, without the columns that are empty."""
    lines = [cells(row) for row in rows]
    used = [k for k in range(len(HEADER)) if any(line[k] for line in lines)]
    heads = ["" if k == 0 else HEADER[k] for k in used]
    borders = ["--:" if 0 < k < 4 else "---" for k in used]
    table = [heads, borders, *([line[k] for k in used] for line in lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def description(result: Record) -> list[str]:
    """Return the machine, the versions and the revision, one line each."""
    machine = result["machine"]
    versions = dict(machine["versions"])
    for row in result["rows"]:
        for side in (row["ours"], row["theirs"]):
            if side and side["peer"] in PEERS:
                versions[PEERS[side["peer"]].title] = side["version"]
    threads = machine["threads"] and f", ROLL_VEC_NUM_THREADS={machine['threads']}"
    return [
        f"{machine['cpu']}, {machine['usable_cores']} cores, {machine['system']}, "
        f"Python {machine['python']}{threads or ''}",
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"{machine['date']}, revision {machine['revision']}, {result['rounds']} rounds "
        f"of {result['seconds']:g} s, load {_load(result['load'][0])} before and "
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
    from rich.table import Table
    from rich.text import Text

    table = Table(*HEADER, show_lines=True)
    for row in result["rows"]:
        words = [Text(word) for word in cells(row)]
        for word, side in zip(words[4:], (row["ours"], row["theirs"]), strict=True):
            if side:
                word.append(f"\n{side['engine']}: {setting(side)}", style="dim")
        table.add_row(*words)
    # A file has no width: use whole lines.
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table if result["rows"] else "no row was measured")
    print("\n".join(description(result)))
    for line in skipped(result):
        print(f"skipped: {line}")
