"""What is compared: a case, its rows, and which contenders a row takes.

A row names its two sides by prefixes of contenders' names: of several that begin so,
each side's fastest counts ("its best batch size").
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.turns import Contender

# How the two sides of a row are compared, or that there is one side only.
RATIO, NS_MORE, COST, ALONE = "ratio", "ns more", "cost", "alone"


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Parameters
    ----------
    title : str
    ours, theirs : str
        Prefixes of names of contenders; ``theirs`` is empty for a figure of its own.
    target : float
        What is aimed at: at least so many times; of costs, and of times, at most.
    kind : str
        `RATIO`: ours over theirs.  `NS_MORE`: nanoseconds that a unit of ours takes
        more.  `COST`: what a unit of ours costs, in units of theirs.  `ALONE`.
    """

    title: str
    ours: str
    theirs: str = ""
    target: float | None = None
    kind: str = RATIO

    def value(self, ours: float, theirs: float = 1.0) -> float:
        """Return what the two figures of one round say."""
        if self.kind == NS_MORE:
            return 1e9 / ours - 1e9 / theirs
        if self.kind == COST:
            return theirs / ours
        return ours / theirs if self.kind == RATIO else ours

    @property
    def prefixes(self) -> list[str]:
        """The prefixes of its sides, one or two."""
        return [prefix for prefix in (self.ours, self.theirs) if prefix]


@dataclass(frozen=True)
class Case:
    """Contenders that take turns, and the rows they give."""

    name: str
    title: str
    contenders: list[Contender]
    rows: list[Row]

    def names(self, prefix: str) -> list[str]:
        """Return the names of the contenders of a side."""
        names = [contender.name for contender in self.contenders]
        return [name for name in names if name.startswith(prefix)]

    @property
    def played(self) -> list[Row]:
        """The rows both of whose sides are in this run: a quick one has fewer."""
        return [row for row in self.rows if all(map(self.names, row.prefixes))]

    @property
    def has_choice(self) -> bool:
        """Whether any side has to be found among several contenders."""
        sides = [prefix for row in self.rows for prefix in row.prefixes]
        return any(len(self.names(side)) > 1 for side in sides)
