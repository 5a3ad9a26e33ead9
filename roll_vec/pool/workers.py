"""The interface of the workers of a pool: serial, threads, processes."""

from __future__ import annotations

from typing import Any

from roll_vec.pool.tasks import Outcome, Task

__all__ = ["Workers"]


class Workers:
    """Run tasks; those of one environment in the order of their submission.

    Attributes
    ----------
    abandoned_threads : int
        Number of threads that were left behind in tasks that took too long.
    has_envs_here : bool
        Whether the environment objects are in this process, for `get_env` and
        `put_env`.
    """

    abandoned_threads = 0
    has_envs_here = True

    @property
    def num_outstanding(self) -> int:
        """Number of tasks whose outcomes `collect` has not returned."""
        raise NotImplementedError

    def submit(self, task: Task) -> None:
        """Take a task; it may start at once or when `flush` or `collect` is called."""
        raise NotImplementedError

    def flush(self) -> None:
        """Let everything submitted start as soon as its worker is free."""

    def collect(self, timeout: float | None = None) -> list[Outcome]:
        """Return the outcomes that are ready; wait until there is one.

        Parameters
        ----------
        timeout : float or None
            Seconds after which an empty list is returned; None: no limit.  Without
            outstanding tasks the list is empty at once.
        """
        raise NotImplementedError

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

    def get_env(self, env_id: int) -> Any:
        """Return an environment object, or None if it was lost."""
        raise NotImplementedError

    def put_env(self, env_id: int, env: Any) -> None:
        """Give an environment object to its worker, which must be idle."""
        raise NotImplementedError
