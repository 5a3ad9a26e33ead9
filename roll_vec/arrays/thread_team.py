"""The threads of this process that work on rows of kernels; see `kernels.thread_team`.

The team belongs to the process, not to an environment: it is never pickled or copied,
and a forked child makes its own.  Its threads begin when a job first needs them, sleep
when there is none, and end with the process.
"""

from __future__ import annotations

import atexit
import os
import threading
from queue import SimpleQueue
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from roll_vec.arrays.row_threads import start_thread
from roll_vec.kernels import thread_team as kernels
from roll_vec.kernels._atomics import FUTEX_NUMBER

# A worker looks so long for the next job before it sleeps: the time between two kernels
# of a loop of steps.  An idle process uses no core for longer.
SPIN_SECONDS = 200e-6
# Nobody measures longer than this for one hand-over.
_PATIENCE_SECONDS = 2e-3
_JOIN_SECONDS = 1.0
# A hand-over to a thread that looks for work takes less; more was disturbed, and holds
# only for some time, which doubles.
_PLAUSIBLE_SECONDS = 20e-6
_VALIDITY_SECONDS = 0.5


class ThreadTeam:
    """Threads that take chunks of rows from the callers of `run`.

    Parameters
    ----------
    sleeps_in_kernel : bool
        Whether workers sleep in compiled code, as they can on Linux; else in Python.
    spin_seconds : float

    Attributes
    ----------
    control : (CONTROL_WORDS,) int64
        The control block.
    threads : list of Thread
    last_use, last_split : float
        The times, by ``perf_counter``, when a caller last had work for the team, and
        when it last had done it together with the team.
    """

    def __init__(
        self,
        sleeps_in_kernel: bool = FUTEX_NUMBER != 0,
        spin_seconds: float = SPIN_SECONDS,
    ) -> None:
        self.control = np.zeros(kernels.CONTROL_WORDS, np.int64)
        self.threads: list[threading.Thread] = []
        self.last_use = self.last_split = 0.0
        self._sleeps = sleeps_in_kernel
        self._wakeups: SimpleQueue[None] = SimpleQueue()
        self._lock = threading.RLock()
        # The caller loads what the threads will call: they then start at once.
        self.control[kernels.STOPPED] = 1
        kernels.serve(self.control, 1, self._sleeps)
        self.control[kernels.STOPPED] = 0
        # `stop` calls it: nothing is to be compiled while the interpreter exits.
        kernels.wake(self.control, 0, self._sleeps)
        kernels.wait_pauses(1)
        # The best of some: another process may have had the core.
        pause_seconds = min(_time_pauses() for _ in range(8))
        self._num_pauses = max(1, int(spin_seconds / pause_seconds))
        self._patience = int(_PATIENCE_SECONDS / pause_seconds)
        self._seconds: tuple[float, float] | None = None
        # When `seconds` measures again, and how long it then waits.
        self._expiry, self._validity = float("inf"), _VALIDITY_SECONDS

    def run(
        self,
        runner: Any,
        num_rows: int,
        chunk_rows: int,
        num_threads: int,
        arguments: tuple[Any, ...],
    ) -> None:
        """Call a kernel on all rows, and return when it has done them.

        Parameters
        ----------
        runner : Dispatcher
            From `kernels.thread_team.make_runner`.
        num_rows, chunk_rows : int
        num_threads : int
            The largest number of threads, with the caller.
        arguments : tuple
            Of the kernel, after ``start`` and ``stop``.

        Raises
        ------
        RuntimeError
            The kernel has raised an error, as one compiled with bounds checks may.

        Notes
        -----
        Compiled code is not interrupted: KeyboardInterrupt comes after all rows.
        """
        self.wake(num_threads - 1)
        if runner(self.control, num_rows, chunk_rows, num_threads - 1, arguments):
            message = f"{runner.py_func.__qualname__}: the kernel has raised an error"
            raise RuntimeError(message)

    def wake(self, num_workers: int) -> None:
        """Start workers that are missing; wake those that sleep in Python."""
        if num_workers > len(self.threads):
            self._start(num_workers)
        if not self._sleeps and self.control[kernels.PARKED] > 0:
            for _ in range(kernels.wake(self.control, num_workers, False)):
                self._wakeups.put(None)

    def _start(self, num_workers: int) -> None:
        with self._lock:
            while len(self.threads) < num_workers:
                name = f"roll_vec-rows-{len(self.threads)}"
                args = self.control, self._num_pauses, self._sleeps, self._wakeups
                thread = start_thread(name, _serve, *args)
                if thread is None:
                    return  # Callers do the rows.
                self.threads.append(thread)

    def are_asleep(self) -> bool:
        """Return whether all workers sleep."""
        return bool(self.control[kernels.PARKED] >= len(self.threads))

    def seconds(self) -> tuple[float, float]:
        """Return the times of a hand-over to a worker that looks, and that sleeps.

        The first call measures them, in some milliseconds.  If other processes have the
        cores all the time, they are `_PATIENCE_SECONDS`, and are measured again later.
        """
        seconds = self._seconds
        if seconds is None or perf_counter() > self._expiry:
            with self._lock:
                if seconds is self._seconds:
                    self._seconds = self._measure()
                    self._expiry = float("inf")
                    if self._seconds[0] > _PLAUSIBLE_SECONDS:
                        self._expiry = perf_counter() + self._validity
                        self._validity *= 2
            seconds = self._seconds
        assert seconds is not None
        return seconds

    def _measure(self) -> tuple[float, float]:
        """Return the times of `seconds`; nobody else may use the team."""
        # The best of some: another process may have had the cores.
        awake = min(self._ping() for _ in range(30))
        asleep = []
        for _ in range(5):
            end = perf_counter() + _PATIENCE_SECONDS
            while not self.are_asleep() and perf_counter() < end:
                pass
            # A worker says so just before it sleeps.
            kernels.wait_pauses(self._num_pauses)
            asleep.append(self._ping())
        return awake, max(median(asleep), awake)

    def _ping(self) -> float:
        """Return the seconds until a worker has done a job without work."""
        begin = perf_counter()
        self.wake(1)
        kernels.run_job(self.control, 0, 0, 1, 1, 1, self._patience)
        return perf_counter() - begin

    def stop(self) -> None:
        """End all threads; jobs that come later are done by their callers."""
        self.control[kernels.STOPPED] = 1
        kernels.wake(self.control, len(self.threads), self._sleeps)
        for _ in self.threads:
            self._wakeups.put(None)
        for thread in self.threads:
            thread.join(_JOIN_SECONDS)


def _time_pauses() -> float:
    """Return the seconds of a pause."""
    begin = perf_counter()
    kernels.wait_pauses(500)
    return (perf_counter() - begin) / 500


def _serve(
    control: Any, num_pauses: int, sleeps: bool, wakeups: SimpleQueue[None]
) -> None:
    """Be a worker."""
    while not control[kernels.STOPPED]:
        kernels.serve(control, num_pauses, sleeps)
        if not sleeps:
            wakeups.get()


class _Process:
    """The team of this process."""

    team: ThreadTeam | None = None
    # A method that garbage collection or a signal calls may step a batch, too.
    lock = threading.RLock()


def process_team() -> ThreadTeam:
    """Return the team of this process."""
    if _Process.team is None:
        with _Process.lock:
            if _Process.team is None:
                _Process.team = ThreadTeam()
    return _Process.team


def _forget_team() -> None:
    # A forked child has the control block but none of the threads.
    _Process.team, _Process.lock = None, threading.RLock()


def _stop_team() -> None:
    if _Process.team is not None:
        _Process.team.stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_team)
# Before the interpreter and compiled code are taken apart.
atexit.register(_stop_team)
