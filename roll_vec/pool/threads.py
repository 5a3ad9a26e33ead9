"""Worker threads: for environments that wait, for a network or another process.

A thread cannot be stopped.  If its task takes too long, the thread is abandoned: it is
a daemon thread, nobody waits for it, its result is thrown away, and it ends when its
task does.  Code that holds the interpreter lock and never returns cannot be timed out
by threads at all; processes can do that.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from roll_vec.pool.env_runner import EnvRunner
from roll_vec.pool.tasks import EnvFns, Fault, Outcome, Task
from roll_vec.pool.worker_queue import QueuedWorkers, WorkerQueue


class ThreadQueue(WorkerQueue):
    """The queue of one worker thread, and its environment objects.

    Attributes
    ----------
    num_posted, num_received : int
        Results that the thread has put into the outbox, and those taken out of it.
    last_posted, last_sent : Task or None
        The last task with such a result, and the last task that the thread got.
    is_abandoned : bool
        The result of the current task is not wanted; the thread shall end after it.
        Changes under ``lock``, as do ``num_posted`` and ``last_posted``.
    is_stopping : bool
        The thread shall close its environments and end.
    """

    def __init__(self, index: int, env_ids: range, runner: EnvRunner) -> None:
        super().__init__(index, env_ids)
        self.start_time = time.monotonic()
        self.runner = runner
        self.inbox: SimpleQueue[Task | None] = SimpleQueue()
        self.lock = threading.Lock()
        self.num_posted = 0
        self.num_received = 0
        self.last_posted: Task | None = None
        self.last_sent: Task | None = None
        self.is_abandoned = False
        self.is_stopping = False
        self.thread: threading.Thread | None = None


# None ends a wait for results.
Outbox = SimpleQueue[tuple[ThreadQueue, Task, Any, "Fault | None"] | None]


def _run_worker(queue: ThreadQueue, outbox: Outbox) -> None:
    """Run the tasks of a queue; the thread's main function."""
    runner = queue.runner
    while True:
        task = queue.inbox.get()
        if task is None or queue.is_stopping:
            runner.close_all()
            return
        value, fault = runner.run(task)
        with queue.lock:
            if not queue.is_abandoned:
                queue.num_posted += 1
                queue.last_posted = task
                outbox.put((queue, task, value, fault))
                # Otherwise the result and its arrays would live until the next task.
                del value, fault
                continue
        # The successor of this thread has the other environments.
        runner.close(task.env_id)
        return


def _start_thread(queue: ThreadQueue, outbox: Outbox) -> None:
    queue.thread = threading.Thread(
        target=_run_worker,
        args=(queue, outbox),
        name=f"roll_vec-pool-{queue.index}",
        daemon=True,
    )
    queue.thread.start()


def _stop_threads(
    queues: Sequence[ThreadQueue], patience: float, process_id: int
) -> int:
    """End the threads; return the number of those that did not end in time."""
    if os.getpid() != process_id:
        return 0  # a fork has none of the threads
    for queue in queues:
        queue.is_stopping = True
        queue.inbox.put(None)
    end = time.monotonic() + patience
    num_alive = 0
    for queue in queues:
        thread = queue.thread
        if thread is None or thread is threading.current_thread():
            continue
        if patience:
            thread.join(max(end - time.monotonic(), 0.0))
        if thread.is_alive():
            num_alive += 1
    return num_alive


class ThreadWorkers(QueuedWorkers[ThreadQueue]):
    """Daemon threads; each environment object is touched by one thread only.

    Parameters
    ----------
    env_fns : sequence of callable
    num_workers : int
    time_limits : mapping of str to float
    """

    def __init__(
        self, env_fns: EnvFns, num_workers: int, time_limits: Mapping[str, float]
    ) -> None:
        super().__init__(time_limits)
        self._outbox: Outbox = SimpleQueue()
        self._queues = []
        for index in range(num_workers):
            env_ids = range(index, len(env_fns), num_workers)
            runner = EnvRunner({env_id: env_fns[env_id] for env_id in env_ids})
            self._queues.append(ThreadQueue(index, env_ids, runner))
        # Neither this callback nor the threads refer to the pool: that would keep the
        # pool alive.
        self._finalizer = weakref.finalize(
            self, _stop_threads, self._queues, 0.0, self._process_id
        )
        for queue in self._queues:
            _start_thread(queue, self._outbox)

    def runner_of(self, env_id: int) -> EnvRunner:
        """Return the runner of an environment."""
        return self._queues[env_id % len(self._queues)].runner

    def _send(self, queue: ThreadQueue, task: Task) -> None:
        queue.inbox.put(task)
        queue.last_sent = task

    def _poll(self, seconds: float | None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            if seconds == 0:
                message = self._outbox.get_nowait()
            else:
                message = self._outbox.get(timeout=seconds)
            while True:
                if message is not None:
                    queue, task, value, fault = message
                    queue.num_received += 1
                    # Otherwise `drop` has removed the task.
                    if queue.tasks and queue.tasks[0] is task:
                        outcomes += self._finish(queue, value, fault)
                message = self._outbox.get_nowait()
        except Empty:
            return outcomes

    def _end_poll(self) -> None:
        self._outbox.put(None)

    def _stop_task(self, queue: ThreadQueue, fault: Fault) -> list[Outcome]:
        """Abandon a thread, and start another one for its other environments."""
        with queue.lock:
            if queue.num_posted != queue.num_received:
                return []  # the result has just been posted
            queue.is_abandoned = True
        self.abandoned_threads += 1
        env_id = queue.tasks[0].env_id
        outcomes = self._finish(queue, None, fault)
        runner = EnvRunner(queue.runner.env_fns)
        runner.envs = dict(queue.runner.envs)
        runner.envs.pop(env_id, None)
        successor = ThreadQueue(queue.index, queue.env_ids, runner)
        successor.num_dropped = queue.num_dropped
        self._queues[queue.index] = successor
        for task in queue.tasks:
            self._enqueue(successor, task)
        _start_thread(successor, self._outbox)
        return outcomes

    def drop(self) -> list[int]:
        """Drop all outstanding tasks; the threads run them all the same."""
        for queue in self._queues:
            with queue.lock:
                self._poll(0)
                self._drop_half_handled(queue)
            queue.num_dropped = len(queue.tasks)
        return []

    def _drop_half_handled(self, queue: ThreadQueue) -> None:
        """Remove the tasks that an interrupt left half handled: no result will come.

        An interrupt can come between the entry of a task and its sending, or between
        the arrival of a result and the removal of its task.
        """
        queue.num_received = queue.num_posted
        if any(task is queue.last_posted for task in queue.tasks):
            while queue.tasks.popleft() is not queue.last_posted:
                pass
            queue.start_time = time.monotonic()
        if queue.tasks and queue.tasks[-1] is not queue.last_sent:
            queue.tasks.pop()

    def close(self, patience: float) -> None:
        """Close the environments in their threads, and end the threads."""
        if self._finalizer.detach() is not None:
            self.abandoned_threads += _stop_threads(
                self._queues, patience, self._process_id
            )
