"""Worker processes: for environments that must be stopped, or that need many cores.

Only a process can be stopped whatever its code does.  A process that takes too long is
killed, and one that died is replaced.  All environment objects of a process die with
it: the environment whose task was running has a fault, and the others of this worker
lose their episodes too.  The pool builds new objects for their next episodes.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

from gymnasium.vector.utils import CloudpickleWrapper

from roll_vec.pool.options import PoolOptions
from roll_vec.pool.tasks import (
    EnvFns,
    EnvFnsById,
    Fault,
    Outcome,
    Task,
    make_picklable,
    unsendable_fault,
)
from roll_vec.pool.worker_process import READY, STOP, run_worker
from roll_vec.pool.worker_queue import QueuedWorkers, WorkerQueue

# The operation of a worker that is not ready.
START = (
    "its start (where processes are spawned, the program's main module must be "
    "importable without effect: if __name__ == '__main__')"
)
# With a limit for resets, the start of a process may take so many seconds more, and one
# for each worker: all of them may start at a time, on few cores.
START_SECONDS = 10.0
# Seconds between looks at whether a silent worker is alive.  A closed pipe tells it
# too, unless an environment started a process of its own that holds the other end.
ALIVE_CHECK_INTERVAL = 1.0


def _unpickle_and_call(pickled: bytes) -> Any:
    return pickle.loads(pickled)()


class ProcessQueue(WorkerQueue):
    """The queue of one worker process, and its pipes.

    Attributes
    ----------
    process : Process or None
    is_ready : bool
        Whether the process has its constructors, and accepts tasks.
    task_pipe, result_pipe : Connection
    pickled_tasks : deque of bytes
        The tasks that are still to be sent.
    num_sent : int
        The tasks before them, which were sent in one message.  The next message waits
        until they have ended: a busy worker reads nothing, and a pipe holds 64 KiB.
    """

    process: Any = None
    is_ready = False
    task_pipe: Connection
    result_pipe: Connection

    def __init__(self, index: int, env_ids: range) -> None:
        super().__init__(index, env_ids)
        self.clear()

    @property
    def operation(self) -> str:
        """The operation that the worker is running; its start is one, too."""
        return super().operation if self.is_ready else START

    def clear(self) -> None:
        """Remove all tasks, for a process that is not ready yet."""
        self.tasks.clear()
        self.pickled_tasks: deque[bytes] = deque()
        self.num_sent = 0
        self.is_ready = False

    def kill(self) -> int | None:
        """End the process, whatever it does, and close the pipes; return its code."""
        process = self.process
        if process is None:
            return None  # it could not be started
        if process.is_alive():
            process.kill()
        process.join()
        exit_code: int | None = process.exitcode
        # In this order: after Ctrl-C `kill` may be called again.
        self.process = None
        # One whose exit code Ctrl-C has lost counts as alive.
        with suppress(ValueError):
            process.close()
        self.task_pipe.close()
        self.result_pipe.close()
        return exit_code


class ProcessWorkers(QueuedWorkers[ProcessQueue]):
    """Worker processes, each with some of the environment objects.

    Parameters
    ----------
    env_fns, options
        See `QueuedWorkers`.
    lost : dict of int to str
        See `Faults`: the workers add the environments whose process has ended.
    """

    _exit_patience = 0.3

    def __init__(
        self,
        env_fns: EnvFns,
        options: PoolOptions,
        lost: dict[int, str],
    ) -> None:
        self._context: Any = multiprocessing.get_context(options.context)
        self._lost = lost
        self._last_check = time.monotonic()
        # A message ends a wait for results.
        self._wake_reader, self._wake_writer = self._context.Pipe(duplex=False)
        super().__init__(env_fns, options)
        if "reset" in self._time_limits:
            seconds = START_SECONDS + len(self._queues)
            self._time_limits[START] = self._time_limits["reset"] + seconds

    def _make_queue(self, index: int, env_ids: range) -> ProcessQueue:
        return ProcessQueue(index, env_ids)

    @staticmethod
    def _stop(queues: Sequence[ProcessQueue], patience: float, process_id: int) -> None:
        """End the processes: ask them, and kill those that do not end in time."""
        if os.getpid() != process_id:
            return  # a fork has only copies of the pipes
        active = [queue for queue in queues if queue.process is not None]
        for queue in active:
            with suppress(OSError):
                queue.task_pipe.send_bytes(STOP)
        end = time.monotonic() + patience
        for queue in active:
            queue.process.join(max(end - time.monotonic(), 0.0))
        for queue in active:
            queue.kill()

    def _start_process(self, queue: ProcessQueue) -> None:
        task_reader, queue.task_pipe = self._context.Pipe(duplex=False)
        queue.result_pipe, result_writer = self._context.Pipe(duplex=False)
        inherited_pipes: list[Connection] = []
        of_worker = {env_id: self._env_fns[env_id] for env_id in queue.env_ids}

        def env_fns() -> EnvFnsById:
            return of_worker

        if self._context.get_start_method() == "fork":
            others = [other for other in self._queues if other.process is not None]
            for other in [*others, queue]:
                inherited_pipes += [other.task_pipe, other.result_pipe]
        else:
            # A process that is spawned imports what they need when it calls this, not
            # before its main function begins: an import may hang, and the process
            # shall end with its parent.
            wrapper: Any = CloudpickleWrapper(env_fns)
            env_fns = partial(_unpickle_and_call, pickle.dumps(wrapper))
        process = self._context.Process(
            target=run_worker,
            args=(task_reader, result_writer, env_fns, inherited_pipes),
            name=f"roll_vec-pool-{queue.index}",
            daemon=True,
        )
        try:
            with warnings.catch_warnings():
                # From Python 3.12 on, a fork beside threads warns: the child may find
                # their locks locked for ever.  roll_vec starts no thread before it
                # forks, and the child runs the environments' own code alone.
                warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
                process.start()
        except BaseException:
            queue.task_pipe.close()
            queue.result_pipe.close()
            raise
        finally:
            task_reader.close()
            result_writer.close()
        queue.process, queue.start_time = process, time.monotonic()

    # --------------------------------------------------------------- tasks

    def _send(self, queue: ProcessQueue, task: Task) -> None:
        if queue.process is None:
            self._start_process(queue)
        try:
            pickled = pickle.dumps(task)
        except Exception as error:
            # The worker sends it back.
            fault = unsendable_fault(task[1], error)
            pickled = pickle.dumps(make_picklable(fault, task[1]))
        queue.pickled_tasks.append(pickled)

    def flush(self) -> None:
        """Send all tasks of idle workers."""
        for queue in self._queues:
            self._flush(queue)

    def _flush(self, queue: ProcessQueue) -> None:
        if not queue.is_ready or queue.num_sent or not queue.pickled_tasks:
            return
        with suppress(OSError):  # the worker is dead: `_read` will notice it
            queue.task_pipe.send_bytes(pickle.dumps(list(queue.pickled_tasks)))
        queue.num_sent = len(queue.pickled_tasks)
        queue.pickled_tasks.clear()

    # ------------------------------------------------------------- results

    def _poll(self, seconds: float | None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        busy = {queue.result_pipe: queue for queue in self._queues if queue.tasks}
        if seconds is None or seconds > ALIVE_CHECK_INTERVAL:
            seconds = ALIVE_CHECK_INTERVAL
        ready = wait([*busy, self._wake_reader], seconds)
        if self._wake_reader in ready:
            ready.remove(self._wake_reader)
            while self._wake_reader.poll(0):
                self._wake_reader.recv_bytes()
        for connection in ready:
            queue = busy[connection]  # type: ignore[index]
            if self._read(queue, outcomes):
                self._flush(queue)
            else:
                outcomes += self._stop_task(queue, None)
        now = time.monotonic()
        if not ready and now - self._last_check >= ALIVE_CHECK_INTERVAL:
            self._last_check = now
            for queue in busy.values():
                if not queue.process.is_alive():
                    outcomes += self._stop_task(queue, None)
        return outcomes

    def _end_poll(self) -> None:
        self._wake_writer.send_bytes(b"")

    def _read(self, queue: ProcessQueue, outcomes: list[Outcome]) -> bool:
        """Add the results that a worker has sent; return False if it has ended."""
        try:
            while queue.tasks and queue.result_pipe.poll(0):
                message = queue.result_pipe.recv_bytes()
                if message == READY:
                    queue.is_ready, queue.start_time = True, time.monotonic()
                    continue
                try:
                    value = pickle.loads(message)
                except KeyboardInterrupt:
                    raise
                except BaseException as error:
                    value = unsendable_fault(queue.operation, error)
                queue.num_sent -= 1
                outcomes.append(self._finish(queue, value))
        except (EOFError, OSError):
            return False
        return True

    def _stop_task(self, queue: ProcessQueue, fault: Fault | None) -> list[Outcome]:
        """Start a new process for one that is killed for a timeout, or that died.

        All its tasks fail, and all its environments are lost.  One without a task
        fails in its next step.

        Parameters
        ----------
        queue : ProcessQueue
        fault : Fault or None
            The timeout; None: the process has died.
        """
        outcomes: list[Outcome] = []
        late_task = None
        if fault is not None:
            late_task = queue.tasks[0]
            queue.process.kill()
            queue.process.join()
        # Results that it sent before its end.
        self._read(queue, outcomes)
        exit_code = queue.kill()
        if fault is None:
            message = f"worker death: its process ended with exit code {exit_code}"
            if queue.tasks:
                message += f" during {queue.operation}"
            fault = Fault(message)
        message = (
            "worker death: its process ended in a task of another environment "
            f"({fault.message})"
        )
        rest = Fault(message, has_begun=False)
        if not queue.is_ready:
            # No task has begun, and a start that hangs would do so again for each.
            rest = fault
        elif late_task and not (queue.tasks and queue.tasks[0] is late_task):
            fault = rest  # its result has arrived
        faults = [fault, *[rest] * len(queue.tasks)]
        # Of several tasks of an environment the first one counts.
        for (env_id, operation, _), one in zip(queue.tasks, faults, strict=False):
            outcomes.append((env_id, operation, one))
            self._lost.setdefault(env_id, one.message)
        for env_id in queue.env_ids:
            self._lost.setdefault(env_id, message)
        queue.clear()
        self._start_process(queue)
        return outcomes

    def drop(self) -> list[int]:
        """Kill the workers that have outstanding tasks; their environments are lost.

        The interrupt of the caller may have cut a message in two.
        """
        lost_env_ids: list[int] = []
        for queue in self._queues:
            if not queue.tasks and queue.process is not None:
                continue
            queue.kill()
            queue.clear()
            lost_env_ids += queue.env_ids
        return lost_env_ids

    def close(self, patience: float) -> None:
        """Close the environments in their processes, and end the processes."""
        super().close(patience)
        self._wake_reader.close()
        self._wake_writer.close()
