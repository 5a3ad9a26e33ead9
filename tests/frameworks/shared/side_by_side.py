"""Two ways to do one thing, compared and measured in turns.

The checks of frameworks import it as ``from side_by_side import measure``.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np


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


def assert_same(ours: Any, theirs: Any, atol: float = 0.0) -> None:
    """Compare observations, infos and the rest, with dtypes; ``atol`` is of floats."""
    if isinstance(ours, np.ndarray):
        assert isinstance(theirs, np.ndarray)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        if ours.dtype != object:
            np.testing.assert_array_equal(ours, theirs)
            return
        ours, theirs = list(ours), list(theirs)
    # Python's numbers and numpy's are alike.
    assert np.isscalar(ours) or type(ours) is type(theirs), (ours, theirs)
    if isinstance(ours, list | tuple):
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, atol)
    elif isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), (ours, theirs)
        for key in ours:
            assert_same(ours[key], theirs[key], atol)
    elif isinstance(ours, float):
        assert abs(ours - theirs) <= atol, (ours, theirs)
    else:
        assert ours == theirs, (ours, theirs)
