"""The interface of the workers of a pool, and the calling thread as the only one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium

from roll_vec.pool.env_runner import EnvRunner
from roll_vec.pool.tasks import EnvFns, Outcomes


class Workers:
    """Run tasks; those of one environment in the order of their submission.

    Attributes
    ----------
    are_others : bool
        Whether tasks run while the calling thread does something else.
    """

    are_others: ClassVar[bool] = False

    def submit(
        self, operation: str, env_ids: Sequence[int], arguments: Sequence[Any]
    ) -> None:
        """Accept tasks; they may start at once or when `flush` or `collect` is called.

        Parameters
        ----------
        operation : str
            The name of a method of `EnvRunner`.
        env_ids, arguments : sequence
            The environments, and an argument for each.  Both stay as they are.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Let everything submitted start as soon as its worker is free."""

    def collect(
        self, timeout: float | None = None, count: int | None = None
    ) -> list[Outcomes]:
        """Return the outcomes that are ready, at least one; or all.

        Parameters
        ----------
        timeout : float or None
            Seconds after which an empty list is returned; None: no limit.  Without
            outstanding tasks the list is empty at once.
        count : int or None
            None: wait for all; fewer are returned after `wake` alone.  Otherwise the
            calling thread, where it is the worker, runs so many tasks, but one if there
            is a limit of time.
        """
        raise NotImplementedError

    def wake(self) -> None:
        """Let `collect` in another thread return, with an empty list if need be."""

    def drop(self) -> list[int]:
        """Drop all outstanding tasks; return the environments that this lost."""
        raise NotImplementedError

    def close(self, patience: float) -> None:
        """Close the environments and end the workers.

        Parameters
        ----------
        patience : float
            Seconds until workers that are still busy are killed or abandoned.
        """
        raise NotImplementedError

    def objects(self) -> dict[int, gymnasium.Env[Any, Any]] | None:
        """Return the objects by environment; None if they are in other processes.

        Only those of an idle worker may be used.
        """
        return None


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
        """Accept tasks; `collect` runs them."""
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
            values = self._runner.run_all(operation, env_ids, arguments)
            outcomes.append(Outcomes(operation, env_ids, values))
        return outcomes

    def objects(self) -> dict[int, gymnasium.Env[Any, Any]]:
        """Return the environment objects; see `Workers.objects`."""
        return self._runner.envs

    def drop(self) -> list[int]:
        """Drop all tasks."""
        self._tasks.clear()
        return []

    def close(self, patience: float) -> None:  # noqa: ARG002
        """Close the environments."""
        self._tasks.clear()
        self._runner.close_all()
