"""Figures of the benchmarks, from the files of benchmarks/results."""

from __future__ import annotations

import functools
import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import table as results
from benchmarks.result import RESULTS, read_result
from docs.build.tables import table

Row = dict[str, Any]


@functools.cache
def _read(name: str) -> dict[str, Any]:
    return read_result(RESULTS / f"{name}.json")


def _rows(words: str) -> list[Row]:
    """Return the rows of a file, ``FILE``, of cases, ``FILE CASE ...``, or by title.

    ``FILE = TITLE; TITLE`` has these, ``FILE CASE / PATTERN`` those with such titles.
    """
    words, _, pattern = words.partition(" / ")
    name, _, titles = words.partition(" = ")
    name, *cases = name.split()
    if titles:
        rows = {row["title"]: row for row in _read(name)["rows"]}
        return [rows[title] for title in titles.split("; ")]
    return [
        row
        for row in _read(name)["rows"]
        if (not cases or row["case"] in cases) and re.search(pattern, row["title"])
    ]


def rows(words: str) -> str:
    """Return a table of rows."""
    return results.markdown([{**row, "target": None} for row in _rows(words)])


def columns(words: str) -> str:
    """Return a table of medians: a title "A: B" is row A, column B."""
    return _pivot(_rows(words), lambda row: results.cells(row)[1])


def median(words: str) -> str:
    """Return the median of a row, ``FILE = TITLE``."""
    return two_digits(statistics.median(_rows(words)[0]["values"]))


def two_digits(value: float) -> str:
    """Return a number with two digits, because another run has others behind them."""
    return f"{float(f'{value:.2g}'):,.10g}"


def machine(name: str) -> str:
    """Return machine, versions and date."""
    return "  \n".join(results.description(_read(name)))


def baseline(words: str) -> str:
    """Return a figure of the baselines, from its name and the title of a row."""
    name, title = words.split(" ", 1)
    mean, low, high = _digits(_rows(f"baselines = {title}")[0], name)
    return f"{mean} % ({low} to {high})"


def baselines(words: str) -> str:
    """Return a table of ``success``, in percent, or of ``return``, of some titles.

    Only ``return`` has intervals: those of rates follow from the number of episodes.
    """
    name, _, pattern = words.partition(" / ")
    rows = [
        row for row in _rows(f"baselines / {pattern}") if name in row["ours"]["facts"]
    ]

    def show(row: Row) -> str:
        mean, low, high = _digits(row, name)
        return f"{mean} ({low}, {high})" if name == "return" else mean

    text = _pivot(rows, show)
    return text.replace("| roll_vec/", "| ")


def _digits(row: Row, name: str) -> list[str]:
    """Return a figure and the ends of its interval; small ones have more digits."""
    values = row["ours"]["facts"][name]
    if name == "return":
        digits = 4 if max(map(abs, values)) < 0.1 else 2
    else:
        values = [100 * value for value in values]
        digits = 2 if max(values) < 1 else 1
    return [f"{v:.{digits}f}".replace("-", "−") for v in values]


def _pivot(rows: Sequence[Row], show: Callable[[Row], str]) -> str:
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        line, separator, column = row["title"].partition(": ")
        if separator:
            cells.setdefault(line, {})[column] = show(row)
    # A column of one figure is left out.
    heads = [head for line in cells.values() for head in line]
    heads = [head for head in dict.fromkeys(heads) if heads.count(head) > 1]
    lines = [(x, *(line.get(head, "") for head in heads)) for x, line in cells.items()]
    return table(("", *heads), lines, len(heads))
