"""Mersenne Twisters draw as `random` and `numpy.random`; `fold_in` has pinned seeds.

PCG64 is in ``test_rows_and_generators.py``.
"""

import random

import numpy as np
import pytest

from roll_vec.kernels.rng import pcg64
from roll_vec.kernels.sokoban import mersenne_twisters
from roll_vec.kernels.sokoban.mersenne_twisters import LANES
from tests.conftest import JIT_OFF

U = np.uint64
TOP32, TOP64 = 2**32 - 1, 2**64 - 1


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
