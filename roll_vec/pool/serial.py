"""The calling thread as the only worker of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roll_vec.pool.env_runner import EnvRunner
from roll_vec.pool.tasks import EnvFns, Outcomes
from roll_vec.pool.workers import Workers


class SerialWorkers(Workers):
    """The calling thread.

    Parameters
    ----------
    env_fns : sequence of callable
    """

    def __init__(self, env_fns: EnvFns) -> None:
        self._runner = EnvRunner(dict(enumerate(env_fns)), in_caller=True)
        # Operations, each with environments and arguments.
        self._tasks: list[tuple[str, Sequence[int], Sequence[Any]]] = []

    def submit(
        self, operation: str, env_ids: Sequence[int], arguments: Sequence[Any]
    ) -> None:
        """Take tasks; `collect` runs them."""
        if env_ids:
            self._tasks.append((operation, env_ids, arguments))

    def collect(
        self, timeout: float | None = None, count: int | None = None
    ) -> list[Outcomes]:
        """Run the tasks, or the next ones; see `Workers.collect`."""
        tasks, self._tasks = self._tasks, []
        if count and tasks:
            num = count if timeout is None else 1
            (operation, env_ids, arguments), *self._tasks = tasks
            if len(env_ids) > num:
                self._tasks.insert(0, (operation, env_ids[num:], arguments[num:]))
            tasks = [(operation, env_ids[:num], arguments[:num])]
        outcomes: list[Outcomes] = []
        for operation, env_ids, arguments in tasks:
            values, faults = self._runner.run_all(operation, env_ids, arguments)
            outcomes.append(Outcomes(operation, env_ids, values, faults))
        return outcomes

    def runner_of(self, env_id: int) -> EnvRunner:  # noqa: ARG002
        """Return the only runner."""
        return self._runner

    def drop(self) -> list[int]:
        """Drop all tasks."""
        self._tasks.clear()
        return []

    def close(self, patience: float) -> None:  # noqa: ARG002
        """Close the environments."""
        self._tasks.clear()
        self._runner.close_all()
