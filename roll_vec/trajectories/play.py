"""Play each seed of a list once, in one batch.

An environment whose episode ends begins the next one of the list.  So short episodes
are not favoured, as they are where the first n ends of a batch are counted.  With a
policy that treats environments independently, no result depends on ``num_envs``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.recordings.driver import Reset, Step, play_steps
from roll_vec.recordings.events import BatchEvent
from roll_vec.seeding import fold_in_arrays, fold_seed
from roll_vec.trajectories.fold import TrajectoryFold
from roll_vec.trajectories.trajectory import Trajectory

# The fault of an episode in whose place a pool plays another one.
SKIPPED = "the reset failed, and the pool played another episode"

# Episodes that may be ahead of the first unfinished one, for each environment.  They
# wait in the memory until they can be returned in order.
_EPISODES_AHEAD = 4


@dataclass(frozen=True)
class Turn:
    """A batch whose environments wait for an action.

    Attributes
    ----------
    observations : any
        Of the whole batch.
    episodes : (num_envs,) int64
        The episode that each environment plays, by its number in the list.  One that
        waits for a new episode, or has none left, has the number of its last one: its
        action has no effect.
    steps : (num_envs,) int64
        The steps of these episodes so far.
    """

    observations: Any
    episodes: NDArray[np.int64]
    steps: NDArray[np.int64]

    def random_words(self, seed: int) -> NDArray[np.uint64]:
        """Return (num_envs,) uint64, each a function of seed, episode and step."""
        words = np.full(len(self.steps), fold_seed(seed), np.uint64)
        counters = np.array([self.episodes, self.steps], np.uint64)
        return fold_in_arrays(words, *counters)


# From a `Turn` to the actions of the batch.
Policy: TypeAlias = Callable[[Turn], Any]


class SeedPlan:
    """Chooses the calls of `play_steps` that play each seed of a list once.

    Parameters
    ----------
    envs : VectorEnv
        A batch of this package in ``Disabled`` mode.
    seeds : sequence of int
        Episode i is the one that ``reset(seed=seeds[i])`` begins.
    policy : callable
        From a `Turn` to actions.
    ahead : int, optional
        Episodes that may begin after the first unfinished one; environments wait
        otherwise.  None: no limit.

    Attributes
    ----------
    episodes : (num_envs,) int64
        The episode that each environment plays, or has played.

    Raises
    ------
    InvalidOptionError
        If the environments are not in ``Disabled`` mode.
    """

    def __init__(
        self,
        envs: Any,
        seeds: Sequence[int],
        policy: Policy,
        ahead: int | None = None,
    ) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.DISABLED:
            accepted = "environments in Disabled mode (autoreset_mode='Disabled')"
            raise InvalidOptionError.expected("envs", accepted, mode)
        self._envs, self._seeds, self._policy = envs, seeds, policy
        self._ahead = ahead
        self._num_started = 0
        self.episodes = np.full(envs.num_envs, len(seeds) - 1)
        self._steps = np.zeros(envs.num_envs, np.int64)
        self._playing, self._skipped = np.zeros((2, envs.num_envs), np.bool_)
        self._fault_counts = fault_counts(envs)

    def __call__(self, event: BatchEvent | None) -> Reset | Step | None:
        """Return the call that follows an event; None: all episodes have ended."""
        if event is not None:
            self._add(event)
        beginning = self._next_episodes()
        if beginning.size:
            return self._begin(beginning)
        if event is None or not self._playing.any():
            return None
        counters = self.episodes.copy(), self._steps.copy()
        for values in counters:
            # A policy cannot change them.
            values.flags.writeable = False
        actions = self._policy(Turn(event.observations, *counters))
        return Step(actions, self._playing)

    def _add(self, event: BatchEvent) -> None:
        """Count the steps of an event, and note the episodes that it ended."""
        if event.is_reset:
            failed = fault_counts(self._envs) > self._fault_counts
            self._skipped = np.where(event.starts, failed, self._skipped)
        else:
            self._steps += event.plays
            self._playing &= ~event.ends

    def _next_episodes(self) -> NDArray[np.intp]:
        """Return the environments that begin an episode."""
        waiting = np.flatnonzero(~self._playing)
        count = min(len(waiting), len(self._seeds) - self._num_started)
        if self._ahead is not None and self._playing.any():
            first = int(self.episodes[self._playing].min())
            count = min(count, first + 1 + self._ahead - self._num_started)
        return waiting[: max(count, 0)]

    def _begin(self, env_ids: NDArray[np.intp]) -> Reset:
        """Return the reset of some environments."""
        self.episodes[env_ids] = self._num_started + np.arange(len(env_ids))
        self._num_started += len(env_ids)
        self._steps[env_ids] = 0
        mask = np.zeros(len(self._steps), np.bool_)
        mask[env_ids] = True
        self._playing |= mask
        self._fault_counts = fault_counts(self._envs)
        return Reset(mask, [self._seeds[i] for i in self.episodes.tolist()])

    def is_skipped(self, env_id: int) -> bool:
        """Return whether a pool plays another episode: the reset with the seed failed.

        Parameters
        ----------
        env_id : int
            An environment whose episode has ended.
        """
        return bool(self._skipped[env_id])


def play_seeds(
    envs: Any,
    seeds: Sequence[int],
    policy: Policy,
) -> Iterator[Trajectory]:
    """Play each seed once and yield the episodes, in the order of the seeds.

    The memory holds at most some episodes for each environment, however many seeds
    there are: an environment waits if it is far ahead of the longest episode.

    Parameters
    ----------
    envs : VectorEnv
        A batch of this package in ``Disabled`` mode.  It is left open.
    seeds : sequence of int
        Episode i is the one that ``reset(seed=seeds[i])`` begins.
    policy : callable
        From a `Turn` to actions.  A function of observations alone is
        ``lambda turn: function(turn.observations)``.

    Yields
    ------
    Trajectory
        Nothing in it changes when the batch goes on.

    Raises
    ------
    InvalidOptionError
        If the environments are not in ``Disabled`` mode.
    """
    plan = SeedPlan(envs, seeds, policy, _EPISODES_AHEAD * envs.num_envs)

    def play() -> Iterator[tuple[int, Trajectory]]:
        fold = TrajectoryFold(envs)
        for event in play_steps(envs, plan):
            for env_id, trajectory in fold.add(event):
                episode = int(plan.episodes[env_id])
                trajectory = replace(trajectory, seed=seeds[episode])
                if plan.is_skipped(env_id):
                    fault = trajectory.fault or SKIPPED
                    trajectory = replace(trajectory, fault=fault, success=False)
                yield episode, trajectory

    return in_order(play())


def in_order(episodes: Iterator[tuple[int, Trajectory]]) -> Iterator[Trajectory]:
    """Yield numbered episodes in the order of their numbers, which begin with 0."""
    complete: dict[int, Trajectory] = {}
    num_yielded = 0
    for number, trajectory in episodes:
        complete[number] = trajectory
        while num_yielded in complete:
            yield complete.pop(num_yielded)
            num_yielded += 1


def fault_counts(envs: Any) -> NDArray[np.int64]:
    """Return (num_envs,) the faults of each environment so far; 0 without a pool."""
    counts = getattr(envs.unwrapped, "fault_counts", None)
    return np.zeros(envs.num_envs, np.int64) if counts is None else np.array(counts)
