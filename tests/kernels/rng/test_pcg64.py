"""PCG64 draws as numpy's does; `fold_in` gives its pinned seeds."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.rng import pcg64 as kernels
from roll_vec.seeding import band_seed, retry_seed
from tests.conftest import JIT_OFF

U = np.uint64
TOP32, TOP64 = 2**32 - 1, 2**64 - 1
MASK = TOP64

_some = random.Random(0)
SEEDS = [0, 1, 2, 3, 1010, 2**31 - 1, 2**31, TOP32 - 1, TOP32]
SEEDS += [_some.getrandbits(32) for _ in range(6 if JIT_OFF else 60)]
SEEDS64 = [*SEEDS, 2**32, 2**63 - 1, 2**63, TOP64 - 1, TOP64]
SEEDS64 += [_some.getrandbits(64) for _ in range(6 if JIT_OFF else 60)]
# 1, powers of two and their neighbours, and some bounds that reject often.
BOUNDS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 100, 129, 1000, 2**16, 2**16 + 1, 2**30 + 1]
BOUNDS += [2**31 - 2, 2**31 - 1]


def seeded_as_pcg(seed):
    """A row of three, between two that must stay as they are."""
    rng_states = np.full((kernels.PCG_WORDS, 3), 77, U)
    kernels.pcg_seed(rng_states, 1, U(seed))
    return rng_states


# -------------------------------------------------------------------- fold_in


def plain_avalanche(word):
    """The finaliser of splitmix64 in Python's integers."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def fold_in_by_hand(seed, counter):
    golden = 0x9E3779B97F4A7C15
    start = plain_avalanche((seed + golden) & MASK)
    return plain_avalanche((start + counter * golden) & MASK) >> 32


# Written down once and for all: a change here is a change of every world.
PINNED = {
    (0, 0): 0x48218226,
    (0, 1): 0xA706DD2F,
    (1, 1): 0x5E41AB08,
    (1, 2): 0xF18D6CE9,
    (1010, 1): 0xE3E335A5,
    (123456789, 1000): 0xB707B93A,
    (TOP32, 1): 0xE91B2C10,
    (0, 2**63 + 1): 0x5385D77F,
    (1010, 2**63 + 1): 0x83134778,
    (1010, 2**63 + 2): 0xBFD97609,
    (TOP32, 2**63 + 1999): 0xEF2CC456,
    (TOP64, TOP64): 0x2DFE1AA5,
}


@pytest.mark.parametrize(("arguments", "value"), PINNED.items())
def test_fold_in_has_its_pinned_values(arguments, value):
    seed, counter = arguments
    assert int(kernels.fold_in(U(seed), U(counter))) == value
    assert fold_in_by_hand(seed, counter) == value


def test_avalanche_is_splitmix64():
    # The first outputs of Vigna's splitmix64.c from the states 0 and 1234567.
    golden = 0x9E3779B97F4A7C15
    assert int(kernels._avalanche(U(golden))) == 0xE220A8397B1DCDAF
    state = 1234567
    for output in (6457827717110365317, 3203168211198807973, 9817491932198370423):
        state = (state + golden) & MASK
        assert int(kernels._avalanche(U(state))) == output


@given(st.integers(0, TOP64), st.integers(0, TOP64))
def test_fold_in_equals_the_formula_in_plain_integers(seed, counter):
    folded = int(kernels.fold_in(U(seed), U(counter)))
    assert folded == fold_in_by_hand(seed, counter)
    assert folded <= TOP32


def test_fold_in_rows_is_fold_in_of_each_row():
    seeds, counters = np.array(SEEDS64, U), np.array(SEEDS64[::-1], U)
    folded = np.zeros_like(seeds)
    kernels.fold_in_rows(seeds, counters, folded)
    expected = [
        fold_in_by_hand(s, c) for s, c in zip(SEEDS64, SEEDS64[::-1], strict=True)
    ]
    assert folded.tolist() == expected


def test_next_seeds_are_those_of_the_episodes_after():
    starts, episodes = np.array(SEEDS, U), np.arange(len(SEEDS), dtype=U)
    rows, seeds = np.array([3, 0, 4]), np.zeros(3, U)
    kernels.next_seeds(rows, starts, episodes, seeds)
    assert seeds.tolist() == [fold_in_by_hand(SEEDS[i], i + 1) for i in (3, 0, 4)]
    assert episodes.tolist() == list(range(len(SEEDS)))


