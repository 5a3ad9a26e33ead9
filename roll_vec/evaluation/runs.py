"""Evaluate a policy on a split; an interrupted run goes on where it was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from roll_vec.errors import InvalidFileError, InvalidOptionError
from roll_vec.evaluation.episodes import EpisodeRecord
from roll_vec.evaluation.results import ResultHeader, ResultLog
from roll_vec.evaluation.split import Split

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
    if path is None:
        records = _play_missing(play, {}, count, on_progress)
        return [records[number] for number in range(count)]
    if header is None:
        raise InvalidOptionError.expected("header", "a ResultHeader with a path", None)
    with ResultLog(path, header, retry_faults=retry_faults) as log:
        _check_records(split, Path(path), log.records.values())
        records = _play_missing(play, log.records, count, on_progress, log.add)
        return [records[number] for number in range(count)]


def _play_missing(
    play: Play,
    records: dict[int, EpisodeRecord],
    count: int,
    on_progress: Callable[[int, int], None] | None,
    add: Callable[[EpisodeRecord], None] | None = None,
) -> dict[int, EpisodeRecord]:
    """Play the episodes that have no record; return all records by number."""
    records = dict(records)
    missing = [number for number in range(count) if number not in records]
    num_before = count - len(missing)
    if on_progress is not None:
        on_progress(num_before, 0)
    if not missing:
        return records
    episodes = play(missing)
    with closing(episodes):  # type: ignore[type-var]
        for num_played, record in enumerate(episodes, 1):
            records[record.episode] = record
            if add is not None:
                add(record)
            if on_progress is not None:
                on_progress(num_before + num_played, num_played)
    return records


def _check_records(split: Split, path: Path, records: Iterable[EpisodeRecord]) -> None:
    """Raise an error for records of episodes that the split does not have."""
    for record in records:
        number = record.episode
        if not (0 <= number < len(split) and split.seeds[number] == record.seed):
            message = (
                f"{str(path)!r}: episode {number} of seed {record.seed} is not of "
                f"{split.id} {split.name}"
            )
            raise InvalidFileError(message)
