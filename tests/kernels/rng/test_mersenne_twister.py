"""Mersenne Twisters side by side draw as `random` and `numpy.random` do."""

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
    """States seeded as `random` and as `numpy.random`."""
    states = np.full((2, kernels.MT_WORDS, LANES), 77, np.uint32)
    kernels.mt_seed(seeds_of(seeds), *states)
    return tuple(states)


def lane_of(seed):
    """The lane of a seed: different seeds use different lanes."""
    return seed % LANES


def seeded_as_python(seed):
    """A states, and the lane that was seeded."""
    lane = lane_of(seed)
    return seeded([9] * lane + [seed])[0], lane


def seeded_as_numpy(seed):
    """States, and the lane that was seeded as `numpy.random`."""
    lane = lane_of(seed)
    return seeded([9] * lane + [seed])[1], lane


def test_lanes_are_seeded_as_random_and_numpy_random():
    for first in range(0, len(SEEDS), LANES):
        seeds = SEEDS[first : first + LANES]
        python_states, numpy_states = seeded(seeds)
        for lane, seed in enumerate(seeds):
            words = random.Random(seed).getstate()[1][:624]
            assert python_states[:624, lane].tolist() == list(words)
            words = np.random.RandomState(seed).get_state()[1]
            np.testing.assert_array_equal(numpy_states[:624, lane], words)
        assert not python_states[624].any()
        assert not numpy_states[624].any()


def test_seeding_overwrites_used_states():
    python_states, numpy_states = fresh = seeded([5])
    worn_states = [states.copy() for states in fresh]
    for states in worn_states:
        for lane in range(LANES):
            for _ in range(30):
                kernels.mt_next(states, lane)
    kernels.mt_seed(seeds_of([5]), *worn_states)
    np.testing.assert_array_equal(worn_states[0], python_states)
    np.testing.assert_array_equal(worn_states[1], numpy_states)


def test_a_lane_leaves_the_others_alone():
    states, lane = seeded_as_python(5)
    before = states.copy()
    for _ in range(WORDS):
        kernels.mt_next(states, lane)
    others = np.arange(LANES) != lane
    np.testing.assert_array_equal(states[:, others], before[:, others])
    assert (states[:624, lane] != before[:624, lane]).all()


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_mt_next_is_getrandbits(seed):
    reference, generator = random.Random(seed), seeded_as_python(seed)
    for _ in range(WORDS):
        assert int(kernels.mt_next(*generator)) == reference.getrandbits(32)


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_mt_random_is_random(seed):
    reference, generator = random.Random(seed), seeded_as_python(seed)
    numpy_reference, numpy_generator = (
        np.random.RandomState(seed),
        seeded_as_numpy(seed),
    )
    for _ in range(WORDS // 2):
        assert kernels.mt_random(*generator) == reference.random()
        assert kernels.mt_random(*numpy_generator) == numpy_reference.random_sample()


@pytest.mark.parametrize("n", BOUNDS)
def test_mt_randbelow_is_choice(n):
    for seed in SEEDS[: 2 if JIT_OFF else 10]:
        reference, generator = random.Random(seed), seeded_as_python(seed)
        for _ in range(5 if JIT_OFF else 100):
            assert kernels.mt_randbelow(*generator, n) == reference.choice(range(n))
        # As many words were drawn.
        assert int(kernels.mt_next(*generator)) == reference.getrandbits(32)


@pytest.mark.parametrize("n", BOUNDS)
def test_mt_randint_is_numpy_randint(n):
    for seed in SEEDS[: 2 if JIT_OFF else 10]:
        reference, generator = np.random.RandomState(seed), seeded_as_numpy(seed)
        for _ in range(5 if JIT_OFF else 100):
            assert kernels.mt_randint(*generator, n) == reference.randint(n)
        assert kernels.mt_random(*generator) == reference.random_sample()


def test_mt_draws_of_one_value():
    # random.choice of one draws and rejects; numpy's randint(1) draws nothing.
    reference, generator = random.Random(3), seeded_as_python(3)
    assert [kernels.mt_randbelow(*generator, 1) for _ in range(50)] == [0] * 50
    for _ in range(50):
        reference.choice(range(1))
    assert kernels.mt_random(*generator) == reference.random()
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
    python_reference, generator = random.Random(seed), seeded_as_python(seed)
    numpy_reference, numpy_generator = (
        np.random.RandomState(seed),
        seeded_as_numpy(seed),
    )
    for n in draws:
        if n == 0:
            assert kernels.mt_random(*generator) == python_reference.random()
            assert (
                kernels.mt_random(*numpy_generator) == numpy_reference.random_sample()
            )
        else:
            assert kernels.mt_randbelow(*generator, n) == python_reference.choice(
                range(n)
            )
            assert kernels.mt_randint(*numpy_generator, n) == numpy_reference.randint(n)
