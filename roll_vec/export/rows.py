"""The episodes that become rows: some of a run, or as many as are wanted of seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from roll_vec.errors import InvalidOptionError, RollVecError
from roll_vec.export.formats import MAX_SEED
from roll_vec.trajectories import Trajectory

# Unless max_episodes says otherwise.
_EPISODES_PER_ROW = 100

Play: TypeAlias = Callable[[Sequence[int], int], Iterable[Trajectory]]
"""From seeds, and the number of the first of their episodes, to these episodes."""


class TooFewRowsError(RollVecError, RuntimeError):
    """Raised when too few episodes become rows, as most fail."""


@dataclass
class Tally:
    """Counts of the episodes so far."""

    rows: int = 0
    successes: int = 0
    """Of the rows."""
    total_return: float = 0.0
    """Of the rows."""
    failures: int = 0
    """Episodes without success that were left out."""
    faults: int = 0
    """Episodes that ended by an error; they are left out."""
    last_fault: str = ""

    @property
    def episodes(self) -> int:
        """All episodes."""
        return self.rows + self.failures + self.faults


def select_rows(
    episodes: Iterable[Trajectory], tally: Tally, *, only_success: bool = False
) -> Iterator[Trajectory]:
    """Yield the episodes that become rows, and count all.

    Parameters
    ----------
    episodes : iterable of Trajectory
    tally : Tally
        Updated.
    only_success : bool
        True: other episodes are left out.
    """
    for episode in episodes:
        if episode.fault is not None:
            tally.faults += 1
            tally.last_fault = episode.fault
        elif only_success and episode.success is not True:
            tally.failures += 1
        else:
            tally.rows += 1
            tally.successes += episode.success is True
            tally.total_return += episode.total_reward
            yield episode


def play_rows(
    play: Play,
    num: int,
    tally: Tally,
    *,
    start_seed: int = 0,
    num_envs: int = 1,
    only_success: bool = False,
    max_episodes: int | None = None,
) -> Iterator[Trajectory]:
    """Play seeds, one after the other, until there are enough rows.

    Parameters
    ----------
    play : callable
        See `Play`.
    num : int
        The number of rows.
    tally : Tally
        Updated.
    start_seed : int
        Of the first episode; each later one has the next seed.
    num_envs : int
        So many episodes are played at once: no row depends on it.
    only_success : bool
        True: other episodes are left out.
    max_episodes : int, optional
        Play no more than these for the rows; None: 100 for each row.

    Raises
    ------
    TooFewRowsError
        After ``max_episodes``, or when all episodes end by an error from the first on.
    InvalidOptionError
        If a seed is too large.
    """
    most = _EPISODES_PER_ROW * num if max_episodes is None else max_episodes
    while tally.rows < num:
        first = tally.episodes
        if first >= most:
            message = (
                f"only {tally.rows:,} of {first:,} episodes are rows, and {num:,} rows "
                "were asked for; play more with a larger --max-episodes"
            )
            raise TooFewRowsError(message)
        # As many as are missing; where most fail, as many as are played at once.
        missing = num - tally.rows
        count = min(missing if first == 0 else max(missing, num_envs), most - first)
        seeds = range(start_seed + first, start_seed + first + count)
        if seeds[-1] > MAX_SEED:
            accepted = f"seeds up to {MAX_SEED}"
            raise InvalidOptionError.expected("start_seed", accepted, start_seed)
        for row in select_rows(play(seeds, first), tally, only_success=only_success):
            yield row
            if tally.rows == num:
                return
        if tally.faults == tally.episodes:
            message = f"all of {count:,} episodes ended by an error: {tally.last_fault}"
            raise TooFewRowsError(message)
