"""What is done with one environment of the pool, wherever it is done.

The calling thread, a worker thread and a worker process all run `Task`s on
`Members`; an error of an environment comes back as a `Fault` and is nobody else's.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle

from roll_vec.base_envs import SeededEnv
from roll_vec.env_results import split_reset, split_step
from roll_vec.pool.observations import same_data

__all__ = ["Description", "Fault", "Members", "ResetOrder", "Restoration", "Task"]

StepValues = tuple[Any, float, bool, bool, dict[str, Any]]

# Characters of a traceback that are kept.
MAX_TRACEBACK = 8192
LOST = "the instance was lost"
_HERE = Path(__file__).parent


class Task(NamedTuple):
    """One thing to do with one environment.

    ``operation`` is the name of a method of `Members`, ``argument`` what it takes.
    """

    row: int
    operation: str
    argument: Any = None


class Fault(NamedTuple):
    """Why a task failed.

    ``kind`` is ``exception``, ``timeout`` or ``worker_death``; ``exception`` is there
    where one was raised and could be brought here, ``traceback`` where it was raised in
    another process.
    """

    kind: str
    message: str
    exception: BaseException | None = None
    traceback: str = ""


class Description(NamedTuple):
    """What the pool must know of an instance that it may not hold itself."""

    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    metadata: dict[str, Any]
    render_mode: str | None
    resumes: bool
    """Whether ``resume(seed, episode)`` takes it to any episode of a stream."""
    is_fresh: bool
    """Whether it resumes and has no stream yet."""
    takes_none: bool
    """Whether the action 0 stands for "no valid action" below the space's start."""


class ResetOrder(NamedTuple):
    """How an episode is begun."""

    seed: int | None = None
    options: dict[str, Any] | None = None
    is_bare: bool = False
    """Call ``reset()`` without arguments, as an autoreset does."""
    position: tuple[int, int] | None = None
    """Of one that resumes, where known: start of the stream, number of the episode."""
    rebuild: bool = False
    """Use a new instance, with these attributes set, at its position if it has one."""
    attributes: Mapping[str, Any] = {}


class Restoration(NamedTuple):
    """How an instance is brought to where one that was lost had been."""

    order: ResetOrder | None
    """What begins the history; None: the instance as it was built."""
    attributes: Mapping[str, Any]
    calls: list[bytes]
    """Pickled tasks since, in order."""
    observation: Any
    """What the last call must return again, in a tuple; empty: nothing was returned."""
    snapshot: bytes | None = None
    """Begins the history in place of an order."""


def describe_exception(operation: str, error: BaseException) -> str:
    """Return one line about an exception of an environment."""
    try:
        text = str(error)
    except BaseException:
        text = "(its text could not be had)"
    name = type(error).__name__
    return (
        f"exception in {operation}: {name}: {text}"
        if text
        else (f"exception in {operation}: {name}")
    )


def format_traceback(error: BaseException) -> str:
    """Return the traceback of an environment's exception, from its own code on."""
    where = error.__traceback__
    while where is not None and Path(where.tb_frame.f_code.co_filename).parent == _HERE:
        where = where.tb_next
    try:
        lines = traceback.format_exception(
            type(error), error, where or error.__traceback__
        )
        text = "".join(lines)
    except BaseException:
        return ""
    return text if len(text) <= MAX_TRACEBACK else f"...{text[-MAX_TRACEBACK:]}"


def as_number(reward: Any) -> float:
    """Return a reward as a float.

    Raises
    ------
    TypeError
        If it is not a number.
    """
    if isinstance(reward, (int, float, np.number, np.bool_)) or (
        isinstance(reward, np.ndarray) and reward.ndim == 0 and reward.dtype != object
    ):
        return float(reward)
    message = f"step returned the reward {reward!r}, expected a number"
    raise TypeError(message)


def check_step(result: Any) -> StepValues:
    """Return what `step` returned with its Python types.

    Raises
    ------
    TypeError
        If it is not five values of the right kinds.
    """
    observation, reward, terminated, truncated, info = split_step(result)
    reward = as_number(reward)
    return observation, reward, bool(terminated), bool(truncated), dict(info)


def check_reset(result: Any) -> tuple[Any, dict[str, Any]]:
    """Return what `reset` returned.

    Raises
    ------
    TypeError
        If it is not an observation and a dict.
    """
    observation, info = split_reset(result)
    return observation, dict(info)


def _has_states(env: SeededEnv) -> bool:
    """Return whether an environment has the optional `get_state` and `set_state`."""
    kind = type(env)
    return (
        kind.get_state is not SeededEnv.get_state
        and kind.set_state is not SeededEnv.set_state
    )


