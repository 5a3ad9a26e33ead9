"""Step a vector environment and keep account of its episodes.

The loop works for any gymnasium vector environment in any autoreset mode. Its
bookkeeping is a few array operations a step, whatever the number of environments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import InvalidActionError
from roll_vec.kernels.signals import CriticalSection
from roll_vec.recordings.events import BatchEvent, EventStream
from roll_vec.registration.any_id import mode_of
from roll_vec.vector.known_infos import episode_successes, faults_of

Vector: TypeAlias = VectorEnv[Any, Any, Any]

# Of the fields of `Episodes`.
_DTYPES = (np.int64, np.float64, np.int64, np.int8, np.bool_, np.bool_)


class Recorder(Protocol):
    """Receives the events of a rollout."""

    def add(self, event: BatchEvent) -> None:
        """Add a reset or a step; called before the next one."""

    def add_exception(self, actions: Any, error: Exception) -> None:
        """Add the actions of the last step, which raised an exception."""


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
        Cut off by a limit; both may hold.
    """

    env_index: NDArray[np.int64]
    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    success: NDArray[np.int8]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.env_index)


@dataclass(frozen=True)
class RolloutSummary:
    """The episodes of a rollout, its steps and its times.

    Attributes
    ----------
    episodes : Episodes
    env_steps : int
        Steps of single environments, without the autoresets of next-step mode.
    startup_seconds : float
        Time of the first reset and step, which may include compilation.
    timed_env_steps : int
        Steps of single environments after the first step of the vector.
    timed_seconds : float
        Time of these steps, with the policy and the bookkeeping.
    steps : int
        Steps of the vector.
    is_interrupted : bool
        True: Ctrl-C ended it before the last step.
    faults : int
        Episodes that ended because an environment of a pool failed.
    first_error : str or None
        The error of the first environment that failed, if one did.
    exception : Exception or None
        With a recorder, the exception of a step, which ended the rollout.
    """

    episodes: Episodes
    env_steps: int
    startup_seconds: float
    timed_env_steps: int
    timed_seconds: float
    steps: int
    is_interrupted: bool = False
    faults: int = 0
    first_error: str | None = None
    exception: Exception | None = None

    @property
    def steps_per_second(self) -> float | None:
        """Rate after the first step; None if there was only one."""
        if self.timed_seconds <= 0 or self.timed_env_steps == 0:
            return None
        return self.timed_env_steps / self.timed_seconds


def roll_out(
    env: Vector,
    policy: Callable[[Any], Any],
    *,
    steps: int,
    seed: int,
    on_progress: Callable[[int, int, float], None] | None = None,
    interval: float = 0.1,
    recorder: Recorder | None = None,
) -> RolloutSummary:
    """Reset with a seed, step `steps` times and account for the episodes that end.

    Parameters
    ----------
    env : VectorEnv
        Left open, in the state after the last step.
    policy : callable
        From observations to actions.
    steps : int
        Steps of the vector, at least 1.
    seed : int
    on_progress : callable, optional
        Called with the number of steps, the timed environment steps so far and their
        seconds; after the first step and the last one, and between them every
        `interval` seconds.
    interval : float, default 0.1
        Seconds between two calls of `on_progress`.
    recorder : Recorder, optional
        Receives all events.

    Returns
    -------
    RolloutSummary
        After Ctrl-C, of the steps until then.
    """
    # In DISABLED mode the environments that ended are reset here, by mask.
    mode = mode_of(env)
    stream, statistics = EventStream(env.num_envs, mode), EpisodeStatistics(env)
    begin = first_end = now = perf_counter()
    num_steps = first_steps = 0
    next_report = 0.0
    is_interrupted = False
    exception = None
    section = CriticalSection()

    def reset(**options: Any) -> BatchEvent:
        results = env.reset(**options)
        with section:
            event = stream.add_reset(*results)
            if recorder is not None:
                recorder.add(event)
        return event

    try:
        section.open()
        event = reset(seed=seed)
        first_end = now = perf_counter()
        while num_steps < steps:
            actions = policy(event.observations)
            try:
                results = env.step(actions)
            except Exception as error:
                if recorder is None or isinstance(error, InvalidActionError):
                    raise
                recorder.add_exception(actions, error)
                exception = error
                break
            # The account and the record have the same steps.
            with section:
                event = stream.add_step(actions, *results)
                if recorder is not None:
                    recorder.add(event)
                statistics.add(event)
                num_steps += 1
            is_over = mode is AutoresetMode.DISABLED and event.ends.any()
            if is_over and num_steps < steps:
                event = reset(options={"reset_mask": event.ends})
            now = perf_counter()
            env_steps = statistics.env_steps
            if num_steps == 1:
                first_end, first_steps = now, env_steps
            if on_progress is not None and (now >= next_report or num_steps == steps):
                on_progress(num_steps, env_steps - first_steps, now - first_end)
                next_report = now + interval
    except KeyboardInterrupt:
        is_interrupted = True
        if num_steps == 0:
            first_end = now = perf_counter()
    finally:
        section.close()
    return RolloutSummary(
        episodes=statistics.episodes(),
        env_steps=statistics.env_steps,
        startup_seconds=first_end - begin,
        timed_env_steps=statistics.env_steps - first_steps,
        timed_seconds=now - first_end,
        steps=num_steps,
        is_interrupted=is_interrupted,
        faults=statistics.faults,
        first_error=statistics.first_error,
        exception=exception,
    )


class EpisodeStatistics:
    """The returns and lengths of the episodes that ended, from the events of a batch.

    Parameters
    ----------
    env : VectorEnv
        The batch whose events are added, each before the next one.
    """

    def __init__(self, env: Vector) -> None:
        self.env_steps = 0
        self._env = env
        self._returns = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, dtype=np.int64)
        self.faults = 0
        self.first_error: str | None = None
        self._chunks: list[tuple[NDArray[Any], ...]] = []

    def add(self, event: BatchEvent) -> None:
        """Add an event; resets change nothing."""
        if event.is_reset:
            return
        plays, ends = event.plays, event.ends
        np.add(self._returns, event.rewards, out=self._returns, where=plays)
        self._lengths += plays
        self.env_steps += int(np.count_nonzero(plays))
        self._add_faults(event)
        env_ids = np.flatnonzero(ends)
        if not env_ids.size:
            return
        sums = self._returns[env_ids], self._lengths[env_ids]
        successes = episode_successes(self._env, event.last_infos, env_ids)
        flags = event.terminations[env_ids], event.truncations[env_ids]
        self._chunks.append((env_ids, *sums, successes, *flags))
        self._returns[env_ids] = 0.0
        self._lengths[env_ids] = 0

    def episodes(self) -> Episodes:
        """Return all episodes that ended so far."""
        # The empty chunk fixes the dtypes if no episode ended.
        empty = [np.empty(0, dtype) for dtype in _DTYPES]
        return Episodes(*map(np.concatenate, zip(empty, *self._chunks, strict=True)))

    def _add_faults(self, event: BatchEvent) -> None:
        """Count the episodes that a fault ended, and store the first message."""
        last = faults_of(event.last_infos)
        self.faults += int(np.count_nonzero(event.ends[list(last)]))
        if self.first_error is None:
            errors = [*last.values(), *faults_of(event.infos).values()]
            self.first_error = next(iter(errors), None)
