"""Queues of tasks, one for each worker, and the time limits of the tasks.

Worker threads and worker processes build on it.
"""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from roll_vec.errors import RollVecError
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.tasks import EnvFns, Fault, Outcome, Outcomes, Task, group_outcomes
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
    start_time : float or None
        The first task, or the worker itself, started at this time or before, by
        `time.monotonic`; None: no worker has started.
    """

    def __init__(self, index: int, env_ids: range) -> None:
        self.index = index
        self.env_ids = env_ids
        self.tasks: deque[Task] = deque()
        self.start_time: float | None = None

    @property
    def operation(self) -> str:
        """The operation that the worker is running."""
        return self.tasks[0][1]


Queue = TypeVar("Queue", bound=WorkerQueue)


class QueuedWorkers(Workers, Generic[Queue]):
    """Workers with a queue each: environment i always belongs to worker ``i % n``.

    A time limit counts the running time of the task alone.  A task starts when the
    outcome of the one before it arrives.  A caller who was away for long therefore
    finds a timeout late, but never too early.

    Parameters
    ----------
    env_fns : sequence of callable
    options : PoolOptions
    """

    are_others = True
    _exit_patience: ClassVar[float]
    """Seconds that the end of the program waits for workers."""
    _queues: list[Queue]

    def __init__(self, env_fns: EnvFns, options: PoolOptions) -> None:
        self._env_fns, self._time_limits = env_fns, options.time_limits
        self._process_id = os.getpid()
        self._is_woken = False
        self._queues = []
        # Neither this callback nor the workers refer to the pool: that would keep the
        # pool alive.
        arguments = self._queues, self._exit_patience, self._process_id
        self._finalizer = weakref.finalize(self, self._stop, *arguments)
        count = min(options.workers, len(env_fns))
        for index in range(count):
            env_ids = range(index, len(env_fns), count)
            self._queues.append(self._make_queue(index, env_ids))

    # A subclass has these six.

    def _make_queue(self, index: int, env_ids: range) -> Queue:
        """Return the queue of a worker, which may start at once."""
        raise NotImplementedError

    @staticmethod
    def _stop(queues: Sequence[Any], patience: float, process_id: int) -> None:
        """End the workers; a fork of the process with this number has none."""
        raise NotImplementedError

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

    def submit(
        self, operation: str, env_ids: Sequence[int], arguments: Sequence[Any]
    ) -> None:
        """Accept tasks; see `Workers.submit`."""
        if os.getpid() != self._process_id:
            message = (
                "a pool with workers cannot be used in a fork of the process that "
                "made it: make the pool in the process that steps it"
            )
            raise RollVecError(message)
        for env_id, argument in zip(env_ids, arguments, strict=True):
            queue = self._queues[env_id % len(self._queues)]
            self._enqueue(queue, (env_id, operation, argument))

    def _enqueue(self, queue: Queue, task: Task) -> None:
        if not queue.tasks and queue.start_time is not None:
            queue.start_time = time.monotonic()
        queue.tasks.append(task)
        self._send(queue, task)

    def _finish(self, queue: Queue, value: Any) -> Outcome:
        """Remove the first task, and return its outcome."""
        env_id, operation, _ = queue.tasks.popleft()
        queue.start_time = time.monotonic()
        return env_id, operation, value

    def collect(
        self,
        timeout: float | None = None,
        count: int | None = None,
    ) -> list[Outcomes]:
        """Return the outcomes that are ready; see `Workers.collect`."""
        self.flush()
        end = None if timeout is None else time.monotonic() + timeout
        seconds: float | None = 0.0
        outcomes: list[Outcome] = []
        while any(queue.tasks for queue in self._queues):
            # Results that have arrived are in time, however late the caller looks.
            outcomes += self._poll(seconds) or self._stop_late_tasks()
            if (outcomes and count) or self._is_woken:
                self._is_woken = False
                break
            if end is not None and time.monotonic() >= end:
                break
            deadlines = [*map(self._deadline, self._queues), end]
            moments = [moment for moment in deadlines if moment is not None]
            seconds = None
            if moments:
                seconds = max(min(moments) - time.monotonic(), 0.0)
        return group_outcomes(outcomes)

    def _deadline(self, queue: Queue) -> float | None:
        """Return the time until which the first task of a queue may run."""
        if not self._time_limits or not queue.tasks or queue.start_time is None:
            return None
        limit = self._time_limits.get(queue.operation)
        return None if limit is None else queue.start_time + limit

    def _stop_late_tasks(self) -> list[Outcome]:
        """Stop the tasks that have run too long; return the outcomes."""
        outcomes: list[Outcome] = []
        now = time.monotonic()
        for queue in list(self._queues):
            deadline = self._deadline(queue)
            if deadline is not None and deadline <= now:
                limit = self._time_limits[queue.operation]
                message = f"timeout: {queue.operation} took longer than {limit:g} s"
                outcomes += self._stop_task(queue, Fault(message))
        return outcomes

    def close(self, patience: float) -> None:
        """Close the environments in their workers, and end the workers."""
        if self._finalizer.detach() is not None:
            self._stop(self._queues, patience, self._process_id)