class Members:
    """Some environments of the pool, and the operations on them.

    Parameters
    ----------
    env_fns : mapping of int to callable
        How each is built, by row.
    in_caller : bool
        Whether this runs in the thread of the caller, whose Ctrl-C is not a fault.
    """

    def __init__(
        self,
        env_fns: Mapping[int, Callable[[], gymnasium.Env[Any, Any]]],
        *,
        in_caller: bool = False,
    ) -> None:
        self.env_fns = env_fns
        self.envs: dict[int, gymnasium.Env[Any, Any]] = {}
        self._passed = KeyboardInterrupt if in_caller else ()

    def run(self, task: Task) -> tuple[Any, Fault | None]:
        """Return what a task gives, or why it failed; never raises."""
        try:
            return getattr(self, task.operation)(task.row, task.argument), None
        except self._passed:
            raise
        except BaseException as error:
            message = describe_exception(task.operation, error)
            return None, Fault("exception", message, error)

    # ------------------------------------------------------ the operations

    def build(self, row: int, _: None = None) -> Description:
        """Make an instance, in place of the one before."""
        self.close(row)
        env = self.envs[row] = self.env_fns[row]()
        return self._describe(env)

    def load(
        self, row: int, pickled: bytes, attributes: Mapping[str, Any] | None = None
    ) -> None:
        """Take over what `fetch` or `snapshot` pickled.

        A state is put into a new instance, with these attributes set.
        """
        is_state, content = pickle.loads(pickled)
        if is_state:
            self._build_with(row, attributes or {})
            self.envs[row].set_state(content)  # type: ignore[attr-defined]
        elif content is not None:
            self.envs[row] = content

    def fetch(self, row: int, _: None = None) -> bytes:
        """Return the instance, pickled; None for one that was lost."""
        return pickle.dumps((False, self.envs.get(row)))

    def snapshot(self, row: int, limit: int) -> bytes:
        """Return the state of an instance, or else the instance, pickled.

        Raises
        ------
        TypeError
            If its state is lost where it is pickled.
        ValueError
            If that takes more than ``limit`` bytes.
        """
        env = self.envs[row]
        pickled = b""
        # Not of a wrapped one: its wrappers have a state as well.
        if isinstance(env, SeededEnv) and _has_states(env):
            pickled = pickle.dumps((True, env.get_state()))
        if not pickled:
            layer: Any = env
            while layer is not None:
                if isinstance(layer, EzPickle):
                    message = f"{type(layer).__name__} is pickled without its state"
                    raise TypeError(message)
                layer = layer.env if isinstance(layer, gymnasium.Wrapper) else None
            pickled = self.fetch(row)
        if len(pickled) > limit:
            message = f"it takes {len(pickled)} bytes, and {limit} are kept"
            raise ValueError(message)
        return pickled

    def _build_with(self, row: int, attributes: Mapping[str, Any]) -> None:
        """Make an instance and set its attributes."""
        self.build(row)
        for name, value in attributes.items():
            self.envs[row].set_wrapper_attr(name, value)

    def _describe(self, env: gymnasium.Env[Any, Any]) -> Description:
        bare = env.unwrapped
        # Both, for a foreign environment may mean something else by the first.
        resumes = hasattr(bare, "resume") and hasattr(bare, "level_seed")
        return Description(
            env.observation_space,
            env.action_space,
            dict(env.metadata),
            env.render_mode,
            resumes,
            resumes and bare.level_seed is None,  # type: ignore[attr-defined]
            bool(getattr(bare, "takes_no_action", False)),
        )

    def reset(self, row: int, order: ResetOrder) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; return observation and info."""
        if order.rebuild:
            self._build_with(row, order.attributes)
        env = self.envs[row]
        if order.rebuild and order.position is not None:
            env.unwrapped.resume(*order.position)  # type: ignore[attr-defined]
        if order.is_bare and order.seed is None:
            result: Any = env.reset()
        else:
            result = env.reset(seed=order.seed, options=order.options)
        return check_reset(result)

    def step(self, row: int, action: Any) -> StepValues:
        """Take an action.

        Raises
        ------
        LookupError
            If the instance was lost.
        """
        if row not in self.envs:
            raise LookupError(LOST)
        return check_step(self.envs[row].step(action))

    def call(self, row: int, called: tuple[str, Any, Any]) -> Any:
        """Return an attribute, called if it can be called; None without instance."""
        name, args, kwargs = called
        if row not in self.envs:
            return None
        found = self.envs[row].get_wrapper_attr(name)
        return found(*args, **kwargs) if callable(found) else found

    def set(self, row: int, item: tuple[str, Any]) -> None:
        """Set an attribute of the instance, if it was not lost."""
        if row in self.envs:
            self.envs[row].set_wrapper_attr(*item)

    def restore(self, row: int, past: Restoration) -> None:
        """Build an instance and repeat what the one before it had done.

        Raises
        ------
        RuntimeError
            If it does not come to the same observation.
        """
        seen: tuple[Any, ...] = ()
        self.envs.pop(row, None)
        try:
            if past.snapshot is not None:
                self.load(row, past.snapshot, past.attributes)
            elif past.order is None:
                self._build_with(row, past.attributes)
            else:
                seen = self.reset(row, past.order)[:1]
            for pickled in past.calls:
                task: Task = pickle.loads(pickled)
                result = getattr(self, task.operation)(row, task.argument)
                if task.operation != "set":
                    seen = result[:1]
            if not same_data(seen, past.observation):
                message = "the same actions led to another observation"
                raise RuntimeError(message)
        except BaseException:
            self.close(row)
            raise

    def close(self, row: int, _: None = None) -> None:
        """Close an instance, whatever its `close` raises.

        Raises
        ------
        KeyboardInterrupt
            In the thread of the caller.
        """
        env = self.envs.pop(row, None)
        if env is not None:
            try:
                env.close()
            except self._passed:
                raise
            except BaseException:
                pass

    def close_all(self) -> None:
        """Close all instances.

        Raises
        ------
        KeyboardInterrupt
            In the thread of the caller: once the others are closed, or at once for the
            second one.
        """
        interrupt: BaseException | None = None
        for row in list(self.envs):
            try:
                self.close(row)
            except self._passed as error:
                if interrupt is not None:
                    raise
                interrupt = error
        if interrupt is not None:
            raise interrupt
