"""Evaluations, which go on after an interruption; two of them compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from roll_vec.errors import InvalidFileError, InvalidOptionError
from roll_vec.evaluation.episodes import EpisodeRecord, EpisodeResults
from roll_vec.evaluation.result_files import ResultLog, read_results
from roll_vec.evaluation.result_headers import ResultHeader
from roll_vec.evaluation.splits import Split
from roll_vec.evaluation.statistics import (
    Interval,
    mcnemar_p_value,
    paired_mean_interval,
    paired_rate_interval,
)

Play: TypeAlias = Callable[[Sequence[int]], Iterator[EpisodeRecord]]
"""Plays some episodes of a split, by their numbers, and yields each at its end."""


def evaluate(
    split: Split,
    play: Play,
    *,
    num: int | None = None,
    header: ResultHeader | None = None,
    path: str | os.PathLike[str] | None = None,
    retry_faults: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[EpisodeRecord]:
    """Play the first episodes of a split and return their records, in their order.

    With a path, each record is written when its episode has ended, and episodes that
    the file has already are not played again.  So after Ctrl-C, or a crash, the same
    call goes on.

    Parameters
    ----------
    split : Split
    play : callable
        Such as ``partial(play_episodes, split, envs, policy)``.
    num : int, optional
        How many episodes, from the first on; None: all.
    header : ResultHeader, optional
        Needed with a path.
    path : path, optional
        The file of results.
    retry_faults : bool
        True: episodes that ended by a fault in the file are played again.
    on_progress : callable, optional
        Called with the number of episodes that are done and the number that this call
        has played, after each episode and once before the first.

    Raises
    ------
    InvalidFileError
        If the path has a file of another kind.
    InvalidOptionError
        If it has the results of another run, or ``num`` is out of range.
    """
    count = len(split) if num is None else num
    if not 1 <= count <= len(split):
        accepted = f"1 to {len(split)}, the episodes of {split.id} {split.name}"
        raise InvalidOptionError.expected("num", accepted, num)
    log: Any = nullcontext()
    if path is not None:
        if header is None:
            accepted = "a ResultHeader with a path"
            raise InvalidOptionError.expected("header", accepted, None)
        log = ResultLog(path, header, retry_faults=retry_faults, num_episodes=count)
    with log:
        records = {} if path is None else log.records
        for number, record in records.items():
            is_known = 0 <= number < len(split) and split.seeds[number] == record.seed
            if not is_known:
                message = (
                    f"{os.fspath(path or '')!r}: episode {number} of seed "
                    f"{record.seed} is not of {split.id} {split.name}"
                )
                raise InvalidFileError(message)
        missing = [number for number in range(count) if number not in records]
        num_before = count - len(missing)
        if on_progress is not None:
            on_progress(num_before, 0)
        if missing:
            with closing(play(missing)) as episodes:  # type: ignore[type-var]
                for num_played, record in enumerate(episodes, 1):
                    records[record.episode] = record
                    if path is not None:
                        log.add(record)
                    if on_progress is not None:
                        on_progress(num_before + num_played, num_played)
        return [records[number] for number in range(count)]


# ----------------------------------------------------------------------- comparisons


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
    for path, file in zip(paths, files, strict=True):
        others = file.records.keys() - common
        if others and not only_common:
            count = "1 episode" if len(others) == 1 else f"{len(others):,} episodes"
            message = (
                f"compare: {str(path)!r} has {count} that the other file lacks, the "
                f"first is episode {min(others)}; --common compares those of both"
            )
            raise InvalidOptionError(message)
    if not common:
        message = "compare: the files have no episode in common"
        raise InvalidOptionError(message)
    results = tuple(
        EpisodeResults.of(file.records[number] for number in common) for file in files
    )
    return Comparison((files[0].header, files[1].header), (results[0], results[1]))
