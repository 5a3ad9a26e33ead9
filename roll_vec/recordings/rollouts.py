"""Rollouts: a policy plays any vector environment for a number of steps.

The bookkeeping is a few array operations a step, whatever the number of environments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from roll_vec.errors import InvalidActionError
from roll_vec.kernels.signals import CriticalSection
from roll_vec.recordings.driver import Reset, Step, play_steps
from roll_vec.recordings.episodes import EpisodeAccount, Episodes
from roll_vec.recordings.events import BatchEvent
from roll_vec.recordings.rollout_times import RolloutTimes
from roll_vec.registration.any_id import mode_of

Vector: TypeAlias = VectorEnv[Any, Any, Any]


PROGRESS_SECONDS = 0.1
"""The time between two reports of progress."""


class Recorder(Protocol):
    """Receives the events of a rollout."""

    def add(self, event: BatchEvent) -> None:
        """Add a reset or a step; called before the next one."""

    def add_exception(self, actions: Any, error: Exception) -> None:
        """Add the actions of the last step, which raised an exception."""


@dataclass(frozen=True)
class RolloutSummary:
    """The episodes of a rollout, its steps and its times.

    Attributes
    ----------
    episodes : Episodes
    env_steps : int
        Steps of single environments, without the autoresets of next-step mode.
    times : RolloutTimes
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
    times: RolloutTimes
    steps: int
    is_interrupted: bool = False
    faults: int = 0
    first_error: str | None = None
    exception: Exception | None = None


def roll_out(
    env: Vector,
    policy: Callable[[Any], Any],
    *,
    steps: int,
    seed: int,
    on_progress: Callable[[int, int, float], None] | None = None,
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
        seconds; after the first step and the last one, and every tenth of a second.
    recorder : Recorder, optional
        Receives all events.

    Returns
    -------
    RolloutSummary
        After Ctrl-C, of the steps until then.
    """
    is_disabled = mode_of(env) is AutoresetMode.DISABLED
    account, parts = EpisodeAccount(env), []
    section = CriticalSection()
    times, num_steps, next_report = RolloutTimes(), 0, 0.0
    is_interrupted, exception = False, None
    step: Step | None = None

    def choose(event: BatchEvent | None) -> Reset | Step | None:
        nonlocal step
        step = None
        if event is None:
            return Reset(seed=seed)
        if num_steps == steps:
            return None
        if is_disabled and event.ends.any():
            return Reset(event.ends)
        times.end_part("recording")
        step = Step(policy(event.observations))
        times.end_part("policy")
        return step

    events = play_steps(env, choose)
    try:
        section.open()
        with times.measure_levels(env):
            while True:
                try:
                    event = next(events, None)
                except Exception as error:
                    # Those of the policy, and of resets, are raised.
                    is_bad = isinstance(error, InvalidActionError)
                    if recorder is None or step is None or is_bad:
                        raise
                    recorder.add_exception(step.actions, error)
                    exception = error
                    break
                if event is None:
                    break
                times.end_part("game")
                # The account and the record have the same steps.
                with section:
                    if recorder is not None:
                        recorder.add(event)
                    if len(episodes := account.add(event)):
                        parts.append(episodes)
                    num_steps += not event.is_reset
                times.end_part("recording")
                times.end_call(int(np.count_nonzero(event.plays)), num_steps <= 1)
                now = perf_counter()
                is_due = now >= next_report or num_steps == steps
                if on_progress is not None and not event.is_reset and is_due:
                    on_progress(num_steps, times.env_steps, times.seconds)
                    next_report = now + PROGRESS_SECONDS
    except KeyboardInterrupt:
        is_interrupted = True
        if num_steps == 0:  # a compilation, perhaps
            times.end_part("game")
        times.end_call(0, num_steps == 0)
    finally:
        section.close()
    return RolloutSummary(
        episodes=Episodes.join(parts),
        env_steps=account.env_steps,
        times=times,
        steps=num_steps,
        is_interrupted=is_interrupted,
        faults=account.faults,
        first_error=account.first_error,
        exception=exception,
    )
