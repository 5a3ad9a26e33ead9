"""Returns, lengths, success and ends of episodes, from the events of any batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.recordings.events import BatchEvent
from roll_vec.vector.known_infos import UNKNOWN, episode_successes, faults_of

# Of the fields of `Episodes`.
_DTYPES = (np.int64, np.float64, np.int64, np.int8, np.bool_, np.bool_)


@dataclass(frozen=True)
class Episodes:
    """The episodes that ended, in the order of their ends; arrays of one length.

    Attributes
    ----------
    env_index : (n,) int64
        Index of the environment in the batch.
    returns : (n,) float64
        Sums of the rewards.
    lengths : (n,) int64
        Steps.
    success : (n,) int8
        1 or 0 as the environment says at the last step, or -1 (`UNKNOWN`).
    terminated : (n,) bool
        Ended by the rules.
    truncated : (n,) bool
        Cut off by a limit; both may hold.  Of an episode that a reset cut neither does.
    """

    env_index: NDArray[np.int64]
    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    success: NDArray[np.int8]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.env_index)

    @classmethod
    def join(cls, parts: list[Episodes]) -> Episodes:
        """Return the episodes of several parts, in their order."""
        # The empty part fixes the dtypes if no episode ended.
        empty = cls(*(np.empty(0, dtype) for dtype in _DTYPES))  # type: ignore[arg-type]
        columns = zip(*(vars(part).values() for part in [empty, *parts]), strict=True)
        return cls(*map(np.concatenate, columns))


class EpisodeAccount:
    """Sums up the episodes of a batch, event by event.

    The events may come from anywhere: `EventStream` makes them of the results of any
    sequence of resets and steps.

    Parameters
    ----------
    envs : VectorEnv
        The batch.  Each event is added before its next call, as a batch of stacked
        arrays may know the success of an episode that its infos do not say.

    Attributes
    ----------
    returns : (N,) float64
        Of the episode that goes on in each environment, or has ended in it.
    lengths : (N,) int64
        Its steps.
    env_steps : int
        Steps of all environments, without the autoresets of ``NextStep`` mode.
    faults : int
        Episodes that ended because an environment of a pool failed.
    first_error : str or None
        The error of the first environment that failed.
    """

    def __init__(self, envs: Any) -> None:
        self.returns = np.zeros(envs.num_envs)
        self.lengths = np.zeros(envs.num_envs, np.int64)
        self.env_steps = self.faults = 0
        self.first_error: str | None = None
        self._envs = envs
        self._nothing = Episodes.join([])
        # The environments whose sums are those of an episode that is over.
        self._old = np.zeros(envs.num_envs, np.bool_)

    def add(self, event: BatchEvent) -> Episodes:
        """Add an event; return the episodes that it ended, by environment."""
        if not event.is_reset:
            if self._old.any():
                self.returns[self._old] = 0.0
                self.lengths[self._old] = 0
                self._old = np.zeros_like(self._old)
            np.add(self.returns, event.rewards, out=self.returns, where=event.plays)
            self.lengths += event.plays
            self.env_steps += int(np.count_nonzero(event.plays))
            self._add_faults(event)
        if not event.ends.any():
            return self._nothing
        # A row of an environment that ended waits until its next episode steps.
        self._old = self._old | event.ends
        env_ids = np.flatnonzero(event.ends)
        sums = self.returns[env_ids], self.lengths[env_ids]
        if event.is_reset:
            none = np.zeros(len(env_ids), np.bool_)
            unknown = np.full(len(env_ids), UNKNOWN, np.int8)
            return Episodes(env_ids, *sums, unknown, none, none)
        successes = episode_successes(self._envs, event.last_infos, env_ids)
        flags = event.terminations[env_ids], event.truncations[env_ids]
        return Episodes(env_ids, *sums, successes, *flags)

    def _add_faults(self, event: BatchEvent) -> None:
        """Count the episodes that a fault ended, and store the first message."""
        last = faults_of(event.last_infos)
        self.faults += int(np.count_nonzero(event.ends[list(last)]))
        if self.first_error is None:
            errors = [*last.values(), *faults_of(event.infos).values()]
            self.first_error = next(iter(errors), None)
