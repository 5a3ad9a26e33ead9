"""Worker threads: for environments that wait, for a network or another process.

A thread cannot be stopped.  One whose task takes too long is abandoned: it is a
daemon that nobody waits for, its result is thrown away and it ends by itself if its
task ever does.  Code that holds the interpreter lock and never returns cannot be
timed out at all; processes can.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from roll_vec.pool.env_runner import Fault, Members, Task
from roll_vec.pool.workers import EnvFns, Lane, Outcome, QueuedWorkers

__all__ = ["ThreadWorkers"]


class ThreadLane(Lane):
    """One worker thread.

    Attributes
    ----------
    posted, received : int
        Results that the thread has put into the outbox and that were taken out.
    last_posted, last_sent : Task or None
        The last task with such a result, and the last one that the thread was given.
    is_abandoned : bool
        Whether nobody wants the result of the task it is at, nor any more work of it.
        It, ``posted`` and ``last_posted`` change under ``lock``.
    is_stopping : bool
        Whether it should close its environments and end.
    """

    def __init__(self, index: int, rows: range, members: Members) -> None:
        super().__init__(index, rows)
        self.began = time.monotonic()
        self.members = members
        self.inbox: SimpleQueue[Task | None] = SimpleQueue()
        self.lock = threading.Lock()
        self.posted = 0
        self.received = 0
        self.last_posted: Task | None = None
        self.last_sent: Task | None = None
        self.is_abandoned = False
        self.is_stopping = False
        self.thread: threading.Thread | None = None


Outbox = SimpleQueue[tuple[ThreadLane, Task, Any, "Fault | None"]]


def _work(lane: ThreadLane, outbox: Outbox) -> None:
    """Run the tasks of a lane; the thread's main function."""
    members = lane.members
    while True:
        task = lane.inbox.get()
        if task is None or lane.is_stopping:
            members.close_all()
            return
        value, fault = members.run(task)
        with lane.lock:
            if not lane.is_abandoned:
                lane.posted += 1
                lane.last_posted = task
                outbox.put((lane, task, value, fault))
                # Or the last result and its arrays would live until the next task.
                del value, fault
                continue
        # Somebody else has the other environments.
        members.close(task.row)
        return


def _start(lane: ThreadLane, outbox: Outbox) -> None:
    lane.thread = threading.Thread(
        target=_work,
        args=(lane, outbox),
        name=f"roll_vec-pool-{lane.index}",
        daemon=True,
    )
    lane.thread.start()


def _stop(lanes: Sequence[ThreadLane], patience: float, process: int) -> int:
    """End the threads; return how many did not end in time."""
    if os.getpid() != process:
        return 0  # a fork has none of them
    for lane in lanes:
        lane.is_stopping = True
        lane.inbox.put(None)
    end = time.monotonic() + patience
    left = 0
    for lane in lanes:
        thread = lane.thread
        if thread is None or thread is threading.current_thread():
            continue
        if patience:
            thread.join(max(end - time.monotonic(), 0.0))
        if thread.is_alive():
            left += 1
    return left


class ThreadWorkers(QueuedWorkers[ThreadLane]):
    """A daemon thread a worker; an environment is only ever touched by its thread.

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
        self._lanes = []
        for index in range(num_workers):
            rows = range(index, len(env_fns), num_workers)
            members = Members({row: env_fns[row] for row in rows})
            self._lanes.append(ThreadLane(index, rows, members))
        # Neither the threads nor this callback know the pool, so that it can go.
        self._finalizer = weakref.finalize(self, _stop, self._lanes, 0.0, self._process)
        for lane in self._lanes:
            _start(lane, self._outbox)

    def instance(self, row: int) -> Any:
        """Return an environment, or None where it was lost."""
        return self._lanes[row % len(self._lanes)].members.envs.get(row)

    def put_instance(self, row: int, env: Any) -> None:
        """Give an environment to its worker, which must be idle."""
        self._lanes[row % len(self._lanes)].members.envs[row] = env

    def _send(self, lane: ThreadLane, task: Task) -> None:
        lane.inbox.put(task)
        lane.last_sent = task

    def _poll(self, seconds: float | None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            if seconds == 0:
                arrived = self._outbox.get_nowait()
            else:
                arrived = self._outbox.get(timeout=seconds)
            while True:
                lane, task, value, fault = arrived
                lane.received += 1
                # Otherwise `drop` has struck it off.
                if lane.queue and lane.queue[0] is task:
                    outcomes += self._finish(lane, value, fault)
                arrived = self._outbox.get_nowait()
        except Empty:
            return outcomes

    def _give_up(self, lane: ThreadLane, fault: Fault) -> list[Outcome]:
        with lane.lock:
            if lane.posted != lane.received:
                return []  # its result has just been posted
            lane.is_abandoned = True
        self.abandoned_threads += 1
        row = lane.queue[0].row
        outcomes = self._finish(lane, None, fault)
        members = Members(lane.members.env_fns)
        members.envs = dict(lane.members.envs)
        members.envs.pop(row, None)
        successor = ThreadLane(lane.index, lane.rows, members)
        successor.num_dropped = lane.num_dropped
        self._lanes[lane.index] = successor
        for task in lane.queue:
            self._enqueue(successor, task)
        _start(successor, self._outbox)
        return outcomes

    def drop(self) -> list[int]:
        """Give up all outstanding outcomes; the tasks are run all the same."""
        for lane in self._lanes:
            with lane.lock:
                self._poll(0)
                self._strike_off(lane)
            lane.num_dropped = len(lane.queue)
        return []

    def _strike_off(self, lane: ThreadLane) -> None:
        """Forget tasks of which no result will come any longer.

        An interrupt can strike between the entry of a task and its sending, or between
        the arrival of a result and the removal of its task.
        """
        lane.received = lane.posted
        if any(task is lane.last_posted for task in lane.queue):
            while lane.queue.popleft() is not lane.last_posted:
                pass
            lane.began = time.monotonic()
        if lane.queue and lane.queue[-1] is not lane.last_sent:
            lane.queue.pop()

    def close(self, patience: float) -> None:
        """Close the environments in their threads, and end these."""
        if self._finalizer.detach() is not None:
            self.abandoned_threads += _stop(self._lanes, patience, self._process)
