"""Compare two files of results, episode by episode."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.episodes import EpisodeResults
from roll_vec.evaluation.results import ResultFile, ResultHeader, read_results
from roll_vec.evaluation.statistics import (
    Interval,
    mcnemar_p_value,
    paired_mean_interval,
    paired_rate_interval,
)


@dataclass(frozen=True)
class Comparison:
    """Two policies on the same episodes.

    Parameters
    ----------
    headers : pair of ResultHeader
    results : pair of EpisodeResults
        Of the same episodes in the same order.
    """

    headers: tuple[ResultHeader, ResultHeader]
    results: tuple[EpisodeResults, EpisodeResults]

    def __len__(self) -> int:
        return len(self.results[0].returns)

    def success_difference(self) -> Interval:
        """Return the second success rate minus the first, and its 95 % interval."""
        first, second = self.results
        return paired_rate_interval(first.successes, second.successes)

    def return_difference(self) -> Interval:
        """Return the second mean return minus the first, and its 95 % interval."""
        first, second = self.results
        return paired_mean_interval(first.returns, second.returns)

    def discordant(self) -> tuple[int, int]:
        """Return how many episodes only the first solves, and only the second."""
        first, second = (results.successes for results in self.results)
        return (
            int(np.count_nonzero(first & ~second)),
            int(np.count_nonzero(second & ~first)),
        )

    def p_value(self) -> float:
        """Return McNemar's exact two-sided p-value of equal success rates."""
        return mcnemar_p_value(*self.discordant())


def compare_results(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    *,
    only_common: bool = False,
) -> Comparison:
    """Read two files of results and pair their episodes.

    Parameters
    ----------
    first, second : path
        Of the same split.  Their keywords may differ: those of a split leave the task
        as it is.
    only_common : bool
        True: episodes that only one file has are left out.  False: they are an error.

    Raises
    ------
    InvalidFileError
        If one is no file of results.
    InvalidOptionError
        If the files have other splits or episodes, or no episode in common.
    """
    paths = Path(first), Path(second)
    files = read_results(first), read_results(second)
    for name in ("id", "split", "digest"):
        values = [getattr(file.header, name) for file in files]
        if values[0] != values[1]:
            message = (
                f"compare: the {name} of {str(paths[0])!r} is {values[0]!r}, and that "
                f"of {str(paths[1])!r} is {values[1]!r}: a paired comparison needs the "
                "same episodes"
            )
            raise InvalidOptionError(message)
    common = files[0].records.keys() & files[1].records.keys()
    if not only_common:
        for path, file in zip(paths, files, strict=True):
            _refuse_others(path, file, common)
    if not common:
        message = "compare: the files have no episode in common"
        raise InvalidOptionError(message)
    results = tuple(
        EpisodeResults.of(file.records[number] for number in common) for file in files
    )
    return Comparison((files[0].header, files[1].header), (results[0], results[1]))


def _refuse_others(path: Path, file: ResultFile, common: set[int]) -> None:
    """Raise an error if a file has episodes that the other one lacks."""
    others = file.records.keys() - common
    if others:
        count = "1 episode" if len(others) == 1 else f"{len(others):,} episodes"
        message = (
            f"compare: {str(path)!r} has {count} that the other file lacks, the first "
            f"is episode {min(others)}; --common compares those of both"
        )
        raise InvalidOptionError(message)
