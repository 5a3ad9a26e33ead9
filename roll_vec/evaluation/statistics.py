"""95 % intervals of rates, of means, and of the differences between two policies."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def paired_mean_interval(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> Interval:
    """Return the mean of second minus first, and its 95 % interval.

    The interval is that of `mean_interval` of the n differences: episodes that are hard
    for both policies do not widen it.

    Parameters
    ----------
    first, second : (n,) float64
        The returns of the same episodes in the same order.
    """
    return mean_interval(second - first)


def paired_rate_interval(
    first: NDArray[np.bool_], second: NDArray[np.bool_]
) -> Interval:
    """Return the success rate of second minus that of first, and its 95 % interval.

    Newcombe's score interval for paired rates: Wilson's intervals of both rates, joined
    by way of the correlation of the pairs (Newcombe, Statistics in Medicine 17, 1998,
    page 2635, method 10; recommended by Fagerland, Lydersen and Laake, Statistics in
    Medicine 33, 2014, page 2850).  It stays within -1 and 1, and has a width also where
    both policies solve the same episodes.

    Parameters
    ----------
    first, second : (n,) bool
        The successes in the same episodes in the same order; n is at least 1.
    """
    n = len(first)
    both = int((first & second).sum())
    only_first = int((first & ~second).sum())
    only_second = int((second & ~first).sum())
    neither = n - both - only_first - only_second
    rate1, low1, high1 = wilson_interval(both + only_first, n)
    rate2, low2, high2 = wilson_interval(both + only_second, n)
    phi = _correlation(both, only_first, only_second, neither)
    value = (only_second - only_first) / n
    low = value - _join(rate2 - low2, high1 - rate1, phi)
    high = value + _join(high2 - rate2, rate1 - low1, phi)
    return Interval(value, low, high)


def _join(width1: float, width2: float, phi: float) -> float:
    """Return the width of a difference of two correlated rates."""
    square = width1 * width1 - 2 * phi * width1 * width2 + width2 * width2
    # The exact value is not negative; rounding can miss 0.
    return math.sqrt(max(square, 0.0))


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Return the correlation of pairs, a positive one with a continuity correction."""
    sums = both + only_first, only_second + neither
    product = math.prod((*sums, both + only_second, only_first + neither))
    if product == 0:
        return 0.0
    n = both + only_first + only_second + neither
    excess: float = both * neither - only_first * only_second
    if excess > 0:
        excess = max(excess - n / 2, 0.0)
    return excess / math.sqrt(product)


def mcnemar_p_value(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value of McNemar's test.

    The hypothesis: an episode that only one policy solves is as likely to be of the one
    as of the other.  The p-value is that of the binomial distribution with n =
    ``only_first + only_second`` and 1/2 (McNemar, Psychometrika 12, 1947, page 153),
    without a correction for its discreteness.

    Parameters
    ----------
    only_first, only_second : int
        The number of episodes that only one of the policies solves.
    """
    n, fewer = only_first + only_second, min(only_first, only_second)
    term = tail = 1
    for k in range(1, fewer + 1):
        term = term * (n - k + 1) // k
        tail += term
    # Integers of any size: the quotient is rounded once.
    return min(2 * tail / (1 << n), 1.0)
