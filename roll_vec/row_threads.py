"""Ranges of rows on several threads, for kernels that release the GIL.

The threads belong to the process, not to an environment: they are never pickled or
copied, and a forked child starts its own.  Nothing here holds a lock of Python's
`threading`, also not within a pool of `concurrent.futures`: Ctrl-C can leave it locked.

Python notices Ctrl-C only between two of its own instructions, never inside compiled
code.  Work that may take seconds therefore runs in slices, see `SliceSizer`.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

from roll_vec.kernels.signals import signal_delay
from roll_vec.options import count_cores
from roll_vec.progress import report

# Ctrl-C is noticed after each slice.  A slice of Sokoban rooms costs some 0.1 ms more
# than its rooms.
SLICE_SECONDS = 0.05
# A slice has at most this many times the rows of the slice that its size was estimated
# from: some rooms take a hundred times as long as others.
_GROWTH = 16


class _Helpers:
    """The threads that take part in runs, and the runs that they are asked for."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.runs: SimpleQueue[_Run] = SimpleQueue()

    def call(self, run: _Run, number: int) -> None:
        """Ask so many threads for help, or as many as can be started."""
        while len(self.threads) < number:
            thread = threading.Thread(target=_help, args=(self.runs,), daemon=True)
            thread.name = f"roll_vec-{len(self.threads)}"
            # Ctrl-C waits until it has started.
            with signal_delay():
                try:
                    thread.start()
                except RuntimeError:  # of a limit, or as the interpreter is exiting
                    break
                self.threads.append(thread)
        for _ in self.threads[:number]:
            self.runs.put(run)


def _help(runs: SimpleQueue[_Run]) -> None:
    while True:
        runs.get().help()


def _forget_threads() -> None:
    # A forked child has the lists but none of the threads.
    global _helpers
    _helpers = _Helpers()


_helpers = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


class ThreadScratch(threading.local):
    """Scratch memory, for each thread its own, of one kind at a time."""

    _key: Any = None
    _memory: Any = None

    def get(self, make: Callable[..., Any], *key: Any) -> Any:
        """Return ``make(*key)``, that of the last call if the key is the same."""
        if self._key != key:
            # The old memory is freed first.
            self._key = self._memory = None
            self._memory = make(*key)
            self._key = key
        return self._memory


class SliceSizer:
    """Chooses the number of rows in a slice, so that Ctrl-C is noticed in time.

    It measures the slices, so keep it from call to call.  Threads may share one.  A
    slice has at least one row: a room of 200 by 200 cells takes seconds alone.

    Parameters
    ----------
    unit : str
        The rows' name in the plural, for reports of progress.

    Attributes
    ----------
    rows : int
        Of the next slice.
    """

    def __init__(self, unit: str) -> None:
        self.unit, self.rows = unit, 1

    def add(self, num_rows: int, seconds: float) -> None:
        """Record the time of a slice."""
        # A small and quick slice tells nothing about larger ones.
        if seconds > SLICE_SECONDS or num_rows >= self.rows:
            fitting = int(num_rows * SLICE_SECONDS / max(seconds, 1e-6))
            self.rows = max(1, min(fitting, num_rows * _GROWTH))


