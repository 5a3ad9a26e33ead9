"""Generators draw as `random` and `numpy.random` do; `fold_in` has pinned seeds."""

import random

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.rng import pcg64
from roll_vec.kernels.sokoban import mersenne_twisters
from roll_vec.kernels.sokoban.mersenne_twisters import LANES
from tests.conftest import JIT_OFF

U = np.uint64
TOP32, TOP64 = 2**32 - 1, 2**64 - 1


def compiled(name):
    """Return the machine code of a function of PCG64: Python runs it as Python."""
    function = getattr(pcg64, name)
    return function if JIT_OFF else numba.njit(function.py_func)


pcg_seed, pcg_next, pcg_random, pcg_integers, multiply_high = map(
    compiled, ("pcg_seed", "pcg_next", "pcg_random", "pcg_integers", "_multiply_high")
)

_some = random.Random(0)
SEEDS = [0, 1, 1010, 2**31 - 1, 2**31, TOP32 - 1, TOP32]
SEEDS += [_some.getrandbits(32) for _ in range(2 if JIT_OFF else 20)]
SEEDS64 = [*SEEDS, 2**32, 2**63 - 1, 2**63, TOP64 - 1, TOP64, _some.getrandbits(64)]
# 1, powers of two and their neighbours, and some bounds that reject often.
BOUNDS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 100, 129, 1000, 2**16, 2**16 + 1, 2**30 + 1]
BOUNDS += [2**31 - 2, 2**31 - 1]


def plain_avalanche(word):
    """The finaliser of splitmix64 in Python's integers."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & TOP64
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & TOP64
    return word ^ (word >> 31)


def fold_in_by_hand(seed, counter):
    """The documented formula of `fold_in` in Python's integers."""
    golden = 0x9E3779B97F4A7C15
    start = plain_avalanche((seed + golden) & TOP64)
    return plain_avalanche((start + counter * golden) & TOP64) >> 32


# -------------------------------------------------------------------- fold_in

# Written down once and for all: a change here is a change of every world.
PINNED = {
    (0, 0): 0x48218226,
    (0, 1): 0xA706DD2F,
    (1, 1): 0x5E41AB08,
    (1010, 1): 0xE3E335A5,
    (123456789, 1000): 0xB707B93A,
    (TOP32, 1): 0xE91B2C10,
    (0, 2**63 + 1): 0x5385D77F,
    (1010, 2**63 + 2): 0xBFD97609,
    (TOP64, TOP64): 0x2DFE1AA5,
}


def test_fold_in_has_its_pinned_values():
    for (seed, counter), value in PINNED.items():
        assert int(pcg64.fold_in(U(seed), U(counter))) == value
        assert fold_in_by_hand(seed, counter) == value


def test_fold_in_of_rows_is_the_formula_of_each_row():
    pairs = list(zip(SEEDS64, SEEDS64[::-1], strict=True))
    seeds, counters = np.array(pairs, U).T.copy()
    folded = np.zeros_like(seeds)
    pcg64.fold_in_rows(seeds, counters, folded)
    assert folded.tolist() == [fold_in_by_hand(*pair) for pair in pairs]


# ---------------------------------------------------------------------- PCG64


def seeded_as_pcg(seed):
    """A generator between two that must stay as they are."""
    rng_states = np.full((pcg64.PCG_WORDS, 3), 77, U)
    pcg_seed(rng_states, 1, U(seed))
    return rng_states


def compare_pcg(seed, draws):
    """Draw as numpy does: 0 stands for `random`, -1 for 64 bits, n for one below n."""
    reference, rng_states = np.random.default_rng(seed), seeded_as_pcg(seed)
    state = reference.bit_generator.state
    words = *state["state"].values(), state["has_uint32"], state["uinteger"]
    high, low, increment_high, increment_low, *halves = rng_states[:, 1].tolist()
    own = (high << 64) + low, (increment_high << 64) + increment_low, *halves
    assert own == words, seed
    for n in draws:
        if n > 0:
            assert pcg_integers(rng_states, 1, n) == reference.integers(n)
        elif n == 0:
            assert pcg_random(rng_states, 1) == reference.random()
        else:
            raw = reference.bit_generator.random_raw()
            assert int(pcg_next(rng_states, 1)) == raw
    assert (rng_states[:, [0, 2]] == 77).all()


