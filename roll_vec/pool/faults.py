"""Faults: counts, the warning, and the errors.

The path of a fault through the pool::

    environment raises     hangs                      its process dies
          │                  │                              │
      EnvRunner.run_all  QueuedWorkers._stop_late_tasks     │
          │               ├─ threads: abandon it            │
          │               └─ processes: kill it ─▶ ProcessWorkers._stop_task
          │                  │                     the others of the process fail
          │                  │                     too, or are in `Faults.lost`
          ▼                  ▼                              │
      Outcomes with a Fault ◀───────────────────────────────╯
          │
      PoolEnvs             marks the environment: its next reset builds a new object
          │                (`EnvRecord.needs_replacement`); Faults counts it, and
          │                prepares the warning
          ├─ of a step     the episode ends: truncated, reward 0, infos["error"]
          ├─ of a reset    next episode's reset, MAX_RETRIES times; then the environment
          │                is stalled: its next step ends the episode, and so on
          └─ all environments are stalled: EnvironmentFaultError

The new object continues with the next episode of the environment's seed, see
`roll_vec.pool.env_record`.
"""

from __future__ import annotations

import numpy as np

from roll_vec.errors import (
    EnvironmentFaultError,
    EnvironmentFaultWarning,
    warn_caller,
)
from roll_vec.pool.tasks import Fault, format_traceback


class Faults:
    """The faults of a pool's environments so far, and those of the current call.

    Parameters
    ----------
    num_envs : int

    Attributes
    ----------
    counts : (num_envs,) int64
        Steps and attempts at a reset that failed, by environment.
    needs_full_reset : bool
        Whether all environments must be reset before anything else.
    stalled : dict of int to str
        The environments whose last reset failed in all attempts, and the error.
    lost : dict of int to str
        The environments whose object ended with its process in a task of another one,
        and the error of their next step.  Worker processes add to it.
    warning : str
        The warning of the first fault until `warn_once` gives it; else empty.
    """

    def __init__(self, num_envs: int) -> None:
        self.counts = np.zeros(num_envs, np.int64)
        self.needs_full_reset = False
        self.stalled: dict[int, str] = {}
        self.lost: dict[int, str] = {}
        self._may_warn = True
        self.warning = ""
        # The last fault, if all environments are stalled.
        self._last_fault: Fault | None = None
        # See `RollVectorEnv._become_part`: others may not be stalled.
        self.first_env_id, self.is_part = 0, False

    def count(self, env_id: int, fault: Fault) -> None:
        """Count a fault of a step, or of an attempt at a reset."""
        self.counts[env_id] += 1
        if not self._may_warn:
            return
        self._may_warn = False
        # As text: an exception would keep the frames of the environment alive.
        self.warning = (
            f"environment {env_id + self.first_env_id} failed: "
            f"{fault.message}\nThe episode of an "
            "environment that fails ends as truncated, with infos['error'], and the "
            "others go on. Later faults give no warning; `fault_counts` has their "
            "number."
        )
        trace = fault.traceback
        if fault.exception is not None:
            trace = format_traceback(fault.exception)
        if trace:
            self.warning += f"\n\n{trace}"

    def stall(self, env_id: int, fault: Fault) -> None:
        """Note that all attempts at a reset have failed, the last with this fault."""
        self.stalled[env_id] = fault.message
        if not self.is_part and len(self.stalled) == len(self.counts):
            self._last_fault = fault

    def warn_once(self) -> None:
        """Warn of the first fault of the pool, unless this was done before."""
        if self.warning:
            message, self.warning = self.warning, ""
            warn_caller(message, EnvironmentFaultWarning)

    def raise_if_needed(self) -> None:
        """Raise an error if all environments are stalled.

        Raises
        ------
        EnvironmentFaultError
        """
        if self._last_fault is not None:
            fault, self._last_fault = self._last_fault, None
            # The error reports the fault.
            self.warning = ""
            raise EnvironmentFaultError(self.stalled) from _cause_of(fault)


class _WorkerTraceback(Exception):
    """The traceback of an exception in a worker process, as its text."""


def _cause_of(fault: Fault) -> BaseException | None:
    """Return the cause of an error about a fault."""
    if fault.traceback:
        return _WorkerTraceback(f"in a worker process:\n\n{fault.traceback}")
    return fault.exception


def raise_faults(faults: dict[int, Fault], *, unchanged: bool = False) -> None:
    """Raise an error about the faults of some environments.

    Parameters
    ----------
    faults : dict of int to Fault
    unchanged : bool
        Raise the exception of the first environment instead, if there is one.

    Raises
    ------
    EnvironmentFaultError
    """
    first = faults[min(faults)]
    if unchanged and first.exception is not None:
        if first.traceback:
            raise first.exception from _cause_of(first)
        raise first.exception
    messages = {env_id: fault.message for env_id, fault in faults.items()}
    raise EnvironmentFaultError(messages) from _cause_of(first)
