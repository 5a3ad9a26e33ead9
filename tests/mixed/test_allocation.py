"""From weights to numbers of environments, beside a search of all numbers."""

import itertools
import re
from fractions import Fraction

import pytest

from roll_vec.errors import InvalidOptionError
from roll_vec.mixed.allocation import allocate


def search(num_envs, weights, sizes):
    """Return the documented numbers, or None; slow and obvious."""
    choices = [range(size, num_envs + 1, size) for size in sizes]
    shares = [Fraction(w) * num_envs / sum(map(Fraction, weights)) for w in weights]
    fits = [one for one in itertools.product(*choices) if sum(one) == num_envs]

    def distance(numbers):
        cost = sum((n - s) ** 2 for n, s in zip(numbers, shares, strict=True))
        return cost, [-number for number in numbers]

    return list(min(fits, key=distance)) if fits else None


@pytest.mark.parametrize(
    ("weights", "sizes"),
    [
        ((1,), (4,)),
        ((1, 1), (1, 1)),
        ((2, 1), (8, 1)),
        ((1, 5), (3, 5)),
        ((0.1, 0.2, 0.7), (2, 1, 4)),
        ((1, 1, 1), (6, 4, 10)),
        ((1, 100, 1), (7, 2, 5)),
    ],
)
def test_numbers_are_the_nearest(weights, sizes):
    for num_envs in range(1, 33):
        expected = search(num_envs, weights, sizes)
        if expected is None:
            check_refusal(num_envs, weights, sizes)
        else:
            assert allocate(num_envs, weights, sizes) == expected, num_envs


def check_refusal(num_envs, weights, sizes):
    """Check that numbers without a solution are refused, with some that have one."""
    with pytest.raises(InvalidOptionError, match=r"^num_envs: expected") as caught:
        allocate(num_envs, weights, sizes)
    named = re.search(r"such as (\d+)(?: or (\d+))?,", str(caught.value)).groups()
    for number in filter(None, named):
        assert search(int(number), weights, sizes), "the message names one that fits"


def test_large_batches_are_quick():
    weights, sizes = [1 / 3] * 8 + [7.5], [1] * 4 + [8] * 4 + [64]
    assert sum(allocate(65_537, weights, sizes)) == 65_537
    assert allocate(1 << 20, [1, 1], [512, 7])[0] % 512 == 0
