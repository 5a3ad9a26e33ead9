"""Restore the other environments of a worker process that died.

Their instances died with it.  Each is built again and led to where it was: one that
can resume by its current episode's actions, any other by all actions since its last
seeded reset.  Environments that act on an outside world do so a second time; a worker
for each environment (``workers=num_envs``) leaves nothing to be repeated.  What
`call` changed in an instance is not repeated.

The pool keeps these calls, up to `calls_limit` bytes of each environment.  With more
of them the worker takes a snapshot of the instance, and the calls before it are
dropped.  A snapshot is kept up to `SNAPSHOT_FACTOR` times that size.  Without one, be
it larger or that the instance cannot be pickled, so many bytes of calls are kept; with
more the environment cannot be restored until its next seeded reset: it loses its
episode with the worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roll_vec.pool.env_runner import ResetOrder, Restoration, Task

__all__ = ["SNAPSHOT_FACTOR", "History", "as_rebuilt", "calls_limit"]

# Bytes of calls: of a pool, and of one environment at least and at most.
POOL_BYTES = 64 << 20
MIN_BYTES, MAX_BYTES = 1 << 16, 1 << 20
SNAPSHOT_FACTOR = 16


def calls_limit(num_envs: int) -> int:
    """Return the bytes of pickled calls that a pool keeps of each environment."""
    return min(max(POOL_BYTES // num_envs, MIN_BYTES), MAX_BYTES)


class History:
    """The calls and the snapshot from which one environment can be restored.

    Parameters
    ----------
    attributes : mapping of str to object
        What was set before.
    limit : int
        Bytes of calls after which a snapshot is due.

    Attributes
    ----------
    obstacle : str
        Why the environment cannot be restored; empty where it can.
    """

    def __init__(self, attributes: Mapping[str, Any], limit: int) -> None:
        self.attributes = dict(attributes)
        self._limit = limit
        self._forget()

    def _forget(self) -> None:
        self.obstacle = ""
        self._order: ResetOrder | None = None
        self._snapshot: bytes | None = None
        self._next_snapshot: bytes | None = None
        self._refusal = ""
        self._num_lost = 0
        self._begin()

    def _begin(self) -> None:
        self._first_attributes = dict(self.attributes)
        self._calls: list[bytes] = []
        self._num_bytes = 0
        self._observation: tuple[Any, ...] = ()

    def record(self, task: Task, pickled: bytes, value: Any) -> None:
        """Note a task that succeeded."""
        operation = task.operation
        if operation == "step":
            self._add(pickled)
            self._observation = value[:1]
        elif operation == "reset":
            order: ResetOrder = task.argument
            if order.position is not None or order.seed is not None:
                self._forget()
                self._order = order
            else:
                self._add(pickled)
            self._observation = value[:1]
        elif operation == "set":
            self._add(pickled)
            name, set_to = task.argument
            self.attributes[name] = set_to
        elif operation in ("build", "load"):
            self._forget()
            if operation == "load":
                self._snapshot = task.argument
        elif operation == "snapshot":
            # The snapshot is used from the next call on.  After a restoration the
            # result of that call is compared, because a pickle can lose state.
            self._next_snapshot = value
            self._num_lost = 0

    def _add(self, pickled: bytes) -> None:
        if self.obstacle:
            return
        if self._next_snapshot is not None:
            self._order = None
            self._snapshot, self._next_snapshot = self._next_snapshot, None
            self._begin()
        self._calls.append(pickled)
        self._num_bytes += len(pickled)
        if self._refusal and self._num_bytes > SNAPSHOT_FACTOR * self._limit:
            self.obstacle = (
                f"its history is too long, and there is no snapshot: {self._refusal}"
            )
            self._snapshot = None
            self._begin()

    def is_due(self, task: Task) -> bool:
        """Return whether a snapshot should be taken before a task."""
        if self._num_bytes <= self._limit:
            return False
        if self._refusal or self._next_snapshot is not None:
            return False
        if task.operation == "reset":
            order: ResetOrder = task.argument
            return order.seed is None and order.position is None and not order.rebuild
        return task.operation in ("step", "set")

    def refuse_snapshots(self, why: str) -> None:
        """Take no more snapshots."""
        self._refusal = why

    def lose_snapshot(self, why: str) -> None:
        """Note that a worker died at a snapshot; refuse snapshots the second time."""
        self._num_lost += 1
        if self._num_lost > 1:
            self.refuse_snapshots(why)

    def restoration(self) -> Restoration:
        """Return how the environment is restored; only where that is possible."""
        order = self._order
        if order is not None:
            order = as_rebuilt(order, self._first_attributes)
            if order.position is not None:
                order = order._replace(seed=None)
        return Restoration(
            order,
            self._first_attributes,
            list(self._calls),
            self._observation,
            self._snapshot,
        )


def as_rebuilt(order: ResetOrder, attributes: dict[str, Any]) -> ResetOrder:
    """Return a reset that needs nothing of the instance before."""
    return order._replace(rebuild=True, attributes=dict(attributes))
