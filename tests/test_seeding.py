"""Seeds: an episode gets another seed than documented, or a bad seed is accepted."""

import numpy as np
import pytest
from gymnasium import error as gym_error
from hypothesis import given
from hypothesis import strategies as st

from roll_vec import seeding
from roll_vec.errors import InvalidSeedError, RollVecError

MASK64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def avalanche(word):
    """Return splitmix64's finaliser (Steele, Lea and Flood, 2014), in plain Python."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK64
    return word ^ (word >> 31)


def fold_in(seed, counter):
    """Return the documented `fold_in`, in plain Python."""
    start = avalanche((seed + GOLDEN) & MASK64)
    return avalanche((start + counter * GOLDEN) & MASK64) >> 32


def fold(seed):
    """Return the documented folding, in plain Python."""
    if seed < 1 << 32:
        return seed
    folded = 0
    while seed:
        seed, limb = divmod(seed, 1 << 32)
        folded = fold_in(folded, limb)
    return folded


SEEDS = (
    st.integers(0, (1 << 32) - 1) | st.integers(0, 1 << 70) | st.integers(0, 1 << 300)
)


@given(SEEDS, st.integers(0, 1 << 40), st.integers(0, 3000))
def test_seeds_are_as_documented(seed, episode, attempt):
    folded, level = fold(seed), seed & 0xFFFFFFFF
    retry, band = (1 << 63) + attempt, 3 * (1 << 62) + attempt
    for value, expected in (
        (seeding.fold_seed(seed), folded),
        (
            seeding.episode_seed(seed, episode),
            fold_in(folded, episode) if episode else folded,
        ),
        (
            seeding.retry_seed(level, attempt),
            fold_in(level, retry) if attempt else level,
        ),
        (seeding.band_seed(level, attempt), fold_in(level, band) if attempt else level),
    ):
        assert type(value) is int
        assert value == expected


@given(st.lists(st.tuples(st.integers(0, (1 << 32) - 1), st.integers(0, 1 << 62))))
def test_many_episode_seeds_equal_single_ones(pairs):
    folded_seeds = np.array([stream for stream, _ in pairs], np.uint64)
    episodes = np.array([episode for _, episode in pairs], np.uint64)
    derived = seeding.episode_seeds(folded_seeds, episodes)
    assert derived.dtype == np.uint64
    assert derived.tolist() == [seeding.episode_seed(s, k) for s, k in pairs]


def test_values_never_change():
    # Other values would give other levels under the same ids.
    first = [seeding.episode_seed(0, k) for k in range(4)]
    assert first == [0, 2802244911, 3011683077, 1662685524]
    folded = [seeding.fold_seed(1 << bits) for bits in (31, 32, 64, 200)]
    assert folded == [2147483648, 1351993409, 952523458, 3252092298]
    retries = [seeding.retry_seed(7, attempt) for attempt in range(3)]
    assert retries == [7, 2118445982, 2425803100]
    band = [seeding.band_seed(7, attempt) for attempt in range(3)]
    assert band == [7, 1041480962, 1718030850]


def test_derived_seeds_are_spread_and_hardly_collide():
    streams, episodes = np.divmod(np.arange(90_000, dtype=np.uint64), np.uint64(300))
    derived = seeding.episode_seeds(streams, episodes)
    # 90,000 draws of 2**32 values: one collision is expected.
    assert len(np.unique(derived)) > 90_000 - 12
    counts = np.bincount((derived[episodes > 0] >> np.uint64(28)).astype(np.int64))
    assert len(counts) == 16
    assert counts.min() > 0.95 * counts.mean()


@pytest.mark.parametrize(
    ("seed", "num_envs", "group_size", "expected"),
    [
        (5, 4, 1, [5, 6, 7, 8]),
        (5, 4, 2, [5, 5, 6, 6]),
        (5, 4, 4, [5, 5, 5, 5]),
        (2**64 - 1, 2, 1, [2**64 - 1, 2**64]),
        (np.int64(2**63 - 1), 2, 1, [2**63 - 1, 2**63]),
        (np.uint8(255), 2, 1, [255, 256]),
        (None, 4, 2, [None] * 4),
        ((3, 1, 2), 3, 3, [3, 1, 2]),
        (np.array([3, 1, 2], np.uint8), 3, 3, [3, 1, 2]),
        (range(3), 3, 1, [0, 1, 2]),
        ([None, 4, 3**200], 3, 1, [None, 4, 3**200]),
    ],
)
def test_seeds_of_a_batch(seed, num_envs, group_size, expected):
    seeds = seeding.expand_seeds(seed, num_envs, group_size)
    assert seeds == expected
    assert {type(each) for each in seeds} <= {int, type(None)}


NO_SEEDS = [-1, True, -(2**70), np.int64(-3), 1.0, np.float64(2), "3", b"3", None, {}]
NO_LIST = [1.5, "123", b"123", object(), iter([1, 2, 3]), {1}]
BAD_ENTRIES = [[0, 1, -1], [0, "1", 2], [0, 1.0, 2], [[0], 1, 2]]
OTHER_LENGTHS = [[], [1, 2], [1, 2, 3, 4], np.zeros(4, np.int64)]


def test_other_values_are_refused_and_named():
    for seed in NO_SEEDS:
        with pytest.raises(
            InvalidSeedError, match=r"non-negative integer, got "
        ) as one:
            seeding.check_seed(seed)
        assert isinstance(one.value, gym_error.Error)
        assert isinstance(one.value, RollVecError)
        assert str(seed) in str(one.value)
    for seeds, error, match in (
        *((seed, (InvalidSeedError, ValueError), "seed: expected") for seed in NO_LIST),
        *((s, InvalidSeedError, "non-negative integer, got ") for s in BAD_ENTRIES),
        *((s, ValueError, "each of the 3 environments, got") for s in OTHER_LENGTHS),
    ):
        with pytest.raises(error, match=match):
            seeding.expand_seeds(seeds, 3)


def test_entropy_is_fresh_and_below_64_bits():
    draws = {seeding.draw_entropy() for _ in range(50)}
    assert len(draws) == 50
    assert all(type(seed) is int and 0 <= seed < 2**64 for seed in draws)
