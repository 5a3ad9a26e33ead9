"""Rows of a batch split over threads, for kernels that release the GIL.

The pools belong to the process, not to an environment: nothing of them is pickled
or copied, and a forked child makes its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from roll_vec.errors import InvalidOptionError

__all__ = ["resolve_num_threads", "run_rows"]

ENVIRONMENT_VARIABLE = "ROLL_VEC_NUM_THREADS"

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


def run_rows(
    work: Callable[[int, int], object],
    num_rows: int,
    num_threads: int,
    rows_per_thread: int,
) -> None:
    """Call ``work(start, stop)`` on ranges that cover all rows, and wait.

    Parameters
    ----------
    work : callable
        Must touch the rows from start to stop alone.
    num_rows : int
    num_threads : int
        At most so many ranges.
    rows_per_thread : int
        A range has at least so many rows: below that, handing work over costs more
        than it saves.
    """
    parts = min(num_threads, num_rows // rows_per_thread)
    if parts <= 1:
        work(0, num_rows)
        return
    pool = _pools.get(parts)
    if pool is None:
        pool = _pools[parts] = ThreadPoolExecutor(parts - 1, "roll_vec")
    cuts = [num_rows * part // parts for part in range(parts + 1)]
    # The calling thread does the last part itself.
    waiting = [pool.submit(work, cuts[i], cuts[i + 1]) for i in range(parts - 1)]
    try:
        work(cuts[-2], cuts[-1])
    finally:
        # Whoever fails, nobody writes any longer once this returns.
        wait(waiting)
    for future in waiting:
        future.result()