def for_row_ranges(
    work: Callable[..., object],
    num_rows: int,
    num_threads: int,
    rows_per_thread: int,
    slices: SliceSizer | None = None,
    args: tuple[Any, ...] = (),
) -> None:
    """Call ``work(start, stop, *args)`` on ranges that cover all rows, and wait.

    Parameters
    ----------
    work : callable
        Must use only the rows from start to stop.
    num_rows : int
    num_threads : int
        The largest number of threads, each with a part of the rows; no more than cores
        are used, or can be started.
    rows_per_thread : int
        The smallest number of rows in a part: for fewer, handing work to a thread
        costs more than it saves.
    slices : SliceSizer or None
        For work of seconds whose rows are independent of each other: a part is done in
        several calls, in the order of its rows.  The calling thread can be interrupted
        between them, and reports the progress.  If ``work`` returns False, its part
        ends there.  None: one call for each part.
    args : tuple
        Further arguments of ``work``, the same for all ranges.

    Notes
    -----
    When this raises, also KeyboardInterrupt, no thread works on the rows any longer.
    Threads first finish the slices that they have started.  Of several errors it raises
    that of the first rows, as one thread would.
    """
    # Here, as an import of numba takes a third of a second.
    from roll_vec.kernels._jit import allow_overflow

    work = allow_overflow(work)
    num_parts = min(num_threads, num_rows // rows_per_thread)
    if num_parts > 1:
        num_parts = min(num_parts, count_cores())
    if num_parts <= 1 and (slices is None or num_rows <= slices.rows):
        begin = perf_counter()
        work(0, num_rows, *args)
        if slices is not None:
            slices.add(num_rows, perf_counter() - begin)
        return
    num_parts = max(num_parts, 1)  # 0 where one thread gets more rows than there are
    run = _Run(work, args, num_rows, num_parts, slices)
    try:
        _helpers.call(run, num_parts - 1)
        for part in run.parts(from_end=False):
            run.do_part(*part)
        run.wait()
    except BaseException:
        run.is_cancelled = True
        try:
            with signal_delay():
                run.wait()
        finally:
            # Ctrl-C may have come again before signals waited.
            run.wait()
        raise
    if run.errors:
        # Their tracebacks refer to the run, and that to the arrays.
        errors, run.errors = run.errors, {}
        raise errors[min(errors)]


class _Run:
    """One call of `for_row_ranges`: its parts and their progress.

    The caller and its helpers do parts until none is left.  So a helper that comes
    late, or never, does no harm.

    Attributes
    ----------
    is_cancelled : bool
        True: no part is taken, and no slice begun, any more.
    errors : dict of (int, int) to BaseException
        Of helpers, by the rows of the part, from start to before stop.
    """

    def __init__(
        self,
        work: Callable[..., object],
        args: tuple[Any, ...],
        num_rows: int,
        num_parts: int,
        slices: SliceSizer | None,
    ) -> None:
        self._work, self._args = work, args
        self._num_rows, self._slices = num_rows, slices
        # Numbers of rows, which a sum reads while threads append to them.
        self._rows_done: list[int] = []
        self._caller = threading.get_ident()
        cuts = [num_rows * part // num_parts for part in range(num_parts + 1)]
        self._parts = deque(pairwise(cuts))
        # The identifiers of helpers at work; each puts None into the queue at its end.
        self._helpers: set[int] = set()
        self._ends: SimpleQueue[None] = SimpleQueue()
        self.is_cancelled = False
        self.errors: dict[tuple[int, int], BaseException] = {}

    def parts(self, from_end: bool) -> Iterator[tuple[int, int]]:
        """Yield parts that nobody else does, until none is left.

        The caller begins at the first part and helpers at the last one: where the
        caller meets an error, it is that of the first rows.
        """
        next_part = self._parts.pop if from_end else self._parts.popleft
        while not self.is_cancelled:
            try:
                part = next_part()
            except IndexError:
                return
            yield part

    def help(self) -> None:
        """Do parts in a thread that is not the caller's."""
        number, part = threading.get_ident(), (0, 0)
        # In this order: a caller that sees no helper has set `is_cancelled`, or begun
        # the last part, before.
        self._helpers.add(number)
        try:
            for part in self.parts(from_end=True):
                self.do_part(*part)
        except BaseException as error:
            self.errors[part] = error
        finally:
            self._helpers.discard(number)
            self._ends.put(None)

    def wait(self) -> None:
        """Wait until no helper is at work."""
        while self._helpers:
            with suppress(Empty):
                self._ends.get(timeout=SLICE_SECONDS)
            if not self.is_cancelled:
                self.report()

    def do_part(self, start: int, stop: int) -> None:
        """Do the rows of one part, in slices where there may be several."""
        slices = self._slices
        if slices is None:
            self._work(start, stop, *self._args)
            return
        continues: Any = None
        while start < stop and continues is not False and not self.is_cancelled:
            end, begin = min(start + slices.rows, stop), perf_counter()
            continues = self._work(start, end, *self._args)
            slices.add(end - start, perf_counter() - begin)
            self._rows_done.append(end - start)
            start = end
            if threading.get_ident() == self._caller:
                self.report()

    def report(self) -> None:
        """Report how many rows are done."""
        if self._slices is not None:
            report(self._slices.unit, sum(self._rows_done), self._num_rows)
