"""Faults: counts, the warning, and what replaces an environment that hangs or dies.

The path of a fault through the pool::

    environment raises     hangs                      its process dies
          │                  │                              │
      EnvRunner.run    QueuedWorkers._stop_late_tasks       │
          │               ├─ threads: abandon it            │
          │               └─ processes: kill it ─▶ ProcessWorkers._replace_worker
          │                  │                     ProcessRecovery: which are lost,
          │                  │                     which are restored, and how
          ▼                  ▼                              │
      Outcome with a Fault ◀────────────────────────────────╯
          │
      FaultHandler         counts it, prepares the warning, and marks the environment:
          │                its next reset builds a new object (`needs_replacement`)
          ├─ of a step     the episode ends: truncated, reward 0, infos["error"]
          ├─ of a reset    next episode's reset, MAX_RETRIES times; then the environment
          │                is stalled: its next step ends the episode, and so on
          └─ on_error="raise", or all environments are stalled: EnvironmentFaultError

The new object continues with the next episode of the environment's seed, see
`roll_vec.pool.episodes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from roll_vec.errors import (
    EnvironmentFaultError,
    EnvironmentFaultWarning,
    warn_caller,
)
from roll_vec.pool.replay import (
    SNAPSHOT_FACTOR,
    ReplayLog,
    calls_limit,
    is_seeded,
    self_contained,
)
from roll_vec.pool.tasks import Fault, Task, format_traceback

__all__ = ["FaultHandler", "ProcessRecovery", "raise_faults"]

# Further attempts at a reset that fails, each in the next episode.
MAX_RETRIES = 3
# Tasks that worker processes get from the pool itself; nobody waits for the outcomes.
INTERNAL_TASKS = ("restore", "snapshot")


class FaultHandler:
    """Decides what follows a fault of a step or a reset.

    Parameters
    ----------
    num_envs : int
    on_error : ``truncate`` or ``raise``

    Attributes
    ----------
    counts : (num_envs,) int64
        Steps and attempts at a reset that failed, by environment.
    counts_by_kind : dict of str to int
        The same by kind: ``exception``, ``timeout``, ``worker_death``; and under
        ``reset`` the resets that failed in all attempts.
    needs_replacement : list of bool
        Whether the next reset of an environment builds a new object.
    needs_full_reset : bool
        Whether all environments must be reset before anything else.
    stalled : dict of int to str
        The environments whose last reset failed in all attempts, and the error.
    raises : bool
        True with ``on_error="raise"``.
    faults_to_raise : dict of int to Fault
        Faults of the current call; empty with ``on_error="truncate"``.
    """

    def __init__(self, num_envs: int, on_error: str) -> None:
        self.counts = np.zeros(num_envs, np.int64)
        self.counts_by_kind = {
            "exception": 0,
            "timeout": 0,
            "worker_death": 0,
            "reset": 0,
        }
        self.needs_replacement = [False] * num_envs
        self.needs_full_reset = False
        self.stalled: dict[int, str] = {}
        self.raises = on_error == "raise"
        self._may_warn = not self.raises
        self._warning = ""
        self._num_retries: dict[int, int] = {}
        self.faults_to_raise: dict[int, Fault] = {}
        # The last fault, if all environments are stalled.
        self._last_fault: Fault | None = None
        # Of a pool that is a part of a larger batch: see `is_part_from`.
        self._first_env_id: int | None = None

    def is_part_from(self, first_env_id: int) -> None:
        """Note that the pool is a part of a larger batch, from this environment on.

        Its warnings count environments as the larger batch does, and it does not raise
        when all of its environments are stalled: others may not be.
        """
        self._first_env_id = first_env_id

    # ----------------------------------------------------------- decisions

    def handle_step_fault(self, env_id: int, fault: Fault) -> dict[str, Any]:
        """Take the fault of a step; return the info of the truncated episode."""
        self._count(env_id, fault)
        if self.raises:
            self.faults_to_raise[env_id] = fault
        return {"error": fault.message}

    def start_reset(self, env_id: int) -> None:
        """Note that a reset begins, with all its attempts."""
        self._num_retries.pop(env_id, None)
        self.stalled.pop(env_id, None)

    def handle_reset_fault(self, env_id: int, fault: Fault) -> bool:
        """Take the fault of an attempt at a reset; return whether to try again."""
        self._count(env_id, fault)
        if self.raises:
            self.faults_to_raise[env_id] = fault
            return False
        num_retries = self._num_retries.get(env_id, 0)
        if num_retries < MAX_RETRIES:
            self._num_retries[env_id] = num_retries + 1
            return True
        self.counts_by_kind["reset"] += 1
        self.stalled[env_id] = fault.message
        is_whole = self._first_env_id is None
        if is_whole and len(self.stalled) == len(self.counts):
            self._last_fault = fault
        return False

    def restore(self, env_id: int, needs_replacement: bool, error: str | None) -> None:
        """Bring an environment into a state; with an error it is stalled."""
        self.needs_replacement[env_id] = needs_replacement
        self.start_reset(env_id)
        if error is not None:
            self.stalled[env_id] = error

    def _count(self, env_id: int, fault: Fault) -> None:
        self.counts[env_id] += 1
        self.counts_by_kind[fault.kind] += 1
        self.needs_replacement[env_id] = True
        if not self._may_warn:
            return
        self._may_warn = False
        # As text: an exception would keep the frames of the environment alive.
        self._warning = (
            f"environment {env_id + (self._first_env_id or 0)} failed: "
            f"{fault.message}\nThe episode of an "
            "environment that fails ends as truncated, with infos['error'], and the "
            "others go on. Later faults give no warning; `fault_counts` has their "
            "number."
        )
        trace = fault.traceback
        if fault.exception is not None:
            trace = format_traceback(fault.exception)
        if trace:
            self._warning += f"\n\n{trace}"

    # ------------------------------------------------- warning and errors

    def warn_once(self) -> None:
        """Warn of the first fault of the pool, unless this was done before."""
        if self._warning:
            message, self._warning = self._warning, ""
            warn_caller(message, EnvironmentFaultWarning)

    def raise_if_needed(self) -> None:
        """Raise an error if a fault shall raise, or all environments are stalled.

        Raises
        ------
        EnvironmentFaultError
        """
        if self.faults_to_raise:
            faults, self.faults_to_raise = self.faults_to_raise, {}
            raise_faults(faults)
        if self._last_fault is not None:
            fault, self._last_fault = self._last_fault, None
            # The error reports the fault.
            self._warning = ""
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


class ProcessRecovery:
    """Decides what becomes of the environments of a worker process that dies.

    The environment whose task was running is lost: its next reset builds a new object.
    The others are restored from their `ReplayLog`, or are lost as well.

    Parameters
    ----------
    attributes : sequence of mapping
        The attributes that the user has set, by environment; see `ReplayLog`.

    Attributes
    ----------
    logs : list of ReplayLog
    snapshot_limit : int
        Largest snapshot of an environment, in bytes.
    """

    def __init__(self, attributes: Sequence[Mapping[str, Any]]) -> None:
        limit = calls_limit(len(attributes))
        self.snapshot_limit = SNAPSHOT_FACTOR * limit
        self.logs = [ReplayLog(one, limit) for one in attributes]
        # By environment without an object: the message of its next fault.
        self._losses: dict[int, str] = {}

    def needs_snapshot(self, task: Task) -> bool:
        """Return whether a snapshot is due before a task."""
        log = self.logs[task.env_id]
        return task.env_id not in self._losses and log.needs_snapshot(task)

    def record(
        self, task: Task, pickled: bytes, value: Any, fault: Fault | None
    ) -> Fault | None:
        """Note a task that a worker has ended; return its fault.

        The step of a lost environment has the fault that lost it.
        """
        env_id, operation = task.env_id, task.operation
        if fault is None:
            self.logs[env_id].record(task, pickled, value)
            if operation in ("build", "reset", "set_state"):
                self._losses.pop(env_id, None)
        elif operation == "restore":
            self._lose(env_id, fault.message)
        elif operation == "snapshot":
            self.logs[env_id].stop_snapshots(fault.message)
        elif operation == "step" and env_id in self._losses:
            return Fault("worker_death", self._losses[env_id])
        return fault

    def record_death(self, task: Task, fault: Fault) -> None:
        """Note the task in which a worker died or was killed."""
        if task.operation == "snapshot":
            self.logs[task.env_id].record_death_in_snapshot(fault.message)
        elif task.operation == "restore":
            self._lose(task.env_id, fault.message)
        else:
            self._losses[task.env_id] = fault.message

    def record_interrupt(self, env_ids: Sequence[int]) -> None:
        """Note that a worker was killed because the caller was interrupted."""
        for env_id in env_ids:
            self._losses[env_id] = "worker death: its process was ended by an interrupt"

    def _lose(self, env_id: int, reason: str) -> None:
        self._losses[env_id] = f"worker death: could not be restored ({reason})"

    def plan_restart(self, env_ids: Sequence[int], tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks of a new worker process.

        Parameters
        ----------
        env_ids : sequence of int
            The environments of the worker.
        tasks : sequence of Task
            The outstanding tasks of the dead worker, in order, without the task in
            which it died.

        Returns
        -------
        list of Task
            The tasks that restore environments, then the outstanding ones.  A seeded
            reset builds its environment itself, so that nothing has to be restored.
        """
        outstanding = []
        unneeded = set(self._losses)
        for task in tasks:
            if task.operation in INTERNAL_TASKS:
                continue
            if task.operation in ("build", "set_state"):
                unneeded.add(task.env_id)
            elif task.operation == "reset" and task.env_id not in self._losses:
                request = task.argument
                if is_seeded(request):
                    attributes = self.logs[task.env_id].attributes
                    request = self_contained(request, attributes)
                    task = task._replace(argument=request)
                if request.replace_env:
                    unneeded.add(task.env_id)
            outstanding.append(task)
        restoring = []
        for env_id in env_ids:
            if env_id in unneeded:
                continue
            log = self.logs[env_id]
            if log.obstacle:
                self._lose(env_id, log.obstacle)
            else:
                restoring.append(Task(env_id, "restore", log.make_plan()))
        return restoring + outstanding
