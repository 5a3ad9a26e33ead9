"""Queues of tasks, one for each worker, and the time limits of the tasks.

Worker threads and worker processes build on it.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from roll_vec.errors import RollVecError
from roll_vec.pool.tasks import Fault, Outcome, Task
from roll_vec.pool.workers import Workers


class WorkerQueue:
    """The outstanding tasks of one worker.

    Attributes
    ----------
    index : int
        Number of the worker.
    env_ids : range
        The environments of the worker.
    tasks : deque of Task
        In order; the worker is running the first one.
    num_dropped : int
        The outcomes of the first so many tasks are thrown away.
    start_time : float or None
        The first task started at this time or before, by `time.monotonic`; None while
        the worker is starting.
    """

    def __init__(self, index: int, env_ids: range) -> None:
        self.index = index
        self.env_ids = env_ids
        self.tasks: deque[Task] = deque()
        self.num_dropped = 0
        self.start_time: float | None = None


Queue = TypeVar("Queue", bound=WorkerQueue)


class QueuedWorkers(Workers, Generic[Queue]):
    """Workers with a queue each: environment i always belongs to worker ``i % n``.

    A time limit counts the running time of the task alone.  A task starts when the
    outcome of the one before it arrives.  A caller who was away for long therefore
    finds a timeout late, but never too early.

    Parameters
    ----------
    time_limits : mapping of str to float
        Seconds by operation.
    """

    _queues: list[Queue]

    def __init__(self, time_limits: Mapping[str, float]) -> None:
        self._time_limits = dict(time_limits)
        self._process_id = os.getpid()
        self._is_woken = False

    # A subclass has these four.

    def _send(self, queue: Queue, task: Task) -> None:
        """Hand a task to its worker."""
        raise NotImplementedError

    def _poll(self, seconds: float | None) -> list[Outcome]:
        """Wait for outcomes, and return those that have arrived."""
        raise NotImplementedError

    def _end_poll(self) -> None:
        """Let `_poll` in another thread, or the next one, return early."""
        raise NotImplementedError

    def _stop_task(self, queue: Queue, fault: Fault) -> list[Outcome]:
        """Stop the first task of a queue with a fault, unless it has just ended."""
        raise NotImplementedError

    def wake(self) -> None:
        """Let `collect` in another thread return; see `Workers.wake`."""
        self._is_woken = True
        self._end_poll()

    @property
    def num_outstanding(self) -> int:
        """Number of tasks whose outcomes `collect` has not returned."""
        return sum(len(queue.tasks) - queue.num_dropped for queue in self._queues)

    def submit(self, task: Task) -> None:
        """Take a task."""
        if os.getpid() != self._process_id:
            message = (
                "a pool with workers cannot be used in a fork of the process that "
                "made it: make the pool in the process that steps it"
            )
            raise RollVecError(message)
        self._enqueue(self._queues[task.env_id % len(self._queues)], task)

    def _enqueue(self, queue: Queue, task: Task) -> None:
        if not queue.tasks and queue.start_time is not None:
            queue.start_time = time.monotonic()
        queue.tasks.append(task)
        self._send(queue, task)

    def _finish(self, queue: Queue, value: Any, fault: Fault | None) -> list[Outcome]:
        """Remove the first task; return its outcome unless it was dropped."""
        task = queue.tasks.popleft()
        queue.start_time = time.monotonic()
        if queue.num_dropped:
            queue.num_dropped -= 1
            return []
        return [Outcome(task, value, fault)]

    def collect(self, timeout: float | None = None) -> list[Outcome]:
        """Return the outcomes that are ready; see `Workers.collect`."""
        self.flush()
        end = None if timeout is None else time.monotonic() + timeout
        while self.num_outstanding:
            # Results that have arrived are in time, however late the caller looks.
            outcomes = self._poll(0) or self._stop_late_tasks()
            if outcomes or self._is_woken:
                self._is_woken = False
                return outcomes
            deadlines = [self._deadline(queue) for queue in self._queues] + [end]
            soonest = min(
                (moment for moment in deadlines if moment is not None), default=None
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
        """Return the seconds that a task may run."""
        return self._time_limits.get(task.operation)

    def _deadline(self, queue: Queue) -> float | None:
        """Return the time until which the first task of a queue may run."""
        if not self._time_limits or not queue.tasks or queue.start_time is None:
            return None
        limit = self._time_limit(queue.tasks[0])
        return None if limit is None else queue.start_time + limit

    def _stop_late_tasks(self) -> list[Outcome]:
        """Stop the tasks that have run too long; return the outcomes."""
        outcomes: list[Outcome] = []
        now = time.monotonic()
        for queue in list(self._queues):
            deadline = self._deadline(queue)
            if deadline is not None and deadline <= now:
                task = queue.tasks[0]
                message = (
                    f"timeout: {task.operation} took longer than "
                    f"{self._time_limit(task):g} s"
                )
                outcomes += self._stop_task(queue, Fault("timeout", message))
        return outcomes
