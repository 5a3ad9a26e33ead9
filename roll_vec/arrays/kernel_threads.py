"""Kernels on as many threads as pay: measured as they run, see `KernelThreads`.

A kernel has arguments ``start, stop, *arguments`` and works on that range of rows.  The
split changes no result.  It follows from two things that are measured once a process
or as the kernels run:

- the time of a hand-over to a worker of the process's `ThreadTeam`;
- the time of a kernel alone, for each kernel and each power of two of rows.

Two mechanisms exist side by side: teams are for compiled kernels of microseconds to
milliseconds, that nothing interrupts; `row_threads.for_row_ranges` is for Python
functions and work of seconds, which Ctrl-C ends and which reports its progress.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from roll_vec.arrays.row_threads import background_threads, count_cores
from roll_vec.arrays.thread_team import SPIN_SECONDS, process_team
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
# A kernel is split if it takes so many times as long as a hand-over.
HAND_OVERS = 4
_CALLS_TO_TIME = 5
_MAX_PAUSE = 255

_runners: dict[Callable[..., object], Any] = {}


def chunks_per_thread(seconds: float, num_threads: int) -> int:
    """Return the number of chunks that each thread gets of a kernel.

    Parameters
    ----------
    seconds : float
        Of the kernel on one thread.
    num_threads : int
    """
    number = seconds / (num_threads * _CHUNK_SECONDS)
    return max(1, int(min(number, _CHUNKS_PER_THREAD)))


class _Timing:
    """The time of one kernel, for numbers of rows between two powers of two."""

    __slots__ = ("calls_to_pause", "num_calls", "pause", "row_seconds")

    def __init__(self) -> None:
        self.num_calls = -1  # on one thread, after the call that may compile
        self.row_seconds = float("inf")  # on one thread
        self.pause = 0  # calls on one thread after a split that did not pay
        self.calls_to_pause = 0  # of those, the calls to come

    def add(self, row_seconds: float) -> None:
        """Take in the seconds a row of a call on one thread."""
        self.num_calls += 1
        if self.num_calls == 0:
            return
        if self.num_calls <= _CALLS_TO_TIME:
            # The first calls find cold caches and new pages of memory.
            self.row_seconds = min(row_seconds, self.row_seconds)
        else:
            # Long calls are those that another process has interrupted.
            row_seconds = min(row_seconds, 2 * self.row_seconds)
            change = row_seconds - self.row_seconds
            # Most calls that take longer were disturbed.
            self.row_seconds += change / (32 if change > 0 else 2)


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
        self._usable = min(num_threads, count_cores())
        if not IS_COMPILED:
            self._usable = 1
        self._timings: dict[tuple[Any, int], _Timing] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.num_threads,)

    @allow_overflow
    def run(
        self, kernel: Callable[..., object], num_rows: int, *arguments: Any
    ) -> None:
        """Call ``kernel(start, stop, *arguments)`` on ranges that cover all rows.

        Parameters
        ----------
        kernel : callable
            A compiled kernel that uses the rows from start to stop only; its result is
            not used.  A Python function is called once, on the calling thread.
        num_rows : int
        """
        if num_rows < MIN_ROWS or self._usable == 1:
            kernel(0, num_rows, *arguments)
        else:
            self._run(kernel, num_rows, arguments)

    def _run(
        self, kernel: Callable[..., object], num_rows: int, arguments: tuple[Any, ...]
    ) -> None:
        key = kernel, num_rows.bit_length()
        timing = self._timings.get(key)
        if timing is None:
            timing = self._timings[key] = _Timing()
            if not hasattr(kernel, "py_func"):
                timing.row_seconds = 0.0  # A Python function is never split.
        seconds = timing.row_seconds * num_rows
        if seconds <= 2 * PART_SECONDS:
            kernel(0, num_rows, *arguments)
            return
        num_threads = self._choose(timing, seconds)
        if num_threads > 1:
            self._split(kernel, num_rows, arguments, timing, num_threads)
            return
        begin = perf_counter()
        kernel(0, num_rows, *arguments)
        end = perf_counter()
        timing.add((end - begin) / num_rows)
        if timing.num_calls >= _CALLS_TO_TIME:
            process_team().last_use = end

    def _choose(self, timing: _Timing, seconds: float) -> int:
        """Return the number of threads for work that takes so long on one."""
        if timing.num_calls < _CALLS_TO_TIME:
            return 1
        if timing.calls_to_pause > 0:
            timing.calls_to_pause -= 1
            return 1
        num_threads = self._usable - len(background_threads)
        num_threads = min(num_threads, int(seconds / PART_SECONDS))
        if num_threads < 2:
            return 1
        team = process_team()
        awake_seconds, asleep_seconds = team.seconds()
        # From the end of a kernel on workers look for the next one.
        is_frequent = perf_counter() - team.last_use < SPIN_SECONDS
        least = HAND_OVERS * awake_seconds
        if team.are_asleep() and not is_frequent:
            least = HAND_OVERS * asleep_seconds
        return num_threads if seconds >= least else 1

    def _split(
        self,
        kernel: Callable[..., object],
        num_rows: int,
        arguments: tuple[Any, ...],
        timing: _Timing,
        num_threads: int,
    ) -> None:
        seconds = timing.row_seconds * num_rows
        per_thread = chunks_per_thread(seconds, num_threads)
        num_chunks = min(num_threads * per_thread, MAX_CHUNKS)
        chunk_blocks = -(-num_rows // (_BLOCK_ROWS * num_chunks))
        chunk_rows = chunk_blocks * _BLOCK_ROWS
        runner = _runners.get(kernel)
        if runner is None:
            runner = _runners[kernel] = make_runner(kernel)
        team = process_team()
        begin = perf_counter()
        # Threads that an earlier split has just woken are awake, or do not get a core.
        is_first = team.are_asleep() and begin - team.last_split >= SPIN_SECONDS
        team.run(runner, num_rows, chunk_rows, num_threads, arguments)
        team.last_use = team.last_split = perf_counter()
        if is_first:
            pass  # The next split will show whether to wake them has paid.
        elif team.last_split - begin > seconds:
            # The cores may have other work: try again later and later.
            timing.pause = min(2 * timing.pause + 1, _MAX_PAUSE)
            timing.calls_to_pause = timing.pause
        else:
            timing.pause = 0
