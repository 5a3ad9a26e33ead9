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
from roll_vec.recordings.files import RecordedFrame, Run, refuse_damage
from roll_vec.recordings.flat_results import flatten
from roll_vec.recordings.recorder import describe_exception

__all__ = ["ReplayResult", "replay"]


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
    player = _Player(env, run, recorder)
    begin = perf_counter()
    next_report = 0.0
    difference, is_reset = None, True
    for recorded in run.frames():
        if max_steps is not None and player.num_steps >= max_steps:
            break
        is_reset = recorded.is_reset
        difference = player.play(recorded)
        if difference is not None:
            break
        now, steps = perf_counter(), player.num_steps
        is_due = now >= next_report or steps == run.num_steps
        if on_progress is not None and is_due:
            on_progress(steps, steps * env.num_envs, now - begin)
            next_report = now + interval
    is_whole = max_steps is None or player.num_steps < max_steps
    if difference is None and run.exception is not None and is_whole:
        is_reset = False
        difference = player.play_exception(run.exception)
    return ReplayResult(player.num_steps, difference, is_reset, perf_counter() - begin)


class _Player:
    """Takes the steps and resets of a run, one at a time."""

    def __init__(
        self, env: VectorEnv[Any, Any, Any], run: Run, recorder: Recorder | None
    ) -> None:
        self.num_steps = 0
        self._recorder = recorder
        self._stream = EventStream(env.num_envs, run.setup.autoreset)
        self._env, self._run = env, run
        self._actions = run.actions()
        self._dones: Any = None
        self._is_started = False

    def play(self, recorded: RecordedFrame) -> Difference | None:
        """Play one frame, and return its first difference."""
        try:
            event = self._play(recorded.is_reset)
        except InvalidFileError:
            raise
        except Exception as error:
            present = describe_exception(error)
            return Difference(None, "exception", "none", present, 0)
        env = self._env
        if self._recorder is not None:
            self._recorder.add(event)
        space, num_envs = env.single_observation_space, env.num_envs
        results = flatten(space, num_envs, event.results)
        with refuse_damage(self._run.path):
            return find_difference(recorded, results, num_envs)

    def play_exception(self, recorded: str) -> Difference | None:
        """Take the step that raised an exception, and return the difference."""
        present = "none"
        try:
            self._play(is_reset=False)
        except InvalidFileError:
            raise
        except Exception as error:
            present = describe_exception(error)
        if present == recorded:
            return None
        return Difference(None, "exception", recorded, present, 0)

    def _play(self, is_reset: bool) -> BatchEvent:
        env = self._env
        if is_reset:
            if not self._is_started:
                observations, infos = env.reset(seed=self._run.seed)
                self._is_started = True
            elif self._dones is not None and self._dones.any():
                options = {"reset_mask": self._dones}
                observations, infos = env.reset(options=options)
            else:
                self._refuse("a reset after a step that ended nothing")
            return self._stream.add_reset(observations, infos)
        if not self._is_started:
            self._refuse("a step before the first reset")
        actions = next(self._actions, self)
        if actions is self:
            self._refuse("a step without actions")
        self.num_steps += 1
        event = self._stream.add_step(actions, *env.step(actions))
        self._dones = event.ends
        return event

    def _refuse(self, content: str) -> NoReturn:
        message = f"{self._run.path} cannot be played: it has {content}"
        raise InvalidFileError(message)
