"""Two ways to do one thing, measured in turns: for the checks of frameworks.

Checks import it as ``from side_by_side import measure``.  It needs Python alone.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any


def measure(
    theirs: Callable[[], int],
    ours: Callable[[], int],
    seconds: float = 1.0,
    rounds: int = 5,
) -> dict[str, float]:
    """Return the median rates of two functions that are called in turns.

    Parameters
    ----------
    theirs, ours : callable
        Do some work, and return how much: a number of steps, say.
    seconds : float
        Length of a round of one of them, at least one call.
    rounds : int

    Returns
    -------
    dict
        ``theirs`` and ``ours``, units of work per second.
    """
    for work in (theirs, ours):  # compiles, and fills caches
        work()
    rates: dict[str, list[float]] = {"theirs": [], "ours": []}
    for _ in range(rounds):
        for name, work in (("theirs", theirs), ("ours", ours)):
            gc.collect()
            count, start = 0, time.perf_counter()
            while True:
                count += work()
                duration = time.perf_counter() - start
                if duration >= seconds:
                    break
            rates[name].append(count / duration)
    return {name: float(f"{statistics.median(r):.4g}") for name, r in rates.items()}


def share_of_calls(work: Callable[[], int], envs: Any, num_works: int = 5) -> float:
    """Return the share of a work's time in steps and resets of ``envs``, in per cent.

    Parameters
    ----------
    work : callable
        Steps ``envs``; see `measure`.
    envs : object
        Its methods ``step`` and ``reset`` are replaced.
    num_works : int
    """
    work()
    seconds = []

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:
            start = time.perf_counter()
            result = function(*args, **keywords)
            seconds.append(time.perf_counter() - start)
            return result

        return call

    envs.step, envs.reset = timed(envs.step), timed(envs.reset)
    start = time.perf_counter()
    for _ in range(num_works):
        work()
    return 100 * sum(seconds) / (time.perf_counter() - start)
