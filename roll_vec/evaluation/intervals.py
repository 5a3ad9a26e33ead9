"""95 % intervals of rates and means."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Interval", "mean_interval", "wilson_interval"]

# The quantile 0.975 of the standard normal distribution.
_Z = 1.959963984540054


class Interval(NamedTuple):
    """An estimate and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def wilson_interval(num_successes: int, num_episodes: int) -> Interval:
    """Return a rate and its 95 % score interval, without continuity correction.

    It holds its coverage also near 0 and 1 (Wilson, Journal of the American Statistical
    Association 22, 1927, page 209; recommended by Brown, Cai and DasGupta, Statistical
    Science 16, 2001, page 101).

    Parameters
    ----------
    num_successes : int
        0 to ``num_episodes``.
    num_episodes : int
        At least 1.
    """
    n, rate, square = num_episodes, num_successes / num_episodes, _Z * _Z
    centre = (rate + square / (2 * n)) / (1 + square / n)
    spread = rate * (1 - rate) / n + square / (4 * n * n)
    half = _Z / (1 + square / n) * math.sqrt(spread)
    # The exact ends are 0 and 1 there; rounding misses them.
    low = 0.0 if num_successes == 0 else centre - half
    high = 1.0 if num_successes == n else centre + half
    return Interval(rate, low, high)


def mean_interval(values: NDArray[np.float64]) -> Interval:
    """Return a mean and its 95 % interval by the normal approximation.

    The half width is 1.96 standard errors; the standard error is the standard deviation
    with n - 1 degrees of freedom over the root of n (central limit theorem).  With the
    500 episodes or more of a split, Student's t would make it wider by less than 0.3 %.

    Parameters
    ----------
    values : (n,) float64
        At least 1.  The interval of a single value has no ends.
    """
    try:
        mean = math.fsum(values) / len(values)
    except OverflowError:
        mean = math.fsum(values / len(values))
    if len(values) == 1:
        return Interval(mean, -math.inf, math.inf)
    # Of values beyond 1e154 the squares are infinite, and so are the ends.
    with np.errstate(over="ignore"):
        squares = (values - mean) ** 2
    try:
        variance = math.fsum(squares) / (len(values) - 1)
    except OverflowError:
        variance = math.inf
    half = _Z * math.sqrt(variance / len(values))
    return Interval(mean, mean - half, mean + half)
