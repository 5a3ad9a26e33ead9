"""Intervals and paired differences equal their definitions and the literature."""

import math
import statistics

import numpy as np
import pytest

from roll_vec.evaluation import (
    mcnemar_p_value,
    mean_interval,
    paired_mean_interval,
    paired_rate_interval,
    wilson_interval,
)

Z = statistics.NormalDist().inv_cdf(0.975)


@pytest.mark.parametrize(
    ("num_successes", "num_episodes"), [(0, 10), (1, 10), (7, 9), (500, 1000), (10, 10)]
)
def test_the_ends_of_a_rate_are_where_the_score_test_rejects(
    num_successes, num_episodes
):
    rate, low, high = wilson_interval(num_successes, num_episodes)
    assert rate == num_successes / num_episodes
    assert 0 <= low <= rate <= high <= 1
    assert low < high
    for end in (low, high):
        error = math.sqrt(end * (1 - end) / num_episodes)
        if error > 0:
            assert abs(rate - end) == pytest.approx(Z * error)
        else:
            assert end == rate


def test_a_rate_as_in_the_literature():
    # Newcombe, Statistics in Medicine 17, 1998, page 857: 81 of 263, method 3.
    _, low, high = wilson_interval(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


def test_a_mean_has_its_standard_error():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    mean, low, high = mean_interval(values)
    assert mean == 4
    half = Z * statistics.stdev(values) / 2
    assert (low, high) == (pytest.approx(4 - half), pytest.approx(4 + half))
    assert mean_interval(np.full(5, 0.5)) == (0.5, 0.5, 0.5)


def test_a_mean_of_giant_values_is_no_error():
    values = np.array([1.5e308, 1.5e308, 0.0])
    mean, low, high = mean_interval(values)
    assert mean == pytest.approx(1e308)
    assert (low, high) == (-np.inf, np.inf)


def pairs(both, only_first, only_second, neither):
    """Return the successes of both policies in four kinds of episodes."""
    counts = [both, only_first, only_second, neither]
    return np.repeat([True, True, False, False], counts), np.repeat(
        [True, False, True, False], counts
    )


@pytest.mark.parametrize(
    ("table", "value", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17, 1998, page 2635, method 10.
        ((36, 12, 2, 0), 0.2, 0.0569, 0.3404),
        # Fagerland, Lydersen, Laake, Statistical Analysis of Contingency Tables, 2017,
        # chapter 8, square-and-add: Bentur et al., and Cavo et al.
        ((1, 1, 7, 12), -0.2857, -0.5069, -0.0256),
        ((59, 6, 16, 80), -0.0621, -0.1186, -0.0046),
        # Altman et al., Statistics with Confidence, 2000, page 52: 1 % to 23 %.
        ((14, 5, 0, 22), 0.1220, 0.0115, 0.2265),
    ],
)
def test_rates_as_in_the_literature(table, value, low, high):
    # The papers subtract the second rate from the first.
    first, second = pairs(*table)
    interval = paired_rate_interval(second, first)
    assert interval == pytest.approx((value, low, high), abs=5e-5)
    reverse = paired_rate_interval(first, second)
    assert reverse == pytest.approx((-value, -high, -low), abs=5e-5)


def test_rates_without_a_difference_have_an_interval():
    for table in ((5, 0, 0, 5), (10, 0, 0, 0), (0, 0, 0, 10)):
        value, low, high = paired_rate_interval(*pairs(*table))
        assert value == 0
        assert -1 <= low < 0 < high <= 1
    # Where there is no correlation, the widths are those of independent rates.
    value, low, high = paired_rate_interval(*pairs(10, 0, 0, 0))
    assert high == pytest.approx(1 - wilson_interval(10, 10).low)
    # A difference of 1 is the end of the scale.
    value, low, high = paired_rate_interval(*pairs(0, 0, 7, 0))
    assert (value, high) == (1, 1)
    assert 0 < low < 1


def test_pairs_narrow_the_interval_of_a_mean():
    first = np.array([0.0, 10, 20, 30])
    second = first + np.array([1, 2, 1, 2])
    value, low, high = paired_mean_interval(first, second)
    assert value == 1.5
    # The differences 1, 2, 1, 2 have the standard deviation 1/sqrt(3).
    half = 1.959963984540054 / np.sqrt(3) / 2
    assert (low, high) == (pytest.approx(1.5 - half), pytest.approx(1.5 + half))
    assert high - low < mean_interval(first).high - mean_interval(first).low


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [
        # Sums of a row of Pascal's triangle, by hand: 2 (1 + 8) / 2**8.
        (1, 7, 18 / 256),
        (5, 0, 2 / 32),
        (6, 16, 0.052479),  # scipy.stats.binomtest(6, 22).pvalue
        (120, 150, 0.0773894),  # scipy.stats.binomtest(120, 270).pvalue
        (4, 4, 1.0),
        (0, 0, 1.0),
        (0, 1, 1.0),
    ],
)
def test_p_values_are_exact(only_first, only_second, p_value):
    assert mcnemar_p_value(only_first, only_second) == pytest.approx(p_value, abs=1e-6)
    assert mcnemar_p_value(only_second, only_first) == mcnemar_p_value(
        only_first, only_second
    )


def test_p_values_of_many_episodes_are_numbers():
    # About the normal approximation with a continuity correction.
    assert mcnemar_p_value(4800, 5000) == pytest.approx(0.0444, abs=1e-4)
    assert mcnemar_p_value(0, 10_000) == 0.0
