"""Rows of a batch split over threads, for kernels that release the GIL.

The pools belong to the process, not to an environment: nothing of them is pickled
or copied, and a forked child makes its own.

Python notices Ctrl-C between two of its own instructions alone, never inside compiled
code.  Work that may take seconds therefore runs in slices, see `SliceSizer`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from time import perf_counter

import numpy as np

from roll_vec.errors import InvalidOptionError
from roll_vec.progress import report

__all__ = ["SliceSizer", "for_row_ranges", "resolve_num_threads"]

ENVIRONMENT_VARIABLE = "ROLL_VEC_NUM_THREADS"

# Ctrl-C is noticed after each slice.  A slice of rooms costs some 0.1 ms more than its
# rooms do.
SLICE_SECONDS = 0.05
# A slice has at most so many times the rows of the one that it was estimated from: some
# rooms take a hundred times as long as others.
_GROWTH = 16

_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):
    # A child has the pool's bookkeeping but none of its threads.
    os.register_at_fork(after_in_child=_pools.clear)


def resolve_num_threads(num_threads: int | None) -> int:
    """Return the number of threads that an environment may use.

    Parameters
    ----------
    num_threads : int or None
        None: the variable ``ROLL_VEC_NUM_THREADS`` if it is set, else the number of
        cores this process may run on.

    Raises
    ------
    InvalidOptionError
        If either is not a positive integer.
    """
    if num_threads is None:
        text = os.environ.get(ENVIRONMENT_VARIABLE)
        if text is None:
            if hasattr(os, "sched_getaffinity"):
                return len(os.sched_getaffinity(0))
            return os.cpu_count() or 1
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            message = f"{ENVIRONMENT_VARIABLE}: expected a positive integer, got {text}"
            raise InvalidOptionError(message)
        return int(text)
    if isinstance(num_threads, bool) or not isinstance(num_threads, (int, np.integer)):
        message = f"num_threads: expected None or an integer, got {num_threads!r}"
        raise InvalidOptionError(message)
    if num_threads < 1:
        message = f"num_threads: expected at least 1, got {num_threads}"
        raise InvalidOptionError(message)
    return int(num_threads)


class SliceSizer:
    """Chooses how many rows of long work run between two chances to interrupt.

    It measures the slices, so keep it from call to call.  Threads may share one.  No
    slice has less than one row: a room of 200 by 200 cells takes seconds alone.

    Parameters
    ----------
    unit : str
        What a row is, in the plural, for reports of progress.

    Attributes
    ----------
    rows : int
        Of the next slice.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.rows = 1

    def add(self, num_rows: int, seconds: float) -> None:
        """Take the time of a slice into account."""
        # A slice that was quick and small says nothing about larger ones.
        if seconds > SLICE_SECONDS or num_rows >= self.rows:
            fitting = int(num_rows * SLICE_SECONDS / max(seconds, 1e-6))
            self.rows = max(1, min(fitting, num_rows * _GROWTH))


def for_row_ranges(
    work: Callable[[int, int], object],
    num_rows: int,
    num_threads: int,
    rows_per_thread: int,
    slices: SliceSizer | None = None,
) -> None:
    """Call ``work(start, stop)`` on ranges that cover all rows, and wait.

    Parameters
    ----------
    work : callable
        Must touch the rows from start to stop alone.
    num_rows : int
    num_threads : int
        At most so many threads, each with a part of the rows.
    rows_per_thread : int
        A part has at least so many rows: below that, handing work over costs more
        than it saves.
    slices : SliceSizer or None
        For work of seconds, of which each row must be a function of itself alone: a
        part is done in several calls, in the order of its rows.  The calling thread
        can be interrupted between them, and reports the progress.  Where ``work``
        returns False its part ends there.  None: one call a part.

    Notes
    -----
    Whatever is raised, KeyboardInterrupt as well, no thread works on the rows any
    longer then.  Threads finish the slices that they have begun.
    """
    parts = min(num_threads, num_rows // rows_per_thread)
    if parts <= 1 and slices is None:
        work(0, num_rows)
        return
    if parts <= 1 and slices is not None and num_rows <= slices.rows:
        begin = perf_counter()
        work(0, num_rows)
        slices.add(num_rows, perf_counter() - begin)
        return
    run = _Run(work, num_rows, max(parts, 1), slices)
    if parts <= 1:
        run.do_part(0)
        return
    pool = _pools.get(parts)
    if pool is None:
        pool = _pools[parts] = ThreadPoolExecutor(parts - 1, "roll_vec")
    futures: list[Future[None]] = []
    try:
        for part in range(parts - 1):
            futures.append(pool.submit(run.do_part, part))
        # The calling thread does the last part itself.
        run.do_part(parts - 1)
        while wait(futures, SLICE_SECONDS).not_done:
            run.report()
    except BaseException as error:
        run.is_cancelled = True
        if not isinstance(error, Exception):
            # Parts that wait behind the work of another caller are not begun.
            futures = [future for future in futures if not future.cancel()]
        _wait_for_all(futures)
        raise
    for future in futures:
        future.result()


def _wait_for_all(futures: list[Future[None]]) -> None:
    """Wait until no thread works any longer, whatever interrupts the wait."""
    while True:
        try:
            wait(futures)
        except KeyboardInterrupt:
            # The first one is on its way already.
            continue
        return


class _Run:
    """One call of `for_row_ranges`: its parts and their progress."""

    def __init__(
        self,
        work: Callable[[int, int], object],
        num_rows: int,
        parts: int,
        slices: SliceSizer | None,
    ) -> None:
        self._work, self._num_rows, self._slices = work, num_rows, slices
        self._cuts = [num_rows * part // parts for part in range(parts + 1)]
        self._done = [0] * parts
        self._caller = threading.get_ident()
        self.is_cancelled = False

    def do_part(self, part: int) -> None:
        """Do the rows of one part, in slices where there may be several."""
        start, stop = self._cuts[part : part + 2]
        slices = self._slices
        if slices is None:
            self._work(start, stop)
            return
        reports = threading.get_ident() == self._caller
        at = start
        while at < stop and not self.is_cancelled:
            end = min(at + slices.rows, stop)
            begin = perf_counter()
            goes_on = self._work(at, end)
            slices.add(end - at, perf_counter() - begin)
            self._done[part] += end - at
            at = end
            if reports:
                self.report()
            if goes_on is False:
                return

    def report(self) -> None:
        """Report how many rows are done."""
        if self._slices is not None:
            report(self._slices.unit, sum(self._done), self._num_rows)
