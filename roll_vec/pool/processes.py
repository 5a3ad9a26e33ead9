"""Worker processes: for environments that must be stopped, or that need many cores.

Only a process can be stopped whatever its code does.  One that takes too long is
killed, one that died is replaced, and its other environments are restored, see
`roll_vec.pool.replay`.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
import warnings
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from gymnasium.vector.utils import CloudpickleWrapper

from roll_vec.errors import InvalidOptionError
from roll_vec.pool.env_runner import Fault, Task
from roll_vec.pool.replay import SNAPSHOT_FACTOR, History, as_rebuilt, calls_limit
from roll_vec.pool.worker_process import READY, STOP, work
from roll_vec.pool.workers import EnvFns, Lane, Outcome, QueuedWorkers

__all__ = ["ProcessWorkers"]

# A busy worker reads nothing, and a pipe holds 64 KiB: with no more than this in it,
# handing over tasks never waits for an environment.
MAX_IN_FLIGHT = 1 << 15
BEFORE_READY = (
    "before it was ready (where processes are spawned, the program's main module must "
    "be importable without effect: if __name__ == '__main__')"
)
# Tasks that the workers give themselves.
OWN_TASKS = ("restore", "snapshot")
# Seconds between looks at whether a silent worker is alive.  A pipe tells it too,
# unless an environment left a process of its own that holds the other end.
ALIVE_CHECK = 1.0


class ProcessLane(Lane):
    """One worker process.

    Attributes
    ----------
    pickled : deque of bytes
        The tasks of the queue; those from ``num_sent`` on are yet to be handed over.
    in_flight : int
        Bytes of tasks that were handed over and have not ended.
    """

    process: Any = None
    tasks: Connection
    results: Connection

    def __init__(self, index: int, rows: range) -> None:
        super().__init__(index, rows)
        self.pickled: deque[bytes] = deque()
        self.num_sent = 0
        self.in_flight = 0


def _stop(lanes: Sequence[ProcessLane], patience: float, process: int) -> None:
    """End the processes: ask them, and kill those that do not end in time."""
    if os.getpid() != process:
        return  # a fork has nothing but copies of the pipes
    running = [lane for lane in lanes if lane.process is not None]
    for lane in running:
        with suppress(OSError):
            lane.tasks.send_bytes(STOP)
    end = time.monotonic() + patience
    for lane in running:
        lane.process.join(max(end - time.monotonic(), 0.0))
    for lane in running:
        _kill(lane)


def _kill(lane: ProcessLane) -> int | None:
    """End a process, whatever it does, and let go of its pipes."""
    process = lane.process
    if process is None:
        return None  # it could not be started
    if process.is_alive():
        process.kill()
    process.join()
    exit_code: int | None = process.exitcode
    process.close()
    lane.process = None
    lane.tasks.close()
    lane.results.close()
    return exit_code


class ProcessWorkers(QueuedWorkers[ProcessLane]):
    """A process a worker.

    Parameters
    ----------
    env_fns : sequence of callable
    num_workers : int
    time_limits : mapping of str to float
    context : str or None
        How processes are started; None: as `multiprocessing` does by default.
    attributes : sequence of mapping
        What was set, by row, before there were these workers.

    Raises
    ------
    InvalidOptionError
        In a daemon process.
    """

    def __init__(
        self,
        env_fns: EnvFns,
        num_workers: int,
        time_limits: Mapping[str, float],
        context: str | None,
        attributes: Sequence[Mapping[str, Any]],
    ) -> None:
        if multiprocessing.current_process().daemon:
            message = (
                "executor='process': this process is a daemon, which may not start "
                "processes of its own: use executor='thread' or workers=0 in it, or "
                "start it with daemon=False"
            )
            raise InvalidOptionError(message)
        super().__init__(time_limits)
        self._env_fns = env_fns
        self._context: Any = multiprocessing.get_context(context)
        limit = calls_limit(len(env_fns))
        self._snapshot_limit = SNAPSHOT_FACTOR * limit
        self._histories = [History(one, limit) for one in attributes]
        # Rows without an instance, and why they were not restored.
        self._gone: dict[int, str] = {}
        self._unsendable: list[Outcome] = []
        self._lanes = []
        # The callback does not know the pool, so that it can go.
        self._finalizer = weakref.finalize(self, _stop, self._lanes, 0.3, self._process)
        for index in range(num_workers):
            lane = ProcessLane(index, range(index, len(env_fns), num_workers))
            self._lanes.append(lane)

    def _start(self, lane: ProcessLane) -> None:
        """Start the process of a lane."""
        task_reader, lane.tasks = self._context.Pipe(duplex=False)
        lane.results, result_writer = self._context.Pipe(duplex=False)
        inherited: list[Connection] = []
        if self._context.get_start_method() == "fork":
            others = [other for other in self._lanes if other.process is not None]
            for other in [*others, lane]:
                inherited += [other.tasks, other.results]
        env_fns = {row: self._env_fns[row] for row in lane.rows}
        functions: Any = CloudpickleWrapper(lambda: env_fns)
        process = self._context.Process(
            target=work,
            args=(task_reader, result_writer, functions, inherited),
            name=f"roll_vec-pool-{lane.index}",
            daemon=True,
        )
        try:
            with warnings.catch_warnings():
                # Python 3.12 and later warn of a fork beside threads, whose locks the
                # child may find locked for ever.  Ours starts no thread before it
                # forks, and the child runs the environments' own code alone.
                warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
                process.start()
        except BaseException:
            lane.tasks.close()
            lane.results.close()
            raise
        finally:
            task_reader.close()
            result_writer.close()
        lane.process = process

    # --------------------------------------------------------------- tasks

    def submit(self, task: Task) -> None:
        """Take a task, and before it a snapshot of its environment if one is due."""
        if self._histories[task.row].is_due(task) and task.row not in self._gone:
            super().submit(Task(task.row, "snapshot", self._snapshot_limit))
        super().submit(task)

    def _send(self, lane: ProcessLane, task: Task) -> None:
        if lane.process is None:
            self._start(lane)
        try:
            pickled = pickle.dumps(task)
        except Exception as error:
            lane.queue.pop()
            message = (
                f"exception in {task.operation}: its argument cannot be pickled: "
                f"{type(error).__name__}: {error}"
            )
            fault = Fault("exception", message, error)
            self._unsendable.append(Outcome(task, None, fault))
            return
        lane.pickled.append(pickled)

    @property
    def num_outstanding(self) -> int:
        """Number of tasks whose outcomes `collect` has not returned."""
        return super().num_outstanding + len(self._unsendable)

    def flush(self) -> None:
        """Hand over what may be handed over without waiting."""
        for lane in self._lanes:
            self._flush(lane)

    def _flush(self, lane: ProcessLane) -> None:
        batch: list[bytes] = []
        total = lane.in_flight
        while lane.num_sent + len(batch) < len(lane.pickled):
            pickled = lane.pickled[lane.num_sent + len(batch)]
            # An idle worker reads any amount.
            if lane.in_flight and total + len(pickled) > MAX_IN_FLIGHT:
                break
            batch.append(pickled)
            total += len(pickled)
        if not batch:
            return
        with suppress(OSError):  # of a dead worker, which the reader will find
            lane.tasks.send_bytes(pickle.dumps(batch))
        lane.num_sent += len(batch)
        lane.in_flight = total

    # ------------------------------------------------------------- results

    def _poll(self, seconds: float | None) -> list[Outcome]:
        outcomes, self._unsendable = self._unsendable, []
        if outcomes:
            return outcomes
        busy = {lane.results: lane for lane in self._lanes if lane.queue}
        longest = ALIVE_CHECK if seconds is None else min(seconds, ALIVE_CHECK)
        ready = wait(list(busy), longest)
        for connection in ready:
            outcomes += self._read(busy[connection])  # type: ignore[index]
        if not ready and longest == ALIVE_CHECK:
            for lane in busy.values():
                if not lane.process.is_alive():
                    outcomes += self._replace(lane, None)
        return outcomes

    def _read(self, lane: ProcessLane) -> list[Outcome]:
        """Take what has arrived from a worker, and replace it if it is dead."""
        outcomes: list[Outcome] = []
        try:
            while lane.queue and lane.results.poll(0):
                outcomes += self._receive(lane, lane.results.recv_bytes())
        except (EOFError, OSError):
            return outcomes + self._replace(lane, None)
        self._flush(lane)
        return outcomes

    def _receive(self, lane: ProcessLane, message: bytes) -> list[Outcome]:
        """Take one message."""
        if message == READY:
            lane.began = time.monotonic()
            return []
        try:
            value, fault = pickle.loads(message)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            text = f"exception: a result cannot be unpickled: {error}"
            value, fault = None, Fault("exception", text, error)
        task, pickled = lane.queue[0], lane.pickled[0]
        if fault is None:
            self._histories[task.row].record(task, pickled, value)
        if task.operation == "restore":
            if fault is not None:
                self._mark_gone(task.row, fault.message)
        elif task.operation == "snapshot":
            if fault is not None:
                self._histories[task.row].refuse_snapshots(fault.message)
        elif fault is None and task.operation in ("build", "load", "reset"):
            self._gone.pop(task.row, None)
        elif fault is not None and task.operation == "step" and task.row in self._gone:
            fault = Fault("worker_death", self._gone[task.row])
        return self._finish(lane, value, fault)

    def _finish(
        self, lane: ProcessLane, value: Any, fault: Fault | None
    ) -> list[Outcome]:
        pickled = lane.pickled.popleft()
        if lane.num_sent:
            lane.num_sent -= 1
            lane.in_flight -= len(pickled)
        is_ours = lane.queue[0].operation in OWN_TASKS
        outcomes = super()._finish(lane, value, fault)
        return [] if is_ours else outcomes

    # -------------------------------------------------------------- deaths

    def _give_up(self, lane: ProcessLane, fault: Fault) -> list[Outcome]:
        return self._replace(lane, fault)

    def _mark_gone(self, row: int, why: str) -> None:
        self._gone[row] = f"worker death: could not be restored ({why})"

    def _replace(self, lane: ProcessLane, timeout: Fault | None) -> list[Outcome]:
        """Start a new process for a lane whose process died, or took too long.

        The task that it was at has failed; the other environments are restored and
        the rest of the queue is handed over again.
        """
        outcomes: list[Outcome] = []
        expired = lane.queue[0] if timeout is not None else None
        if timeout is not None:
            lane.process.kill()
            lane.process.join()
        with suppress(EOFError, OSError):
            while lane.queue and lane.results.poll(0):
                outcomes += self._receive(lane, lane.results.recv_bytes())
        was_ready = lane.began is not None
        exit_code = _kill(lane)
        if lane.queue and (timeout is None or lane.queue[0] is expired):
            outcomes += self._blame(lane, timeout, exit_code, was_ready)
        queue = deque(lane.queue)
        lane.queue.clear()
        lane.pickled.clear()
        lane.num_sent = lane.in_flight = 0
        lane.began = None
        self._start(lane)
        self._requeue(lane, queue)
        self._flush(lane)
        return outcomes

    def _blame(
        self,
        lane: ProcessLane,
        timeout: Fault | None,
        exit_code: int | None,
        was_ready: bool,
    ) -> list[Outcome]:
        """Let the task that a dead worker was at fail."""
        task = lane.queue[0]
        fault = timeout
        if fault is None:
            where = f"during {task.operation}" if was_ready else BEFORE_READY
            message = (
                f"worker death: its process ended with exit code {exit_code} {where}"
            )
            fault = Fault("worker_death", message)
        if task.operation == "snapshot":
            self._histories[task.row].lose_snapshot(fault.message)
        elif task.operation == "restore":
            self._mark_gone(task.row, fault.message)
        else:
            self._gone[task.row] = fault.message
        return self._finish(lane, None, fault)

    def _requeue(self, lane: ProcessLane, queue: deque[Task]) -> None:
        """Queue what restores a lane's environments, then what was queued before."""
        tasks = [task for task in queue if task.operation not in OWN_TASKS]
        unneeded = set(self._gone)
        for i, task in enumerate(tasks):
            if task.operation in ("build", "load"):
                unneeded.add(task.row)
            elif task.operation == "reset" and task.row not in self._gone:
                order = task.argument
                if order.seed is not None or order.position is not None:
                    attributes = self._histories[task.row].attributes
                    order = as_rebuilt(order, attributes)
                    tasks[i] = task._replace(argument=order)
                if order.rebuild:
                    unneeded.add(task.row)
        for row in lane.rows:
            if row in unneeded:
                continue
            history = self._histories[row]
            if history.obstacle:
                self._mark_gone(row, history.obstacle)
            else:
                self._enqueue(lane, Task(row, "restore", history.restoration()))
        for task in tasks:
            self._enqueue(lane, task)

    def _time_limit(self, task: Task) -> float | None:
        if task.operation == "snapshot":
            return self._limits.get("reset")
        if task.operation != "restore":
            return super()._time_limit(task)
        past = task.argument
        step, reset = self._limits.get("step"), self._limits.get("reset")
        if step is None or reset is None:
            return None
        return reset + step * len(past.calls)

    def drop(self) -> list[int]:
        """Kill the workers that have outstanding tasks; their instances are lost.

        What interrupted the caller may have cut a message in two.
        """
        lost: list[int] = []
        self._unsendable.clear()
        for lane in self._lanes:
            if not lane.queue and lane.process is not None:
                continue
            _kill(lane)
            lane.queue.clear()
            lane.pickled.clear()
            lane.num_sent = lane.in_flight = 0
            lane.began = None
            lost += lane.rows
            for row in lane.rows:
                self._gone[row] = "worker death: its process was ended by an interrupt"
        return lost

    def close(self, patience: float) -> None:
        """Close the environments in their processes, and end these."""
        if self._finalizer.detach() is not None:
            _stop(self._lanes, patience, self._process)
