"""The calling thread as the only worker of a pool."""

from __future__ import annotations

from collections.abc import Sequence

from roll_vec.pool.env_runner import EnvRunner
from roll_vec.pool.tasks import EnvFns, Outcome, Task
from roll_vec.pool.workers import Workers


class SerialWorkers(Workers):
    """The calling thread.

    Parameters
    ----------
    env_fns : sequence of callable
    """

    def __init__(self, env_fns: EnvFns) -> None:
        self._runner = EnvRunner(dict(enumerate(env_fns)), in_caller=True)
        self._tasks: list[Task] = []

    def submit(self, tasks: Sequence[Task]) -> None:
        """Take tasks; `collect` runs them."""
        self._tasks += tasks

    def collect(
        self,
        timeout: float | None = None,  # noqa: ARG002
        *,
        some: bool = False,
    ) -> list[Outcome]:
        """Run the tasks, or the next one; see `Workers.collect`."""
        tasks, self._tasks = self._tasks, []
        if some:
            tasks, self._tasks = tasks[:1], tasks[1:]
        return self._runner.run_all(tasks)

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
