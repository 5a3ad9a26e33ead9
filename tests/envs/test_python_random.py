"""Python's `random` in rules beside CPython's; games draw by it in kernels."""

import random

import pytest

from roll_vec.envs import python_random


@pytest.mark.parametrize("seed", [0, 2**32 - 1, 20])
def test_the_draws_are_those_of_python(seed):
    words, generator = [0] * python_random.RANDOM_WORDS, random.Random(seed)
    python_random.seed_random(words, seed)
    # More than the 624 words of a generator.
    for _ in range(60):
        items, expected = [7, *range(12)], list(range(12))
        python_random.random_shuffle(words, items, 1, 13)
        generator.shuffle(expected)
        assert items == [7, *expected]
        assert python_random.random_float(words) == generator.random()
        # A power of two rejects half of the words, 1 all but the word 0.
        assert python_random.random_below(words, 64) == generator.randint(0, 63)
