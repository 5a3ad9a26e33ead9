"""Who runs the tasks of a pool: the seam, and queues with time limits."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import gymnasium

from roll_vec.errors import RollVecError
from roll_vec.pool.env_runner import Fault, Task

__all__ = ["EnvFns", "Lane", "Outcome", "QueuedWorkers", "Workers"]

EnvFns = Sequence[Callable[[], gymnasium.Env[Any, Any]]]


class Outcome(NamedTuple):
    """What became of a task."""

    task: Task
    value: Any
    fault: Fault | None


class Workers:
    """Runs the tasks of each environment in the order of submission."""

    abandoned_threads = 0

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
        """Return outcomes as they come; wait for the first one.

        Parameters
        ----------
        timeout : float or None
            Seconds after which an empty list is returned; None: as long as it takes.
            Without outstanding tasks the list is empty at once.
        """
        raise NotImplementedError

    def drop(self) -> list[int]:
        """Give up all that is outstanding; return the rows that lost their instance."""
        raise NotImplementedError

    def close(self, patience: float) -> None:
        """Close the environments and end the workers.

        Parameters
        ----------
        patience : float
            Seconds until workers that are busy are killed or abandoned.
        """
        raise NotImplementedError


class Lane:
    """The queue of one worker; what the pool knows of it.

    Attributes
    ----------
    queue : deque of Task
        Outstanding, in order; the worker is at the first one.
    num_dropped : int
        So many from the left are nobody's any longer.
    began : float or None
        When the first one began at the latest, by `time.monotonic`; None while the
        worker is starting.
    """

    def __init__(self, index: int, rows: range) -> None:
        self.index = index
        self.rows = rows
        self.queue: deque[Task] = deque()
        self.num_dropped = 0
        self.began: float | None = None


AnyLane = TypeVar("AnyLane", bound=Lane)


class QueuedWorkers(Workers, Generic[AnyLane]):
    """Workers with a queue each: environment i belongs to worker ``i % n`` for good.

    A time limit counts the running time of the task itself.  When a task of a queue
    began is known from when the outcome of the one before arrived: a caller who was
    away for long finds it late, but never too early.

    Parameters
    ----------
    time_limits : mapping of str to float
        Seconds by operation.
    """

    _lanes: list[AnyLane]

    def __init__(self, time_limits: Mapping[str, float]) -> None:
        self._limits = dict(time_limits)
        self._process = os.getpid()

    def _send(self, lane: AnyLane, task: Task) -> None:
        """Hand a task to its worker."""
        raise NotImplementedError

    def _poll(self, seconds: float | None) -> list[Outcome]:
        """Wait for outcomes, and return those that have arrived."""
        raise NotImplementedError

    def _give_up(self, lane: AnyLane, fault: Fault) -> list[Outcome]:
        """End the task that a worker is at, unless it has just ended."""
        raise NotImplementedError

    @property
    def num_outstanding(self) -> int:
        """Number of tasks whose outcomes `collect` has not returned."""
        return sum(len(lane.queue) - lane.num_dropped for lane in self._lanes)

    def submit(self, task: Task) -> None:
        """Take a task."""
        if os.getpid() != self._process:
            message = (
                "a pool with workers cannot be used in a fork of the process that "
                "made it: make the pool in the process that steps it"
            )
            raise RollVecError(message)
        lane = self._lanes[task.row % len(self._lanes)]
        self._enqueue(lane, task)

    def _enqueue(self, lane: AnyLane, task: Task) -> None:
        if not lane.queue and lane.began is not None:
            lane.began = time.monotonic()
        lane.queue.append(task)
        self._send(lane, task)

    def _finish(self, lane: AnyLane, value: Any, fault: Fault | None) -> list[Outcome]:
        """Take the first task off a queue; return its outcome if anybody wants it."""
        task = lane.queue.popleft()
        lane.began = time.monotonic()
        if lane.num_dropped:
            lane.num_dropped -= 1
            return []
        return [Outcome(task, value, fault)]

    def collect(self, timeout: float | None = None) -> list[Outcome]:
        """Return outcomes as they come; see `Workers.collect`."""
        self.flush()
        end = None if timeout is None else time.monotonic() + timeout
        while self.num_outstanding:
            # What has arrived is taken before any time limit is looked at.
            outcomes = self._poll(0) or self._expire()
            if outcomes:
                return outcomes
            ends = [self._deadline(lane) for lane in self._lanes] + [end]
            soonest = min(
                (moment for moment in ends if moment is not None), default=None
            )
            seconds = None
            if soonest is not None:
                seconds = max(soonest - time.monotonic(), 0.0)
            outcomes = self._poll(seconds)
            if outcomes:
                return outcomes
            if end is not None and time.monotonic() >= end:
                break
        return []

    def _time_limit(self, task: Task) -> float | None:
        return self._limits.get(task.operation)

    def _deadline(self, lane: AnyLane) -> float | None:
        """Return when the task that a worker is at must have ended."""
        if not self._limits or not lane.queue or lane.began is None:
            return None
        limit = self._time_limit(lane.queue[0])
        return None if limit is None else lane.began + limit

    def _expire(self) -> list[Outcome]:
        """Give up tasks that have taken too long; return what came of that."""
        outcomes: list[Outcome] = []
        now = time.monotonic()
        for lane in list(self._lanes):
            deadline = self._deadline(lane)
            if deadline is not None and deadline <= now:
                task = lane.queue[0]
                message = (
                    f"timeout: {task.operation} took longer than "
                    f"{self._time_limit(task):g} s"
                )
                outcomes += self._give_up(lane, Fault("timeout", message))
        return outcomes
