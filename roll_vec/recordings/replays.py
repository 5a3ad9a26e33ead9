"""Play a run again, and compare every result with its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from roll_vec.errors import InvalidFileError, shorten
from roll_vec.recordings.digests import digest_rows
from roll_vec.recordings.driver import Reset, Step, play_steps
from roll_vec.recordings.events import BatchEvent
from roll_vec.recordings.files import Run
from roll_vec.recordings.recorder import describe_exception
from roll_vec.recordings.rollouts import PROGRESS_SECONDS, Recorder
from roll_vec.vector.space_batches import item_at


@dataclass(frozen=True)
class Difference:
    """The first difference of a replay: of its first environment, the first field.

    Attributes
    ----------
    step : int
        Of the batch: 0 is the first reset.
    env_id : int or None
        None: it cannot be said.
    field : str
        ``rewards``, ``terminations``, ``truncations``, ``observations or infos`` or
        ``exception``.
    recorded, present : str
        Both values, for people; of observations and infos their digests.
    num_envs : int
        Environments that differ in this step.
    """

    step: int
    env_id: int | None
    field: str
    recorded: str
    present: str
    num_envs: int = 0


@dataclass(frozen=True)
class ReplayResult:
    """The steps that were equal, the first difference if there is one, and the time."""

    num_steps: int
    difference: Difference | None
    is_reset: bool
    seconds: float


def replay(
    env: Any,
    run: Run,
    on_progress: Callable[[int, int, float], None] | None = None,
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
    recorder : Recorder, optional
        Receives the events.
    max_steps : int, optional
        Steps to play at most.

    Raises
    ------
    InvalidFileError
        If the file says what no rollout does.
    """
    frame = steps = 0
    is_reset = True

    def choose(event: BatchEvent | None) -> Reset | Step | None:
        nonlocal is_reset, steps
        is_last = frame == len(run.is_reset)
        is_over = is_last and run.exception is None
        if is_over or (event is not None and steps == max_steps):
            return None
        is_reset = not is_last and bool(run.is_reset[frame])
        if not is_reset:
            steps += 1
            return Step(run.actions[steps - 1])
        if event is None:
            return Reset(seed=run.seed)
        if not event.ends.any():
            message = f"{run.path} cannot be played: it has a reset that begins nothing"
            raise InvalidFileError(message)
        return Reset(event.ends)

    begin, next_report = perf_counter(), 0.0
    difference = None
    events = play_steps(env, choose)
    while difference is None:
        recorded, present = "none", "none"
        if frame == len(run.is_reset) and run.exception is not None:
            recorded = run.exception
        try:
            event = next(events, None)
        except InvalidFileError:
            raise
        except Exception as error:
            event, present = None, describe_exception(error)
        if present != recorded and (event is not None or present != "none"):
            difference = Difference(steps, None, "exception", recorded, present)
        if event is None or difference is not None:
            break
        if recorder is not None:
            recorder.add(event)
        difference = _compare(env, run, event, frame, steps)
        frame += 1
        now = perf_counter()
        is_due = now >= next_report or steps == run.num_steps
        if on_progress is not None and difference is None and is_due:
            on_progress(steps, steps * env.num_envs, now - begin)
            next_report = now + PROGRESS_SECONDS
    return ReplayResult(steps, difference, is_reset, perf_counter() - begin)


def _compare(
    env: Any, run: Run, event: BatchEvent, frame: int, steps: int
) -> Difference | None:
    """Return the first difference of an event from a frame; None if all is equal."""
    space, num_envs = env.single_observation_space, env.num_envs
    pairs: dict[str, tuple[Any, Any]] = {}
    if not event.is_reset:
        for name, arrays in run.results.items():
            pairs[name] = arrays[steps - 1], np.asarray(getattr(event, name))
    digests = digest_rows(space, num_envs, event.observations, event.infos)
    pairs["observations or infos"] = run.digests[frame], digests
    unequal = {name: _differ(*pair) for name, pair in pairs.items()}
    differs = np.logical_or.reduce([*unequal.values()])
    if not differs.any():
        return None
    env_id = int(differs.argmax())
    name = next(name for name, rows in unequal.items() if rows[env_id])
    old, new = (each[env_id].item() for each in pairs[name])
    recorded, present = str(old), str(new)
    if name not in run.results:
        observation = shorten(item_at(space, event.observations, env_id))
        recorded, present = f"digest {old:08x}", f"digest {new:08x}: {observation}"
    return Difference(steps, env_id, name, recorded, present, int(differs.sum()))


def _differ(recorded: Any, present: Any) -> Any:
    """Return the (num_envs,) mask of rows of which any bit differs."""
    if recorded.dtype != present.dtype or recorded.shape != present.shape:
        return np.ones(len(present), np.bool_)
    # A nan equals itself, and 0.0 differs from -0.0.
    rows = (np.ascontiguousarray(each).view(np.uint8) for each in (recorded, present))
    old, new = (each.reshape(len(present), -1) for each in rows)
    return (old != new).any(axis=1)
