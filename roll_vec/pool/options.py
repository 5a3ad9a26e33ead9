"""The keywords of a pool, and their checks."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from typing import Any

from roll_vec.options import (
    check_choice,
    check_fields,
    check_int,
    check_optional,
    check_seconds,
    option,
    refuse_unused,
)

EXECUTORS = ("thread", "process")
START_METHODS = (None, *multiprocessing.get_all_start_methods())


def _check_timeout(name: str, value: Any) -> float | None:
    return check_seconds(name, value, allows_zero=False)


@dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """Workers and time limits of a pool; see `PoolVectorEnv`.

    Parameters
    ----------
    workers : int
        0: the calling thread runs the environments; n: n threads or processes do.  The
        calling thread is fastest if they compute for microseconds.  Environment i
        always belongs to worker ``i % n``.
    executor : str
        Kind of workers: ``thread`` for environments that wait, or ``process``.
        Processes are for environments that keep a core busy or that must be stopped:
        only a process can stop code that never returns.  A thread whose environment
        takes too long is abandoned: it is a daemon thread, and nobody waits for it.
        Code that holds the interpreter lock meanwhile stops the whole program.
    step_timeout : float or None
        Seconds that a step itself may run; needs workers.  Waiting for the worker does
        not count.
    reset_timeout : float or None
        Seconds that a reset itself may run; needs workers.  It includes the
        construction of a new object; waiting for the worker does not count.  A process
        that starts may take 10 s more, and 1 s for each worker.
    max_episode_steps : int or None
        Steps after which an episode is truncated.
    context : str or None
        Start method of processes: ``fork``, ``spawn`` or ``forkserver``.  None: the
        default of `multiprocessing`.

    Raises
    ------
    InvalidOptionError
    """

    workers: int = option(0, check_int, 0)
    executor: str = option("thread", check_choice, EXECUTORS)
    step_timeout: float | None = option(None, _check_timeout)
    reset_timeout: float | None = option(None, _check_timeout)
    max_episode_steps: int | None = option(None, check_optional, check_int, 1)
    context: str | None = option(None, check_choice, START_METHODS)

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.workers:
            reason = (
                "workers=0 runs the environments in the calling thread, which nothing "
                "can interrupt: a timeout needs workers=1 or more (threads, or "
                "executor='process' to stop code that never returns)"
            )
            refuse_unused(self, ("step_timeout", "reset_timeout"), reason)
            names, reason = ("executor", "context"), "has no effect with workers=0"
            refuse_unused(self, names, reason, warns=True)
        elif self.executor != "process":
            refuse_unused(self, ("context",), "needs executor='process'")

    @property
    def time_limits(self) -> dict[str, float]:
        """Seconds by operation; an environment is built within the limit of a reset."""
        limits = {
            "step": self.step_timeout,
            "reset": self.reset_timeout,
            "build": self.reset_timeout,
        }
        return {name: limit for name, limit in limits.items() if limit is not None}
