"""Counts of the faults of a pool, and the warning and the errors about them."""

from __future__ import annotations

import numpy as np

from roll_vec.errors import (
    EnvironmentFaultError,
    EnvironmentFaultWarning,
    warn_caller,
)
from roll_vec.pool.env_runner import Fault, format_traceback

__all__ = ["FaultCounts", "cause_of", "raise_faults"]


class FaultCounts:
    """Counts faults and warns of the first one.

    Parameters
    ----------
    num_envs : int
    warns : bool
        Whether the first fault is to be warned of.

    Attributes
    ----------
    by_row : (num_envs,) int64
        Steps and attempts at a reset that failed, by environment.
    by_kind : dict of str to int
        The same by kind: ``exception``, ``timeout``, ``worker_death``; and under
        ``reset`` the resets that were given up, after all their attempts.
    """

    def __init__(self, num_envs: int, *, warns: bool) -> None:
        self.by_row = np.zeros(num_envs, np.int64)
        self.by_kind = {"exception": 0, "timeout": 0, "worker_death": 0, "reset": 0}
        self._warns = warns
        self._warning = ""

    def add(self, row: int, fault: Fault) -> None:
        """Count a failed step or attempt at a reset."""
        self.by_row[row] += 1
        self.by_kind[fault.kind] += 1
        if not self._warns:
            return
        self._warns = False
        # As text: an exception would keep the frames of the environment alive.
        self._warning = (
            f"environment {row} failed: {fault.message}\nThe episode of an environment "
            "that fails ends as truncated, with infos['error'], and the others go on. "
            "Later faults give no warning; `fault_counts` has their number."
        )
        trace = fault.traceback
        if fault.exception is not None:
            trace = format_traceback(fault.exception)
        if trace:
            self._warning += f"\n\n{trace}"

    def add_reset(self) -> None:
        """Count a reset that was given up."""
        self.by_kind["reset"] += 1

    def drop_warning(self) -> None:
        """Drop the warning: an error reports the fault."""
        self._warning = ""

    def warn_once(self) -> None:
        """Warn of the first fault, if there is one and nobody has been warned yet."""
        if self._warning:
            message, self._warning = self._warning, ""
            warn_caller(message, EnvironmentFaultWarning)


class _WorkerTraceback(Exception):
    """The traceback of an exception in a worker process, as its text."""


def cause_of(fault: Fault) -> BaseException | None:
    """Return the cause of an error about a fault."""
    if fault.traceback:
        return _WorkerTraceback(f"in a worker process:\n\n{fault.traceback}")
    return fault.exception


def raise_faults(faults: dict[int, Fault], *, unchanged: bool = False) -> None:
    """Raise the faults of some rows.

    Parameters
    ----------
    faults : dict of int to Fault
    unchanged : bool
        Raise what was raised in the first, if anything was.
    """
    first = faults[min(faults)]
    if unchanged and first.exception is not None:
        if first.traceback:
            raise first.exception from cause_of(first)
        raise first.exception
    error = EnvironmentFaultError({row: fault.message for row, fault in faults.items()})
    raise error from cause_of(first)
