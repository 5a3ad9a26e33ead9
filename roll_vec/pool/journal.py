"""The calls from which an environment is restored when its worker process dies.

All environment objects of a process die with it.  Each one is built again, and its
calls are repeated.  If the environment can resume, these are the actions of its current
episode; otherwise they are all actions since its last seeded reset.  An environment
that acts on an outside world does so a second time; a worker for each environment
(``workers=num_envs``) leaves nothing to repeat.  Changes that `call` made to the object
are not repeated.

The pool keeps these calls, `calls_limit` bytes for each environment::

    seeded reset ─ calls ─ calls ─ ...            up to the limit
                               ╰─ snapshot ─ calls ─ calls ─ ...
    set_state ─── calls ─ ...         the calls before it are dropped

At the limit the worker takes a snapshot: it pickles the environment.  A snapshot may
have `SNAPSHOT_FACTOR` times the limit.  If it is larger, or the object cannot be
pickled, the calls may have `SNAPSHOT_FACTOR` times the limit.  With more calls the
environment cannot be restored until its next seeded reset: it loses its episode with
the worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roll_vec.pool.snapshots import EnvSnapshot
from roll_vec.pool.tasks import Fault, ReplayPlan, ResetRequest, Task
from roll_vec.vector.columns import LOST

# Bytes of calls: of a pool, and of one environment at least and at most.
POOL_BYTES = 64 << 20
MIN_BYTES, MAX_BYTES = 1 << 16, 1 << 20
SNAPSHOT_FACTOR = 16
# Tasks that worker processes get from the pool itself; nobody waits for the outcomes.
INTERNAL_TASKS = ("restore", "snapshot")


def calls_limit(num_envs: int) -> int:
    """Return the bytes of pickled calls that a pool keeps of each environment."""
    return min(max(POOL_BYTES // num_envs, MIN_BYTES), MAX_BYTES)


class EnvJournal:
    """The calls and the snapshot from which one environment can be restored.

    Parameters
    ----------
    attributes : mapping of str to object
        The attributes that the user has set so far.  It belongs to `Member`, which gets
        an attribute after `record` got the task that sets it.
    limit : int
        Bytes of calls that make a snapshot due.

    Attributes
    ----------
    base : ResetRequest, EnvSnapshot or None
        The seeded reset or the snapshot that the calls follow; None: a new object.
    calls : list of bytes
        All calls since, pickled, in order.
    size : int
        Their bytes.
    no_snapshots_because : str
        The reason why there are none until the next seeded reset; empty if there are.
    obstacle : str
        The reason why the environment cannot be restored; empty if it can.
    """

    def __init__(self, attributes: Mapping[str, Any], limit: int) -> None:
        self.attributes = attributes
        self._limit = limit
        self._begin(None)

    def _begin(self, base: ResetRequest | EnvSnapshot | None) -> None:
        """Begin anew: what was before is not needed any longer."""
        self.obstacle = ""
        self._next_snapshot: EnvSnapshot | None = None
        self.no_snapshots_because = ""
        self._rebase(base)

    def _rebase(self, base: ResetRequest | EnvSnapshot | None) -> None:
        """Begin at another base, with no calls."""
        self.base = base
        self.calls: list[bytes] = []
        self.size = 0
        self._first_attributes = dict(self.attributes)
        self._observation: tuple[Any, ...] = ()

    def record(self, task: Task, pickled: bytes, value: Any) -> None:
        """Add a task that succeeded.

        Parameters
        ----------
        task : Task
        pickled : bytes
            The task.
        value : object
            Its result.
        """
        _, operation, argument = task
        if operation == "reset" and is_seeded(argument):
            self._begin(argument)
        elif operation in ("step", "reset", "set"):
            self._add(pickled)
        elif operation == "build":
            self._begin(None)
        elif operation == "set_state":
            self._begin(argument.snapshot)
            if argument.snapshot.kind == LOST:
                self.obstacle = "it was lost before"
        elif operation == "snapshot":
            # Used from the next call on.  A restoration then compares the result of
            # that call, because an object can lose state in its pickle.
            self._next_snapshot = value
        if operation in ("step", "reset"):
            self._observation = value[:1]

    def _add(self, pickled: bytes) -> None:
        if self.obstacle:
            return
        if self._next_snapshot is not None:
            self._rebase(self._next_snapshot)
            self._next_snapshot = None
        self.calls.append(pickled)
        self.size += len(pickled)
        if self.no_snapshots_because and self.size > SNAPSHOT_FACTOR * self._limit:
            self.obstacle = (
                "its history is too long, and there is no snapshot: "
                f"{self.no_snapshots_because}"
            )
            self._rebase(None)

    def needs_snapshot(self, task: Task) -> bool:
        """Return whether a snapshot is due before a task."""
        if self.size <= self._limit:
            return False
        if self.no_snapshots_because or self._next_snapshot is not None:
            return False
        _, operation, argument = task
        if operation == "reset":
            return not is_seeded(argument) and not argument.replace_env
        return operation in ("step", "set")

    def make_plan(self) -> ReplayPlan:
        """Return how to restore the environment; there must be no obstacle."""
        base = self.base
        if isinstance(base, ResetRequest):
            base = self_contained(base, self._first_attributes)
            if base.position is not None:
                base = base._replace(seed=None)
        return ReplayPlan(
            base, self._first_attributes, list(self.calls), self._observation
        )


def is_seeded(request: ResetRequest) -> bool:
    """Return whether a reset leads to the same state whatever was before it."""
    return request.seed is not None or request.position is not None


def self_contained(
    request: ResetRequest, attributes: Mapping[str, Any]
) -> ResetRequest:
    """Return a seeded reset that builds the environment object, too."""
    return request._replace(replace_env=True, attributes=dict(attributes))


class ProcessRecovery:
    """Decides what becomes of the environments of a worker process that dies.

    The environment whose task was running is lost: its next reset builds a new object.
    The others are restored from their `EnvJournal`, or are lost as well.

    Parameters
    ----------
    attributes : sequence of mapping
        The attributes that the user has set, by environment; see `EnvJournal`.

    Attributes
    ----------
    journals : list of EnvJournal
    snapshot_limit : int
        Largest snapshot of an environment, in bytes.
    """

    def __init__(self, attributes: Sequence[Mapping[str, Any]]) -> None:
        limit = calls_limit(len(attributes))
        self.snapshot_limit = SNAPSHOT_FACTOR * limit
        self.journals = [EnvJournal(one, limit) for one in attributes]
        # By environment without an object: the message of its next fault.
        self._losses: dict[int, str] = {}

    def needs_snapshot(self, task: Task) -> bool:
        """Return whether a snapshot is due before a task."""
        env_id = task[0]
        is_lost = env_id in self._losses
        return not is_lost and self.journals[env_id].needs_snapshot(task)

    def record(
        self, task: Task, pickled: bytes, value: Any, fault: Fault | None
    ) -> Fault | None:
        """Note a task that a worker has ended; return its fault.

        The step of a lost environment has the fault that lost it.
        """
        env_id, operation, _ = task
        if fault is None:
            self.journals[env_id].record(task, pickled, value)
            if operation in ("build", "reset", "set_state"):
                self._losses.pop(env_id, None)
        elif operation == "restore":
            self._lose(env_id, fault.message)
        elif operation == "snapshot":
            self.journals[env_id].no_snapshots_because = fault.message
        elif operation == "step" and env_id in self._losses:
            return Fault("worker_death", self._losses[env_id])
        return fault

    def record_death(self, task: Task, fault: Fault) -> None:
        """Note the task in which a worker died or was killed."""
        env_id, operation, _ = task
        if operation == "snapshot":
            self.journals[env_id].no_snapshots_because = fault.message
        elif operation == "restore":
            self._lose(env_id, fault.message)
        else:
            self._losses[env_id] = fault.message

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
        outstanding: list[Task] = []
        unneeded = set(self._losses)
        for env_id, operation, argument in tasks:
            if operation in INTERNAL_TASKS:
                continue
            if operation in ("build", "set_state"):
                unneeded.add(env_id)
            elif operation == "reset" and env_id not in self._losses:
                if is_seeded(argument):
                    attributes = self.journals[env_id].attributes
                    argument = self_contained(argument, attributes)
                if argument.replace_env:
                    unneeded.add(env_id)
            outstanding.append((env_id, operation, argument))
        restoring: list[Task] = []
        for env_id in env_ids:
            if env_id in unneeded:
                continue
            journal = self.journals[env_id]
            if journal.obstacle:
                self._lose(env_id, journal.obstacle)
            else:
                restoring.append((env_id, "restore", journal.make_plan()))
        return restoring + outstanding
