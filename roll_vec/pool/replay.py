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

from collections.abc import Mapping
from typing import Any

from roll_vec.pool.snapshots import EnvSnapshot
from roll_vec.pool.tasks import ReplayPlan, ResetRequest, Task
from roll_vec.vector.packed_values import LOST

__all__ = ["SNAPSHOT_FACTOR", "ReplayLog", "calls_limit", "self_contained"]

# Bytes of calls: of a pool, and of one environment at least and at most.
POOL_BYTES = 64 << 20
MIN_BYTES, MAX_BYTES = 1 << 16, 1 << 20
SNAPSHOT_FACTOR = 16


def calls_limit(num_envs: int) -> int:
    """Return the bytes of pickled calls that a pool keeps of each environment."""
    return min(max(POOL_BYTES // num_envs, MIN_BYTES), MAX_BYTES)


class ReplayLog:
    """The calls and the snapshot from which one environment can be restored.

    Parameters
    ----------
    attributes : mapping of str to object
        The attributes that the user has set so far.  It belongs to `EnvHandles`,
        which adds an attribute after `record` got the task that sets it.
    limit : int
        Bytes of calls that make a snapshot due.

    Attributes
    ----------
    obstacle : str
        The reason why the environment cannot be restored; empty if it can.
    """

    def __init__(self, attributes: Mapping[str, Any], limit: int) -> None:
        self.attributes = attributes
        self._limit = limit
        self._clear()

    def _clear(self) -> None:
        """Begin a new log: what was before is not needed any longer."""
        self.obstacle = ""
        self._reset: ResetRequest | None = None
        self._snapshot: EnvSnapshot | None = None
        self._next_snapshot: EnvSnapshot | None = None
        self._no_snapshots_because = ""
        self._deaths_in_snapshots = 0
        self._clear_calls()

    def _clear_calls(self) -> None:
        self._first_attributes = dict(self.attributes)
        self._calls: list[bytes] = []
        self._num_bytes = 0
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
        operation = task.operation
        if operation == "step":
            self._add(pickled)
            self._observation = value[:1]
        elif operation == "reset":
            if is_seeded(task.argument):
                self._clear()
                self._reset = task.argument
            else:
                self._add(pickled)
            self._observation = value[:1]
        elif operation == "set":
            self._add(pickled)
        elif operation == "build":
            self._clear()
        elif operation == "set_state":
            self._clear()
            self._snapshot = task.argument.snapshot
            if self._snapshot.kind == LOST:
                self.obstacle = "it was lost before"
        elif operation == "snapshot":
            # Used from the next call on.  A restoration then compares the result of
            # that call, because an object can lose state in its pickle.
            self._next_snapshot = value
            self._deaths_in_snapshots = 0

    def _add(self, pickled: bytes) -> None:
        if self.obstacle:
            return
        if self._next_snapshot is not None:
            self._reset = None
            self._snapshot, self._next_snapshot = self._next_snapshot, None
            self._clear_calls()
        self._calls.append(pickled)
        self._num_bytes += len(pickled)
        max_bytes = SNAPSHOT_FACTOR * self._limit
        if self._no_snapshots_because and self._num_bytes > max_bytes:
            self.obstacle = (
                "its history is too long, and there is no snapshot: "
                f"{self._no_snapshots_because}"
            )
            self._snapshot = None
            self._clear_calls()

    def needs_snapshot(self, task: Task) -> bool:
        """Return whether a snapshot is due before a task."""
        if self._num_bytes <= self._limit:
            return False
        if self._no_snapshots_because or self._next_snapshot is not None:
            return False
        if task.operation == "reset":
            return not is_seeded(task.argument) and not task.argument.replace_env
        return task.operation in ("step", "set")

    def stop_snapshots(self, reason: str) -> None:
        """Take no more snapshots."""
        self._no_snapshots_because = reason

    def record_death_in_snapshot(self, reason: str) -> None:
        """Note that the worker died in a snapshot; the second time is the last one."""
        self._deaths_in_snapshots += 1
        if self._deaths_in_snapshots > 1:
            self.stop_snapshots(reason)

    def make_plan(self) -> ReplayPlan:
        """Return how to restore the environment; there must be no obstacle."""
        reset = self._reset
        if reset is not None:
            reset = self_contained(reset, self._first_attributes)
            if reset.position is not None:
                reset = reset._replace(seed=None)
        return ReplayPlan(
            reset,
            self._first_attributes,
            list(self._calls),
            self._observation,
            self._snapshot,
        )


def is_seeded(request: ResetRequest) -> bool:
    """Return whether a reset leads to the same state whatever was before it."""
    return request.seed is not None or request.position is not None


def self_contained(
    request: ResetRequest, attributes: Mapping[str, Any]
) -> ResetRequest:
    """Return a seeded reset that builds the environment object, too."""
    return request._replace(replace_env=True, attributes=dict(attributes))
