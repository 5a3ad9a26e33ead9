"""The keywords of a pool, and their checks."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice, check_int, check_number

__all__ = ["PoolOptions"]

EXECUTORS = ("thread", "process")
ON_ERROR = ("truncate", "raise")


@dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """Workers, time limits and error handling of a pool; see `PoolVectorEnv`.

    Raises
    ------
    InvalidOptionError
    """

    workers: int = 0
    executor: str = "thread"
    step_timeout: float | None = None
    reset_timeout: float | None = None
    on_error: str = "truncate"
    max_episode_steps: int | None = None
    context: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "workers", check_int("workers", self.workers, 0))
        check_choice("executor", self.executor, EXECUTORS)
        check_choice("on_error", self.on_error, ON_ERROR)
        if self.max_episode_steps is not None:
            limit = check_int("max_episode_steps", self.max_episode_steps, 1)
            object.__setattr__(self, "max_episode_steps", limit)
        for name in ("step_timeout", "reset_timeout"):
            self._check_timeout(name, getattr(self, name))
        start_methods = multiprocessing.get_all_start_methods()
        check_choice("context", self.context, [None, *start_methods])

    def _check_timeout(self, name: str, value: Any) -> None:
        if value is None:
            return
        seconds = check_number(name, value, 0.0, 1e9)
        if isinstance(value, (bool, str)) or seconds <= 0.0:
            raise InvalidOptionError.expected(name, "None or seconds above 0", value)
        if not self.workers:
            message = (
                f"{name}: workers=0 runs the environments in the calling thread, which "
                "nothing can interrupt: a timeout needs workers=1 or more (threads, or "
                "executor='process' to stop code that never returns)"
            )
            raise InvalidOptionError(message)
        object.__setattr__(self, name, seconds)

    @property
    def time_limits(self) -> dict[str, float]:
        """Seconds by operation; an environment is built within the limit of a reset."""
        limits = {
            "step": self.step_timeout,
            "reset": self.reset_timeout,
            "build": self.reset_timeout,
        }
        return {name: limit for name, limit in limits.items() if limit is not None}