def test_pcg_draws_as_numpy_below_every_bound():
    bounds = [*BOUNDS, 2**31, 2**31 + 1, 3 * 2**30 + 1, TOP32]
    for seed in SEEDS64:
        for n in bounds:
            # The half that is left over stays for the next draw of 32 bits.
            compare_pcg(seed, [n] * (5 if JIT_OFF else 21) + [0, 1000, -1])


EDGES = st.sampled_from([0, 1, TOP32, 2**32, TOP64 - TOP32, TOP64])


@given(st.integers(0, TOP64) | EDGES, st.integers(0, TOP64) | EDGES)
def test_multiply_high_is_the_upper_half_of_the_product(a, b):
    assert int(multiply_high(U(a), U(b))) == (a * b) >> 64


# ---------------------------------------------------------- Mersenne Twisters


def seeds_of(seeds):
    """The seeds in the first lanes, others in the rest."""
    return np.array([*seeds, *range(7, 7 + LANES)][:LANES], np.uint32)


def seeded_as_twisters(seeds, first_words=(384, 32)):
    """States seeded as `random` and as `numpy.random`."""
    states = tuple(map(mersenne_twisters.make_states, first_words))
    for array in states:
        array[:] = 77
    mersenne_twisters.mt_seed(seeds_of(seeds), *states)
    return states


# The number of words that seeding twists: none, some, past row 227, the most.
@pytest.mark.parametrize("first_words", [(384, 32), (0, 623), (228, 227), (1, 0)])
def test_lanes_draw_as_random_and_numpy_random(first_words):
    # More than 624 words three times over, so that every branch of the twist is met.
    assert len(SEEDS) <= LANES
    seeds, count = SEEDS, 700 if JIT_OFF else 2000
    states = seeded_as_twisters(seeds, first_words)
    used = [array.copy() for array in states]
    for lane, seed in enumerate(seeds):
        own, legacy = random.Random(seed), np.random.RandomState(seed)
        words = [own.getrandbits(32) for _ in range(count)]
        others = legacy.randint(0, 1 << 32, count, np.uint32).tolist()
        for state, before, expected in zip(used, states, (words, others), strict=True):
            found = [int(mersenne_twisters.mt_next(state, lane)) for _ in range(count)]
            assert found == expected
            # Later lanes have not moved.
            rows, rows_before = (each.reshape(-1, LANES) for each in (state, before))
            assert (rows[:, lane + 1 :] == rows_before[:, lane + 1 :]).all()
    # Seeding overwrites states that were used.
    mersenne_twisters.mt_seed(seeds_of(seeds), *used)
    for state, before in zip(used, states, strict=True):
        np.testing.assert_array_equal(state, before)


def compare_twisters(seed, draws):
    """Draw as `random` and `numpy.random`: 0 stands for a float, n for one below n."""
    lane = seed % LANES
    states = seeded_as_twisters([9] * lane + [seed])
    python, theirs = (states[0], lane), (states[1], lane)
    own, legacy = random.Random(seed), np.random.RandomState(seed)
    for n in [*draws, 0]:
        if n == 0:
            assert mersenne_twisters.mt_random(*python) == own.random()
            assert mersenne_twisters.mt_random(*theirs) == legacy.random_sample()
        else:
            drawn = mersenne_twisters.mt_randbelow(*python, n)
            assert drawn == own.choice(range(n))
            # Of one value `random.choice` draws and rejects; numpy draws nothing.
            assert mersenne_twisters.mt_randint(*theirs, n) == legacy.randint(n)


def test_twisters_draw_below_every_bound():
    # Each comparison seeds all lanes, which takes a second uncompiled.
    for seed in SEEDS[: 1 if JIT_OFF else 8]:
        for draws in [BOUNDS * 3] if JIT_OFF else [[n] * 100 for n in BOUNDS]:
            compare_twisters(seed, draws)
