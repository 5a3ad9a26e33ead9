"""Play a run again, and compare every result with its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NoReturn

from gymnasium.vector import VectorEnv

from roll_vec.errors import InvalidFileError
from roll_vec.recordings.differences import Difference, find_difference
from roll_vec.recordings.episodes import Recorder
from roll_vec.recordings.events import BatchEvent, EventStream
from roll_vec.recordings.files import Run, refuse_damage
from roll_vec.recordings.flat_results import flatten
from roll_vec.recordings.recorder import describe_exception


@dataclass(frozen=True)
class ReplayResult:
    """The steps that were equal, the first difference if there is one, and the time."""

    num_steps: int
    difference: Difference | None
    is_reset: bool
    seconds: float


def replay(
    env: VectorEnv[Any, Any, Any],
    run: Run,
    on_progress: Callable[[int, int, float], None] | None = None,
    interval: float = 0.1,
    recorder: Recorder | None = None,
    max_steps: int | None = None,
) -> ReplayResult:
    """Play a run until its end, or until the first difference.

    Parameters
    ----------
    env : VectorEnv
        The batch of the run's setup; it is left open.
    run : Run
    on_progress : callable, optional
        See `roll_out`.
    interval : float, default 0.1
        Seconds between two calls of `on_progress`.
    recorder : Recorder, optional
        Receives the events.
    max_steps : int, optional
        Steps to play at most.

    Raises
    ------
    InvalidFileError
        If the file says what no rollout does.
    """
    player = _Player(env, run)
    space, num_envs = env.single_observation_space, env.num_envs
    begin = perf_counter()
    next_report = 0.0
    difference, is_reset = None, True
    for recorded in run.frames():
        if max_steps is not None and player.num_steps >= max_steps:
            break
        is_reset = recorded.is_reset
        event, error = player.take(is_reset)
        steps = player.num_steps
        if event is None:
            difference = Difference(steps, None, "exception", "none", error)
            break
        if recorder is not None:
            recorder.add(event)
        results = flatten(space, num_envs, event.results)
        with refuse_damage(run.path):
            difference = find_difference(steps, recorded, results, num_envs)
        if difference is not None:
            break
        now = perf_counter()
        is_due = now >= next_report or steps == run.num_steps
        if on_progress is not None and is_due:
            on_progress(steps, steps * num_envs, now - begin)
            next_report = now + interval
    is_whole = max_steps is None or player.num_steps < max_steps
    if difference is None and run.exception is not None and is_whole:
        is_reset = False
        _, error = player.take(is_reset)
        if error != run.exception:
            place = player.num_steps, None
            difference = Difference(*place, "exception", run.exception, error)
    return ReplayResult(player.num_steps, difference, is_reset, perf_counter() - begin)


class _Player:
    """Takes the steps and resets of a run, one at a time."""

    def __init__(self, env: VectorEnv[Any, Any, Any], run: Run) -> None:
        self.num_steps = 0
        self._env, self._run = env, run
        self._stream = EventStream(env.num_envs, run.setup.autoreset)
        self._actions = run.actions()
        self._last: BatchEvent | None = None

    def take(self, is_reset: bool) -> tuple[BatchEvent | None, str]:
        """Return the event of a step or reset and "none", or None and its exception."""
        try:
            self._last = self._take(is_reset)
        except InvalidFileError:
            raise
        except Exception as error:
            return None, describe_exception(error)
        return self._last, "none"

    def _take(self, is_reset: bool) -> BatchEvent:
        env, last = self._env, self._last
        if is_reset:
            if last is None:
                return self._stream.add_reset(*env.reset(seed=self._run.seed))
            if not last.ends.any():
                self._refuse("a reset after a step that ended nothing")
            options = {"reset_mask": last.ends}
            return self._stream.add_reset(*env.reset(options=options))
        if last is None:
            self._refuse("a step before the first reset")
        actions = next(self._actions, self)
        if actions is self:
            self._refuse("a step without actions")
        self.num_steps += 1
        return self._stream.add_step(actions, *env.step(actions))

    def _refuse(self, content: str) -> NoReturn:
        message = f"{self._run.path} cannot be played: it has {content}"
        raise InvalidFileError(message)