def test_retries_begin_where_no_episode_comes():
    assert int(kernels.RETRY) == 2**63
    retry = kernels.fold_in(U(7), kernels.RETRY + U(2))
    assert retry_seed(7, 2) == int(retry), "the same number stands in `seeding`"
    band = kernels.fold_in(U(7), kernels.BAND + U(2))
    assert band_seed(7, 2) == int(band), "the same number stands in `seeding`"


# ---------------------------------------------------------------------- PCG64


def test_pcg_seed_is_pcg64():
    for seed in SEEDS64:
        rng_states = seeded_as_pcg(seed)
        state = np.random.PCG64(seed).state
        high, low, increment_high, increment_low, *halves = rng_states[:, 1].tolist()
        assert (high << 64) + low == state["state"]["state"], seed
        assert (increment_high << 64) + increment_low == state["state"]["inc"], seed
        assert halves == [state["has_uint32"], state["uinteger"]] == [0, 0], seed
        assert (rng_states[:, [0, 2]] == 77).all(), seed


@pytest.mark.parametrize("seed", SEEDS64[::8])
def test_pcg_next_and_random_are_numpys(seed):
    raws, rng_states = np.random.PCG64(seed), seeded_as_pcg(seed)
    floats, again = np.random.default_rng(seed), seeded_as_pcg(seed)
    for _ in range(50 if JIT_OFF else 1000):
        assert int(kernels.pcg_next(rng_states, 1)) == int(raws.random_raw())
        assert kernels.pcg_random(again, 1) == floats.random()
    assert (rng_states[:, [0, 2]] == 77).all()


@pytest.mark.parametrize("n", [*BOUNDS, 2**31, 2**31 + 1, 3 * 2**30 + 1, 2**32 - 1])
def test_pcg_integers_are_numpys(n):
    for seed in SEEDS64[::8]:
        reference, rng_states = np.random.default_rng(seed), seeded_as_pcg(seed)
        for _ in range(5 if JIT_OFF else 100):
            assert kernels.pcg_integers(rng_states, 1, n) == reference.integers(n)
        # The half that is left over stays for the next draw of 32 bits.
        assert kernels.pcg_random(rng_states, 1) == reference.random()
        assert kernels.pcg_integers(rng_states, 1, 1000) == reference.integers(1000)


@given(
    st.integers(0, TOP64),
    st.lists(st.one_of(st.just(0), st.integers(1, 40), st.integers(1, TOP32))),
)
def test_pcg_mixed_draws_equal(seed, draws):
    """0 stands for `random`, n for a draw below n."""
    reference, rng_states = np.random.default_rng(seed), seeded_as_pcg(seed)
    for n in draws:
        if n == 0:
            assert kernels.pcg_random(rng_states, 1) == reference.random()
        else:
            assert kernels.pcg_integers(rng_states, 1, n) == reference.integers(n)


def test_many_draws_at_once_leave_out_masked_generators():
    n, steps = 21, 5 if JIT_OFF else 200
    rng_states = np.zeros((kernels.PCG_WORDS, n), U)
    references = [np.random.default_rng(seed) for seed in range(n)]
    for i in range(n):
        kernels.pcg_seed(rng_states, i, U(i))
    rng, uniforms = np.random.default_rng(5), np.full(n, -1.0)
    for _ in range(steps):
        mask = rng.random(n) < 0.7
        kernels.pcg_random_rows(1, n - 1, mask, rng_states, uniforms)
        for i in range(1, n - 1):
            if mask[i]:
                assert uniforms[i] == references[i].random()
    assert uniforms[0] == uniforms[-1] == -1.0
    for i in range(n):
        assert kernels.pcg_random(rng_states, i) == references[i].random()


def test_pcg_generators_are_independent():
    rng_states = np.zeros((kernels.PCG_WORDS, 4), U)
    for row in range(4):
        kernels.pcg_seed(rng_states, row, U(row))
    draws = [kernels.pcg_integers(rng_states, row, 10**6) for row in (3, 1, 1, 0, 3, 2)]
    references = [np.random.default_rng(row) for row in range(4)]
    assert draws == [int(references[row].integers(10**6)) for row in (3, 1, 1, 0, 3, 2)]


@given(st.integers(0, TOP64), st.integers(0, TOP64))
def test_multiply_high_is_the_upper_half_of_the_product(a, b):
    assert int(kernels._multiply_high(U(a), U(b))) == (a * b) >> 64


def test_multiply_high_carries_at_the_edges():
    edges = [0, 1, TOP32, 2**32, TOP64 - TOP32, TOP64]
    for a in edges:
        for b in edges:
            assert int(kernels._multiply_high(U(a), U(b))) == (a * b) >> 64
