"""Cases of contenders, and the rows of the table that compare two of them.

A row names each of its two sides by a prefix.  The fastest contender whose name begins
with the prefix, hence the best batch size, stands for the side.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.interleave import Contender

# The kinds of rows; ALONE has one side only.
RATIO, EXTRA_NS, COST, ALONE = "ratio", "ns more", "cost", "alone"
# Units of rows of `ALONE` whose target is an upper limit.
UNITS_OF_COSTS = ("ms", "µs", "s", "× as long", "× the median")


def is_cost(kind: str, unit: str) -> bool:
    """Return whether less is better, in a row of this kind and unit."""
    return kind in (EXTRA_NS, COST) or (kind == ALONE and unit in UNITS_OF_COSTS)


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Parameters
    ----------
    title : str
    subject, baseline : str
        Prefixes of names of contenders; the baseline is empty in a row of `ALONE`.
    target : float
        The value to reach: a lower limit, of costs and times an upper limit.
    kind : str
        `RATIO`: subject over baseline.  `EXTRA_NS`: nanoseconds that a unit of the
        subject takes more.  `COST`: time of a unit of the subject over that of the
        baseline.  `ALONE`: the subject's value.
    max_rounds : int or None
        Fewer rounds than others, for calls of many seconds.
    """

    title: str
    subject: str
    baseline: str = ""
    target: float | None = None
    kind: str = RATIO
    max_rounds: int | None = None

    def value(self, subject: float, baseline: float = 1.0) -> float:
        """Return the comparison of the two figures of one round."""
        if self.kind == EXTRA_NS:
            return 1e9 / subject - 1e9 / baseline
        if self.kind == COST:
            return baseline / subject
        return subject / baseline if self.kind == RATIO else subject

    @property
    def prefixes(self) -> list[str]:
        """The prefixes of its sides, one or two."""
        return [prefix for prefix in (self.subject, self.baseline) if prefix]


@dataclass(frozen=True)
class Case:
    """Contenders that are measured in turns, and the rows that compare them.

    ``plots``: the prefixes of the contenders whose rates are plotted by batch size.
    """

    title: str
    contenders: list[Contender]
    rows: list[Row]
    plots: tuple[str, ...] = ()

    def names(self, prefix: str) -> list[str]:
        """Return the names of the contenders of a side."""
        names = [contender.name for contender in self.contenders]
        return [name for name in names if name.startswith(prefix)]

    @property
    def complete_rows(self) -> list[Row]:
        """The rows whose sides are all in this run: a quick run lacks some."""
        return [row for row in self.rows if all(map(self.names, row.prefixes))]

    @property
    def has_choice(self) -> bool:
        """True: a side of a row has several contenders."""
        sides = [prefix for row in self.rows for prefix in row.prefixes]
        return any(len(self.names(side)) > 1 for side in sides)
