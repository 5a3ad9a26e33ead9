"""Success and return of simple policies, from roll_vec/evaluation/baselines.json."""

from __future__ import annotations

import re
from typing import Any

from docs.build.tables import table
from roll_vec.evaluation.panels import baseline_rows

Row = dict[str, Any]


def figure(words: str) -> str:
    """Return a figure, from its name and the title of a row."""
    name, title = words.split(" ", 1)
    mean, low, high = _digits(baseline_rows()[title], name)
    return f"{mean} % ({low} to {high})"


def figures(words: str) -> str:
    """Return a table of ``success``, in percent, or of ``return``, of some titles.

    Only ``return`` has intervals: those of rates follow from the number of episodes.
    """
    name, _, pattern = words.partition(" / ")
    cells: dict[str, dict[str, str]] = {}
    for title, row in baseline_rows().items():
        if name in row and re.search(pattern, title):
            mean, low, high = _digits(row, name)
            line, column = title.removeprefix("roll_vec/").split(": ")
            text = f"{mean} ({low}, {high})" if name == "return" else mean
            cells.setdefault(line, {})[column] = text
    # A column of one figure is left out.
    heads = [head for line in cells.values() for head in line]
    heads = [head for head in dict.fromkeys(heads) if heads.count(head) > 1]
    lines = [(x, *(line.get(head, "") for head in heads)) for x, line in cells.items()]
    return table(("", *heads), lines, len(heads))


def _digits(row: Row, name: str) -> list[str]:
    """Return a figure and the ends of its interval; small ones have more digits."""
    values = row[name]
    if name == "return":
        digits = 4 if max(map(abs, values)) < 0.1 else 2
    else:
        values = [100 * value for value in values]
        digits = 2 if max(values) < 1 else 1
    return [f"{v:.{digits}f}".replace("-", "−") for v in values]
