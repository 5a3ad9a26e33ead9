"""The calling thread as the only worker of a pool, with fast loops over all tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from roll_vec.pool.env_runner import (
    LOST_MESSAGE,
    EnvRunner,
    check_reset,
    check_step,
)
from roll_vec.pool.member import Result
from roll_vec.pool.tasks import EnvFns, Fault, Outcome, Task, exception_fault
from roll_vec.pool.workers import Workers
from roll_vec.vector.infos import InfoList


class StepLists(NamedTuple):
    """Results of a step, with an entry for each environment; zeros where skipped."""

    rewards: list[float]
    terminations: list[bool]
    truncations: list[bool]
    infos: InfoList
    faults: dict[int, Fault]

    def set(self, env_id: int, result: Result) -> None:
        """Set the result of one environment."""
        self.rewards[env_id], self.terminations[env_id] = result[:2]
        self.truncations[env_id], self.infos[env_id] = result[2:]


class SerialWorkers(Workers):
    """The calling thread.

    Parameters
    ----------
    env_fns : sequence of callable
    """

    def __init__(self, env_fns: EnvFns) -> None:
        self._runner = EnvRunner(dict(enumerate(env_fns)), in_caller=True)
        self._num_envs = len(env_fns)
        self._tasks: deque[Task] = deque()
        # Bound methods of the environments; None: to be looked up again.
        self._step_methods: list[Callable[[Any], Any]] | None = None
        self._reset_methods: list[Callable[[], Any]] = []

    @property
    def num_outstanding(self) -> int:
        """Number of tasks that have not been run."""
        return len(self._tasks)

    def submit(self, task: Task) -> None:
        """Take a task; `collect` runs it."""
        self._tasks.append(task)

    def collect(self, timeout: float | None = None) -> list[Outcome]:  # noqa: ARG002
        """Run the next task."""
        if not self._tasks:
            return []
        task = self._tasks.popleft()
        if task.operation not in ("step", "call", "get_state"):
            self._step_methods = None
        return [Outcome(task, *self._runner.run(task))]

    def runner_of(self, env_id: int) -> EnvRunner:  # noqa: ARG002
        """Return the only runner."""
        return self._runner

    def _bind_methods(self) -> list[Callable[[Any], Any]]:
        """Look up the methods of all environments; those of lost ones raise."""
        envs = [self._runner.envs.get(env_id) for env_id in range(self._num_envs)]
        self._reset_methods = [
            _raise_lost if env is None else env.reset for env in envs
        ]
        self._step_methods = [_raise_lost if env is None else env.step for env in envs]
        return self._step_methods

    def step_all(
        self, actions: list[Any], skip_list: list[bool], observations: list[Any]
    ) -> StepLists:
        """Step all environments that are not skipped.

        ``observations`` is written into, except where an environment is skipped or
        fails.
        """
        num_envs = self._num_envs
        rewards, terminations = [0.0] * num_envs, [False] * num_envs
        truncations = [False] * num_envs
        infos: InfoList = [{}] * num_envs
        faults: dict[int, Fault] = {}
        env_id = -1
        methods = self._step_methods or self._bind_methods()
        for step, action, skip in zip(methods, actions, skip_list, strict=True):
            env_id += 1
            if skip:
                continue
            try:
                result = step(action)
                if not (
                    type(result) is tuple
                    and len(result) == 5
                    and type(result[1]) is float
                    and type(result[4]) is dict
                ):
                    result = check_step(result)
                observation, reward, terminated, truncated, info = result
                if terminated:
                    terminations[env_id] = True
                if truncated:
                    truncations[env_id] = True
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                faults[env_id] = exception_fault("step", error)
                continue
            observations[env_id] = observation
            rewards[env_id], infos[env_id] = reward, info
        return StepLists(rewards, terminations, truncations, infos, faults)

    def reset_envs(self, env_ids: list[int]) -> list[Outcome]:
        """Reset some environments, as an autoreset does."""
        outcomes = []
        if self._step_methods is None:
            self._bind_methods()
        methods = self._reset_methods
        for env_id in env_ids:
            value, fault = None, None
            try:
                value = methods[env_id]()
                if (
                    type(value) is not tuple
                    or len(value) != 2
                    or type(value[1]) is not dict
                ):
                    value = check_reset(value)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                fault = exception_fault("reset", error)
            outcomes.append(Outcome(Task(env_id, "reset"), value, fault))
        return outcomes

    def drop(self) -> list[int]:
        """Drop all tasks."""
        self._tasks.clear()
        return []

    def close(self, patience: float) -> None:  # noqa: ARG002
        """Close the environments."""
        self._tasks.clear()
        self._step_methods = None
        self._reset_methods = []
        self._runner.close_all()


def _raise_lost(action: Any = None) -> Any:  # noqa: ARG001
    """Stand in for the methods of an environment object that was lost."""
    raise LookupError(LOST_MESSAGE)
