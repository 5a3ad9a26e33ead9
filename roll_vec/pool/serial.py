"""The calling thread as the worker of a pool, with loops that do nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from roll_vec.pool.env_runner import (
    LOST,
    Fault,
    Members,
    Task,
    as_number,
    check_reset,
    check_step,
    describe_exception,
)
from roll_vec.pool.workers import EnvFns, Outcome, Workers
from roll_vec.vector.infos import RowInfos

__all__ = ["Lockstep", "SerialWorkers"]


class Lockstep(NamedTuple):
    """What a step of all environments gives, by row; blank for those left out."""

    rewards: list[float]
    terminations: list[bool]
    truncations: list[bool]
    infos: RowInfos
    faults: dict[int, Fault]


class SerialWorkers(Workers):
    """The calling thread.

    Parameters
    ----------
    env_fns : sequence of callable
    """

    def __init__(self, env_fns: EnvFns) -> None:
        self.members = Members(dict(enumerate(env_fns)), in_caller=True)
        self._num_envs = len(env_fns)
        self._queue: deque[Task] = deque()
        # The environments' methods, looked up once.
        self._steps: list[Callable[[Any], Any]] | None = None
        self._resets: list[Callable[[], Any]] = []

    @property
    def num_outstanding(self) -> int:
        """Number of tasks that have not been run."""
        return len(self._queue)

    def submit(self, task: Task) -> None:
        """Take a task; it is run by `collect`."""
        self._queue.append(task)

    def collect(self, timeout: float | None = None) -> list[Outcome]:  # noqa: ARG002
        """Run the next task."""
        if not self._queue:
            return []
        task = self._queue.popleft()
        if task.operation not in ("step", "call"):
            self._steps = None
        return [Outcome(task, *self.members.run(task))]

    def instance(self, row: int) -> Any:
        """Return an environment, or None where it was lost."""
        return self.members.envs.get(row)

    def put_instance(self, row: int, env: Any) -> None:
        """Take over an environment."""
        self.members.envs[row] = env

    def _bind(self) -> list[Callable[[Any], Any]]:
        """Look up the environments' methods; those of lost instances raise."""
        envs = self.members.envs
        rows = range(self._num_envs)
        self._resets = [envs[row].reset if row in envs else _lost for row in rows]
        self._steps = [envs[row].step if row in envs else _lost for row in rows]
        return self._steps

    def step_all(
        self, actions: list[Any], skipped: list[bool], latest: list[Any]
    ) -> Lockstep:
        """Step all environments but some, and write their observations to ``latest``.

        An environment that fails leaves its row of ``latest`` alone.
        """
        num_envs = self._num_envs
        rewards, terminations = [0.0] * num_envs, [False] * num_envs
        truncations = [False] * num_envs
        infos: RowInfos = [{}] * num_envs
        faults: dict[int, Fault] = {}
        row = -1
        steps = self._steps or self._bind()
        for step, action, skip in zip(steps, actions, skipped, strict=True):
            row += 1
            if skip:
                continue
            try:
                result = step(action)
                if type(result) is not tuple or len(result) != 5:
                    result = check_step(result)
                observation, reward, terminated, truncated, info = result
                if type(reward) is not float:
                    reward = as_number(reward)
                if terminated:
                    terminations[row] = True
                if truncated:
                    truncations[row] = True
                if type(info) is not dict:
                    info = check_step(result)[4]
                infos[row] = info
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                message = describe_exception("step", error)
                faults[row] = Fault("exception", message, error)
                continue
            latest[row] = observation
            rewards[row] = reward
        return Lockstep(rewards, terminations, truncations, infos, faults)

    def reset_rows(
        self, rows: list[int], latest: list[Any], infos: RowInfos
    ) -> dict[int, Fault]:
        """Reset some environments as an autoreset does; return what failed."""
        faults: dict[int, Fault] = {}
        if self._steps is None:
            self._bind()
        resets = self._resets
        for row in rows:
            try:
                result = resets[row]()
                if type(result) is not tuple or len(result) != 2:
                    result = check_reset(result)
                observation, info = result
                if type(info) is not dict:
                    info = check_reset(result)[1]
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                message = describe_exception("reset", error)
                faults[row] = Fault("exception", message, error)
                continue
            latest[row] = observation
            infos[row] = info
        return faults

    def drop(self) -> list[int]:
        """Forget all tasks."""
        self._queue.clear()
        return []

    def close(self, patience: float) -> None:  # noqa: ARG002
        """Close the environments."""
        self._queue.clear()
        self._steps = None
        self._resets = []
        self.members.close_all()


def _lost(action: Any = None) -> Any:  # noqa: ARG001
    """Stand for the methods of an instance that was lost."""
    raise LookupError(LOST)
