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
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any

import gymnasium

from roll_vec.pool.env_runner import EnvRunner
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.tasks import EnvFns, Fault, Outcome, Task
from roll_vec.pool.worker_queue import QueuedWorkers, WorkerQueue

# None ends a wait for results.
Outbox = SimpleQueue[tuple["ThreadQueue", Any] | None]


class ThreadQueue(WorkerQueue):
    """The queue of one worker thread, and its environment objects.

    Parameters
    ----------
    index : int
    env_ids : range
    runner : EnvRunner
    outbox : SimpleQueue
        The thread puts its results there.

    Attributes
    ----------
    is_abandoned : bool
        The result of the current task is not wanted; the thread shall close its
        environments after it, and end.  While results are wanted, it changes under
        ``lock``, and so does the outbox.
    """

    def __init__(
        self, index: int, env_ids: range, runner: EnvRunner, outbox: Outbox
    ) -> None:
        super().__init__(index, env_ids)
        self.start_time = time.monotonic()
        self.runner = runner
        self.inbox: SimpleQueue[Task | None] = SimpleQueue()
        self.lock = threading.Lock()
        self.outbox = outbox
        self.is_abandoned = False
        name = f"roll_vec-pool-{index}"
        self.thread = threading.Thread(
            target=_run_worker, args=(self,), name=name, daemon=True
        )
        self.thread.start()

    def post(self, value: Any) -> None:
        """Put a result into the outbox, if it is wanted."""
        with self.lock:
            if not self.is_abandoned:
                self.outbox.put((self, value))

    def abandon(self) -> None:
        """Let the thread end after its current task."""
        self.is_abandoned = True
        self.inbox.put(None)


def _run_worker(queue: ThreadQueue) -> None:
    """Run the tasks of a queue; the thread's main function."""
    while (task := queue.inbox.get()) is not None and not queue.is_abandoned:
        queue.post(queue.runner.run(task))
    queue.runner.close_all()


class ThreadWorkers(QueuedWorkers[ThreadQueue]):
    """Daemon threads; each environment object is touched by one thread only.

    Parameters
    ----------
    env_fns, options
        See `QueuedWorkers`.
    """

    _exit_patience = 0.0

    def __init__(self, env_fns: EnvFns, options: PoolOptions) -> None:
        self._outbox: Outbox = SimpleQueue()
        super().__init__(env_fns, options)

    def _make_queue(self, index: int, env_ids: range) -> ThreadQueue:
        """Return the queue of a new thread, without environment objects."""
        runner = EnvRunner({env_id: self._env_fns[env_id] for env_id in env_ids})
        return ThreadQueue(index, env_ids, runner, self._outbox)

    @staticmethod
    def _stop(queues: Sequence[ThreadQueue], patience: float, process_id: int) -> None:
        if os.getpid() != process_id:
            return
        for queue in queues:
            queue.abandon()
        end = time.monotonic() + patience
        for queue in queues:
            if patience and queue.thread is not threading.current_thread():
                queue.thread.join(max(end - time.monotonic(), 0.0))

    def objects(self) -> dict[int, gymnasium.Env[Any, Any]]:
        """Return the environment objects; see `Workers.objects`."""
        return dict(item for one in self._queues for item in one.runner.envs.items())

    def _send(self, queue: ThreadQueue, task: Task) -> None:
        queue.inbox.put(task)

    def _poll(self, seconds: float | None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            message = self._outbox.get(seconds != 0, seconds)
            while True:
                # What an abandoned thread did is not wanted.
                if message is not None and not message[0].is_abandoned:
                    outcomes.append(self._finish(*message))
                message = self._outbox.get_nowait()
        except Empty:
            return outcomes

    def _end_poll(self) -> None:
        self._outbox.put(None)

    def _abandon(self, queue: ThreadQueue) -> ThreadQueue:
        """Abandon a thread, and start another one, without environment objects."""
        queue.abandon()
        successor = self._make_queue(queue.index, queue.env_ids)
        self._queues[queue.index] = successor
        return successor

    def _stop_task(self, queue: ThreadQueue, fault: Fault) -> list[Outcome]:
        """Abandon a thread; another one goes on with its other environments."""
        with queue.lock:
            if not self._outbox.empty():
                return []  # perhaps its result has just been posted
            successor = self._abandon(queue)
        env_id = queue.tasks[0][0]
        outcome = self._finish(queue, fault)
        envs = queue.runner.envs
        for other in [each for each in queue.env_ids if each != env_id]:
            if other in envs:
                successor.runner.envs[other] = envs.pop(other)
        for task in queue.tasks:
            self._enqueue(successor, task)
        return [outcome]

    def drop(self) -> list[int]:
        """Abandon the threads that have outstanding tasks, with their environments."""
        for queue in list(self._queues):
            if queue.tasks:
                with queue.lock:
                    self._abandon(queue)
        # Also those of an earlier call that was interrupted.
        return [
            env_id
            for queue in self._queues
            for env_id in queue.env_ids
            if env_id not in queue.runner.envs
        ]
