"""The tables of ``roll-vec eval``."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roll_vec.cli._screen import format_rows
from roll_vec.errors import one_line
from roll_vec.evaluation import (
    Comparison,
    EpisodeRecord,
    EpisodeResults,
    Interval,
    Split,
    splits_of,
)

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["comparison_table", "result_table", "split_table"]

_NO_VALUE = "-"
_DIGEST_CHARS = 12


def split_table(ids: Sequence[str]) -> str:
    """Return the splits of some ids, a line for each."""
    rows = [("id", "split", "episodes", "digest", "episodes are")]
    rows += [
        (
            id,
            split.name,
            f"{len(split):,}",
            split.digest[:_DIGEST_CHARS] or _NO_VALUE,
            split.title,
        )
        for id in ids
        for split in splits_of(id).values()
    ]
    return format_rows(rows, "<<><", sys.stdout)


def result_table(
    split: Split,
    policy: Mapping[str, Any],
    records: Sequence[EpisodeRecord],
    rate: float | None,
) -> Table:
    """Return the table of an evaluation; needs rich.

    Parameters
    ----------
    split : Split
    policy : mapping
        Of the header.
    records : sequence of EpisodeRecord
    rate : float or None
        Episodes a second; None: all were in the file.
    """
    results = EpisodeResults.of(records)
    rows = [
        ("mean return", _number(results.mean_return())),
        ("success rate", _percent(results.success_rate())),
        ("mean length", f"{np.mean(results.lengths):,.1f}"),
        ("episodes", f"{len(records):,}"),
        ("faults", f"{np.count_nonzero(results.faults):,}"),
        ("episodes/s", _NO_VALUE if rate is None else f"{rate:,.1f}"),
        ("policy", _describe(policy)),
        ("digest", split.digest[:_DIGEST_CHARS]),
    ]
    first = next((one.fault for one in records if one.fault is not None), None)
    if first is not None:
        rows.insert(5, ("first fault", one_line(first)))
    return _table(f"{split.id} {split.name}", rows)


def comparison_table(comparison: Comparison, first: str, second: str) -> Table:
    """Return the table of two files of results, A and B; needs rich."""
    header = comparison.headers[0]
    returns = [results.mean_return() for results in comparison.results]
    rates = [results.success_rate() for results in comparison.results]
    only_first, only_second = comparison.discordant()
    rows = [
        ("A", f"{first}: {_describe(comparison.headers[0].policy)}"),
        ("B", f"{second}: {_describe(comparison.headers[1].policy)}"),
        ("episodes", f"{len(comparison):,}"),
        ("success rate of A", _percent(rates[0])),
        ("success rate of B", _percent(rates[1])),
        ("success, B - A", _points(comparison.success_difference())),
        ("only A solves", f"{only_first:,}"),
        ("only B solves", f"{only_second:,}"),
        ("McNemar's exact p", _probability(comparison.p_value())),
        ("mean return of A", _number(returns[0])),
        ("mean return of B", _number(returns[1])),
        ("return, B - A", _number(comparison.return_difference())),
    ]
    return _table(f"{header.id} {header.split}", rows)


def _table(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", overflow="fold")
    for name, value in rows:
        # Text: brackets in a message must not be read as markup.
        table.add_row(name, Text(value))
    return table


def _describe(policy: Mapping[str, Any]) -> str:
    """Return a policy on one line, without what is not set."""
    name, *others = policy.items()
    parts = [f"{key} {value}" for key, value in others if value is not None]
    return ", ".join([str(name[1]), *parts])


def _number(interval: Interval) -> str:
    value, *ends = (f"{x:.4f}" for x in interval)
    return _with_ends(interval, value, ends)


def _percent(interval: Interval) -> str:
    value, *ends = (f"{100 * x:.2f}" for x in interval)
    return _with_ends(interval, f"{value} %", ends)


def _points(interval: Interval) -> str:
    value, *ends = (f"{100 * x:+.2f}" for x in interval)
    return _with_ends(interval, f"{value} percentage points", ends)


def _probability(value: float) -> str:
    # The least numbers of float64 are near 1e-308.
    return f"{value:.3g}" if value > 0 else "below 1e-300"


def _with_ends(interval: Interval, value: str, ends: Sequence[str]) -> str:
    """Return an estimate, with the ends of its interval if it has any."""
    if not math.isfinite(interval.low):
        return f"{value} (no interval)"
    return f"{value} (95 %: {ends[0]} to {ends[1]})"
