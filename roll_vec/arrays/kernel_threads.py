"""Kernels on as many threads as pay: measured as they run, see `KernelThreads`.

A kernel has arguments ``start, stop, *arguments`` and works on that range of rows.  The
split changes no result.  It follows from what is measured as the kernels run: the time
of a kernel alone, for each kernel and each power of two of rows, and whether a split of
it has taken less.

The threads are a team, see `roll_vec.kernels.thread_team`.  It belongs to the process,
not to an environment: it is never pickled or copied, and a forked child makes its own.
Its threads begin when a job first needs them, sleep when there is none, and end with
the process.

Two mechanisms exist side by side: the team is for compiled kernels of microseconds to
milliseconds, that nothing interrupts; `row_threads.for_row_ranges` is for Python
functions and work of seconds, which Ctrl-C ends and which reports its progress.  On two
cores, steps of 16,384 and 65,536 rows take 1.2 to 1.5 times as long with threads that
Python wakes as with the team; 16,384 lakes then take longer than on one thread.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np

from roll_vec.arrays.row_threads import count_cores, start_thread
from roll_vec.kernels import thread_team as kernels
from roll_vec.kernels._atomics import FUTEX_NUMBER
from roll_vec.kernels._jit import allow_overflow
from roll_vec.kernels.thread_team import IS_COMPILED, MAX_CHUNKS, make_runner

# A batch of fewer rows is not even timed.
MIN_ROWS = 64
# Work of a thread that is worth a hand-over to one that looks for it: the call of a
# runner takes about 1 us more than that of a kernel, a chunk 0.3 us.
PART_SECONDS = 5e-6
# A chunk takes so long at least, and each thread takes so many, to end together.
_CHUNK_SECONDS = 4e-6
_CHUNKS_PER_THREAD = 4
# Chunks begin at multiples of so many rows: no two threads write into one cache line.
_BLOCK_ROWS = 64
_CALLS_TO_TIME = 5
# The estimate of a kernel's time rises at most by this factor in a call.
_GROWTH = 1.03
# A kernel whose splits do not pay runs alone for so long, until one is tried again.
_MAX_REST_SECONDS = 1.0
# A worker looks so long for the next job before it sleeps: the time between two kernels
# of a loop of steps.  An idle process uses no core for longer.
SPIN_SECONDS = 200e-6
_JOIN_SECONDS = 1.0


class ThreadTeam:
    """Threads that take chunks of rows from the callers of `run`.

    Parameters
    ----------
    sleeps_in_kernel : bool
        Whether workers sleep in compiled code, as they can on Linux; else in Python.

    Attributes
    ----------
    control : (CONTROL_WORDS,) int64
        The control block.
    threads : list of Thread
    """

    def __init__(self, sleeps_in_kernel: bool = FUTEX_NUMBER != 0) -> None:
        self.control = np.zeros(kernels.CONTROL_WORDS, np.int64)
        self.threads: list[threading.Thread] = []
        self._sleeps, self._num_pauses = sleeps_in_kernel, 0
        self._wakeups: SimpleQueue[None] = SimpleQueue()
        # A method that garbage collection or a signal calls may step a batch, too.
        self._lock = threading.RLock()

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
            if self._num_pauses == 0:
                self._load()
            while len(self.threads) < num_workers:
                name = f"roll_vec-rows-{len(self.threads)}"
                args = self.control, self._num_pauses, self._sleeps, self._wakeups
                thread = start_thread(name, _serve, *args)
                if thread is None:
                    return  # Callers do the rows.
                self.threads.append(thread)

    def _load(self) -> None:
        """Load what the threads and `stop` will call, and time a pause."""
        # Threads then start at once, and nothing is compiled while Python exits.
        self.control[kernels.STOPPED] = 1
        kernels.serve(self.control, 1, self._sleeps)
        self.control[kernels.STOPPED] = 0
        kernels.wake(self.control, 0, self._sleeps)
        kernels.wait_pauses(1)
        # The best of some: another process may have had the core.
        pause_seconds = min(_time_pauses() for _ in range(8))
        self._num_pauses = max(1, int(SPIN_SECONDS / pause_seconds))

    def stop(self) -> None:
        """End all threads; jobs that come later are done by their callers."""
        self.control[kernels.STOPPED] = 1
        if self.threads:
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


_team = ThreadTeam()


def process_team() -> ThreadTeam:
    """Return the team of this process."""
    return _team


def _forget_team() -> None:
    # A forked child has the control block but none of the threads.
    global _team
    _team = ThreadTeam()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_team)
# Before the interpreter and compiled code are taken apart.
atexit.register(lambda: _team.stop())


class _Timing:
    """The time of one kernel, for numbers of rows between two powers of two."""

    def __init__(self) -> None:
        self.num_calls = -1  # on one thread, after the call that may compile
        self.row_seconds = float("inf")  # on one thread
        self.rest = 0.0  # calls on one thread after a split that did not pay
        self.calls_to_rest = 0.0  # of those, the calls to come
        self.is_ready = False  # for splits, which is not part of their time
        self.has_failed = False  # the last split, for the first time

    def is_short(self, num_rows: int) -> bool:
        """Return whether so many rows are not worth two threads, nor another timing."""
        return self.row_seconds * num_rows <= 2 * PART_SECONDS

    def add(self, row_seconds: float) -> None:
        """Take in the seconds a row of a call on one thread."""
        self.num_calls += 1
        if self.num_calls > 0:
            # Calls that take longer are mostly those that another process has
            # interrupted, and the first ones find cold caches.
            self.row_seconds = min(row_seconds, _GROWTH * self.row_seconds)

    def add_split(self, split_seconds: float, seconds: float) -> None:
        """Take in the time of a split, and that of the same work on one thread.

        The first of two splits may wake the threads, so that the second one counts.
        The cores may have other work: splits that do not pay are tried later and later,
        and the later the more time they have lost.
        """
        pays = split_seconds <= seconds
        if pays:
            self.rest = 0.0
        elif self.has_failed:
            self.rest = 2.0 * self.rest + split_seconds / seconds
            self.rest = min(self.rest, _MAX_REST_SECONDS / seconds)
            self.calls_to_rest = self.rest
        self.has_failed = not (pays or self.has_failed)


class KernelThreads:
    """Calls kernels on all rows, on one thread or several.

    Keep it from call to call: it times the kernels.  Copies begin anew.

    Parameters
    ----------
    num_threads : int
        The largest number of threads; never more than cores are used.
    """

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads
        self._usable = min(num_threads, count_cores()) if IS_COMPILED else 1
        self._timings: dict[tuple[Any, int], _Timing] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.num_threads,)

    @allow_overflow
    def run(self, kernel: Callable[..., Any], num_rows: int, *arguments: Any) -> Any:
        """Call ``kernel(start, stop, *arguments)`` on ranges that cover all rows.

        Parameters
        ----------
        kernel : callable
            A compiled kernel that uses the rows from start to stop only.  A Python
            function is called once, on the calling thread.
        num_rows : int

        Returns
        -------
        object
            What the kernel returns, if one call of it has done all; else None.
        """
        if num_rows < MIN_ROWS or self._usable == 1:
            return kernel(0, num_rows, *arguments)
        return self._run(kernel, num_rows, arguments)

    def is_alone(self, kernel: Callable[..., Any], num_rows: int) -> bool:
        """Return whether `run` is ``kernel(0, num_rows, *arguments)`` from now on.

        A call of `run` takes a tenth of a step of 64 environments.
        """
        if num_rows < MIN_ROWS or self._usable == 1:
            return IS_COMPILED
        timing = self._timings.get((kernel, num_rows.bit_length()))
        return timing is not None and timing.is_short(num_rows)

    def _run(
        self, kernel: Callable[..., Any], num_rows: int, arguments: tuple[Any, ...]
    ) -> Any:
        key = kernel, num_rows.bit_length()
        timing = self._timings.get(key)
        if timing is None:
            timing = self._timings[key] = _Timing()
            if not hasattr(kernel, "py_func"):
                timing.row_seconds = 0.0  # A Python function is never split.
        if timing.is_short(num_rows):
            return kernel(0, num_rows, *arguments)
        num_threads = self._choose(timing, timing.row_seconds * num_rows)
        if num_threads > 1:
            self._split(kernel, num_rows, arguments, timing, num_threads)
            return None
        begin = perf_counter()
        result = kernel(0, num_rows, *arguments)
        timing.add((perf_counter() - begin) / num_rows)
        return result

    def _choose(self, timing: _Timing, seconds: float) -> int:
        """Return the number of threads for work that takes so long on one."""
        if timing.num_calls < _CALLS_TO_TIME:
            return 1
        if timing.calls_to_rest >= 1.0:
            timing.calls_to_rest -= 1.0
            return 1
        return min(self._usable, int(seconds / PART_SECONDS))

    def _split(
        self,
        kernel: Callable[..., object],
        num_rows: int,
        arguments: tuple[Any, ...],
        timing: _Timing,
        num_threads: int,
    ) -> None:
        seconds = timing.row_seconds * num_rows
        most = min(_CHUNKS_PER_THREAD * num_threads, MAX_CHUNKS)
        num_chunks = max(num_threads, int(min(seconds / _CHUNK_SECONDS, most)))
        chunk_blocks = -(-num_rows // (_BLOCK_ROWS * num_chunks))
        chunk_rows = chunk_blocks * _BLOCK_ROWS
        team, runner = process_team(), make_runner(kernel)
        if not timing.is_ready:
            team.run(runner, 0, chunk_rows, num_threads, arguments)
            timing.is_ready = True
        begin = perf_counter()
        team.run(runner, num_rows, chunk_rows, num_threads, arguments)
        timing.add_split(perf_counter() - begin, seconds)
