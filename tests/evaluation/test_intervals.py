"""Intervals equal their definitions."""

import math
import statistics

import numpy as np
import pytest

from roll_vec.evaluation import mean_interval, wilson_interval

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
