"""Messages between a pool and its workers: tasks, requests, results, faults.

All of them can be pickled, for worker processes.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import gymnasium

EnvFns = Sequence[Callable[[], gymnasium.Env[Any, Any]]]
EnvFnsById = Mapping[int, Callable[[], gymnasium.Env[Any, Any]]]

# A longer traceback loses its beginning, in characters.
MAX_TRACEBACK = 8192
_POOL_FOLDER = Path(__file__).parent
# Operations whose exceptions are faults; the caller raises those of others as they are.
_FAULT_OPERATIONS = ("reset", "step", "task")


Task: TypeAlias = tuple[int, str, Any]
"""One operation on one environment: its id, the name of a method of `EnvRunner`, and
its argument."""


class Fault(NamedTuple):
    """The reason why a task failed; it stands in the place of the result."""

    message: str
    exception: BaseException | None = None
    """If one was raised, and can be pickled where another process raised it."""
    traceback: str = ""
    """If another process raised an exception."""
    has_begun: bool = True
    """False: the process ended in a task of another environment, before this task."""


Outcome: TypeAlias = tuple[int, str, Any]
"""Of a task that has ended: environment, operation, and result or `Fault`."""


class Outcomes(NamedTuple):
    """The outcomes of tasks of one operation, by column."""

    operation: str
    env_ids: Sequence[int]
    values: Sequence[Any]
    """The result of each, or its `Fault`."""


def group_outcomes(outcomes: Iterable[Outcome]) -> list[Outcomes]:
    """Return the outcomes of tasks by operation."""
    groups: dict[str, tuple[list[int], list[Any]]] = {}
    for env_id, operation, value in outcomes:
        env_ids, values = groups.setdefault(operation, ([], []))
        env_ids.append(env_id)
        values.append(value)
    return [Outcomes(operation, *group) for operation, group in groups.items()]


StepValues: TypeAlias = tuple[Any, float, bool, bool, dict[str, Any]]
"""The five values of a step, checked."""
NO_STEP: StepValues = (None, 0.0, False, False, {})
"""Those of an environment that a reset began in the place of a step."""


class EnvDescription(NamedTuple):
    """Properties of an environment object, which may be in another process."""

    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    metadata: dict[str, Any]
    render_mode: str | None
    can_resume: bool
    """Whether ``resume(seed, episode)`` moves it to any episode of any seed."""
    needs_seed: bool
    """Whether it can resume and was never reset: the pool then draws its seed."""
    accepts_noop: bool
    """Whether the action 0 means "no valid action" in a space that starts at 1."""
    configuration: dict[str, Any]
    """Result of `describe_env`, which pools compare to exchange snapshots."""


class ResetRequest(NamedTuple):
    """The argument of the task ``reset``: how an episode begins."""

    seed: int | None = None
    options: dict[str, Any] | None = None
    is_autoreset: bool = False
    """Call ``reset()`` without arguments, unless a seed is needed."""
    position: tuple[int, int] | None = None
    """First seed and episode number; None if unknown or `EnvDescription.can_resume`
    is False."""
    replace_env: bool = False
    """First build a new environment object, and move it to ``position``."""
    attributes: Mapping[str, Any] = {}
    """Set on the new object."""


class StateRequest(NamedTuple):
    """The argument of the task ``set_state``: a snapshot to go to."""

    content: bytes
    """A row of ``states``, see `roll_vec.vector.values`."""
    attributes: Mapping[str, Any] = {}
    """Set on a new object that is built for a state."""
    replace_env: bool = False
    """Whether a state needs a new object even if there is one."""


def exception_fault(operation: str, error: BaseException) -> Fault:
    """Return the fault for an exception that an environment raised."""
    try:
        text = str(error)
    except BaseException:
        text = "(its text could not be had)"
    message = f"exception in {operation}: {type(error).__name__}"
    return Fault(f"{message}: {text}" if text else message, error)


def misfit_fault(operation: str) -> Fault:
    """Return the fault of a result that cannot be part of a batch."""
    reason = "the observation is not one of the observation space"
    return Fault(f"exception in {operation}: {reason}")


def unsendable_fault(operation: str, error: BaseException) -> Fault:
    """Return the fault of a task whose argument or result cannot be pickled."""
    message = (
        f"exception in {operation}: what passes between the processes cannot be "
        f"pickled: {type(error).__name__}: {error}"
    )
    return Fault(message, error)


def format_traceback(error: BaseException) -> str:
    """Return the traceback of an environment's exception, without the pool's frames."""
    frames = error.__traceback__
    while (
        frames is not None
        and Path(frames.tb_frame.f_code.co_filename).parent == _POOL_FOLDER
    ):
        frames = frames.tb_next
    try:
        lines = traceback.format_exception(
            type(error), error, frames or error.__traceback__
        )
        text = "".join(lines)
    except BaseException:
        return ""
    return text if len(text) <= MAX_TRACEBACK else f"...{text[-MAX_TRACEBACK:]}"


def make_picklable(fault: Fault, operation: str) -> Fault:
    """Return a fault that another process can unpickle."""
    if fault.exception is not None:
        fault = fault._replace(traceback=format_traceback(fault.exception))
    if operation not in _FAULT_OPERATIONS:
        with suppress(Exception):
            pickle.loads(pickle.dumps(fault.exception))
            return fault
    return fault._replace(exception=None)
