"""Twisters abreast draw what `random` and `numpy.random` draw."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.rng import mersenne_twister as kernels
from roll_vec.kernels.rng.mersenne_twister import LANES
from tests.conftest import JIT_OFF
from tests.kernels.rng.test_pcg64 import BOUNDS, SEEDS, TOP32

# More than 624 words three times over, so that every branch of the twist is met.
WORDS = 700 if JIT_OFF else 2000


def seeds_of(seeds):
    """The seeds in the first lanes, others in the rest."""
    return np.array([*seeds, *range(7, 7 + LANES)][:LANES], np.uint32)


def seeded(seeds):
    """Blocks seeded as `random` and as `numpy.random`."""
    blocks = np.full((2, kernels.MT_ROWS, LANES), 77, np.uint32)
    kernels.mt_seed(seeds_of(seeds), *blocks)
    return tuple(blocks)


def lane_of(seed):
    return seed % LANES


def seeded_as_python(seed):
    """A block, and the lane that was seeded."""
    lane = lane_of(seed)
    return seeded([9] * lane + [seed])[0], lane


def seeded_as_numpy(seed):
    lane = lane_of(seed)
    return seeded([9] * lane + [seed])[1], lane


def test_lanes_are_seeded_as_random_and_numpy_random():
    for first in range(0, len(SEEDS), LANES):
        seeds = SEEDS[first : first + LANES]
        pythons, numpys = seeded(seeds)
        for lane, seed in enumerate(seeds):
            words = random.Random(seed).getstate()[1][:624]
            assert pythons[:624, lane].tolist() == list(words)
            words = np.random.RandomState(seed).get_state()[1]
            np.testing.assert_array_equal(numpys[:624, lane], words)
        assert not pythons[624].any()
        assert not numpys[624].any()


def test_seeds_forget_what_was_there_before():
    pythons, numpys = fresh = seeded([5])
    used = [block.copy() for block in fresh]
    for block in used:
        for lane in range(LANES):
            for _ in range(30):
                kernels.mt_next(block, lane)
    kernels.mt_seed(seeds_of([5]), *used)
    np.testing.assert_array_equal(used[0], pythons)
    np.testing.assert_array_equal(used[1], numpys)


def test_a_lane_leaves_the_others_alone():
    block, lane = seeded_as_python(5)
    before = block.copy()
    for _ in range(WORDS):
        kernels.mt_next(block, lane)
    others = np.arange(LANES) != lane
    np.testing.assert_array_equal(block[:, others], before[:, others])
    assert (block[:624, lane] != before[:624, lane]).all()


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_mt_next_is_getrandbits(seed):
    theirs, ours = random.Random(seed), seeded_as_python(seed)
    for _ in range(WORDS):
        assert int(kernels.mt_next(*ours)) == theirs.getrandbits(32)


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_mt_random_is_random(seed):
    theirs, ours = random.Random(seed), seeded_as_python(seed)
    numpys, again = np.random.RandomState(seed), seeded_as_numpy(seed)
    for _ in range(WORDS // 2):
        assert kernels.mt_random(*ours) == theirs.random()
        assert kernels.mt_random(*again) == numpys.random_sample()


@pytest.mark.parametrize("n", BOUNDS)
def test_mt_randbelow_is_choice(n):
    for seed in SEEDS[:10]:
        theirs, ours = random.Random(seed), seeded_as_python(seed)
        for _ in range(5 if JIT_OFF else 100):
            assert kernels.mt_randbelow(*ours, n) == theirs.choice(range(n))
        # As many words were drawn.
        assert int(kernels.mt_next(*ours)) == theirs.getrandbits(32)


@pytest.mark.parametrize("n", BOUNDS)
def test_mt_randint_is_numpy_randint(n):
    for seed in SEEDS[:10]:
        theirs, ours = np.random.RandomState(seed), seeded_as_numpy(seed)
        for _ in range(5 if JIT_OFF else 100):
            assert kernels.mt_randint(*ours, n) == theirs.randint(n)
        assert kernels.mt_random(*ours) == theirs.random_sample()


def test_mt_draws_of_one_value():
    # random.choice of one draws and rejects; numpy's randint(1) draws nothing.
    theirs, ours = random.Random(3), seeded_as_python(3)
    assert [kernels.mt_randbelow(*ours, 1) for _ in range(50)] == [0] * 50
    for _ in range(50):
        theirs.choice(range(1))
    assert kernels.mt_random(*ours) == theirs.random()
    before = seeded_as_numpy(3)
    after = before[0].copy(), before[1]
    assert [kernels.mt_randint(*after, 1) for _ in range(50)] == [0] * 50
    np.testing.assert_array_equal(after[0], before[0])


DRAWS = st.lists(
    st.one_of(st.just(0), st.integers(1, 40), st.integers(1, 2**31 - 1)),
    min_size=1,
    max_size=40,
)


@given(st.integers(0, TOP32), DRAWS)
def test_mt_mixed_draws_equal(seed, draws):
    """0 stands for `random`, n for a draw below n."""
    pythons, ours = random.Random(seed), seeded_as_python(seed)
    numpys, again = np.random.RandomState(seed), seeded_as_numpy(seed)
    for n in draws:
        if n == 0:
            assert kernels.mt_random(*ours) == pythons.random()
            assert kernels.mt_random(*again) == numpys.random_sample()
        else:
            assert kernels.mt_randbelow(*ours, n) == pythons.choice(range(n))
            assert kernels.mt_randint(*again, n) == numpys.randint(n)
