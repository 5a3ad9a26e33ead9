"""Seeds: the check of users' seeds, and the seeds of streams, episodes and levels.

A stream is the sequence of episodes that follow one seed.  All derived seeds come from
one function, `roll_vec.kernels.rng.pcg64.fold_in`, so that a level's seed can be
computed without an environment.
"""

from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidSeedError, InvalidStateError

__all__ = ["episode_seed", "fold_seed", "level_for_seed", "retry_seed"]

SEED_BITS = 32
MAX_COUNT = 1 << 62
"""The highest number of an episode, or of steps, that a state may have: the numbers
that follow it must be 64-bit integers, too."""
MAX_BAND_ATTEMPTS = 1000
"""Levels that are tried for a band, with that of attempt 0; see `band_seed`."""
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def check_seed(seed: object) -> int:
    """Return a seed as a Python int.

    Raises
    ------
    InvalidSeedError
        If it is not an integer or negative.
    """
    try:
        # True is 1, and never meant as a seed.
        value = -1 if isinstance(seed, bool) else operator.index(cast(Any, seed))
    except TypeError:
        value = -1
    if value < 0:
        raise InvalidSeedError.expected("seed", "a non-negative integer", seed)
    return value


def draw_entropy() -> int:
    """Return a fresh seed below 2**64 from the operating system."""
    words = np.random.SeedSequence().generate_state(1, np.uint64)
    return int(words[0])


def expand_seeds(seed: Any, num_envs: int, group_size: int = 1) -> list[int | None]:
    """Return one seed per environment; None continues the environment's stream.

    Parameters
    ----------
    seed : int, sequence or None
        An int s seeds environment i with ``s + i // group_size``.  A sequence has
        ``num_envs`` ints and Nones.  None is None for all environments.
    num_envs, group_size : int

    Raises
    ------
    InvalidSeedError
        If a seed is negative or not an integer, or a sequence has another length.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, (int, np.integer)):
        first = check_seed(seed)
        return [first + i // group_size for i in range(num_envs)]
    is_sequence = isinstance(seed, Sequence) and not isinstance(seed, (str, bytes))
    if not is_sequence and not (isinstance(seed, np.ndarray) and seed.ndim == 1):
        accepted = f"None, a non-negative integer or a sequence of {num_envs} of them"
        raise InvalidSeedError.expected("seed", accepted, seed)
    if len(seed) != num_envs:
        accepted = f"one entry for each of the {num_envs} environments"
        raise InvalidSeedError.expected("seed", accepted, len(seed))
    return [None if entry is None else check_seed(entry) for entry in seed]


def draw_missing_seeds(
    seeds: Sequence[int | None], group_ids: Sequence[int]
) -> list[int | None]:
    """Return one seed per environment, drawn from the operating system for a None.

    Environments of a group get the same seed; a seed that is not None stays.
    """
    by_group: defaultdict[int, int] = defaultdict(draw_entropy)
    pairs = zip(seeds, group_ids, strict=True)
    return [by_group[group] if seed is None else seed for seed, group in pairs]


@functools.cache
def _compiled_fold_in() -> Callable[[np.uint64, np.uint64], int]:
    # Cached: an import statement in `_fold_in` costs more than the call itself.
    from roll_vec.kernels.rng.pcg64 import fold_in

    return fold_in  # type: ignore[no-any-return]


def _fold_in(seed: int, counter: int) -> int:
    return int(_compiled_fold_in()(np.uint64(seed), np.uint64(counter)))


def fold_seed(seed: int) -> int:
    """Return the seed of a stream, below 2**32, for a seed of any size.

    A seed below 2**32 stays as it is.  A larger one is cut into limbs of 32 bits.  h
    starts at 0 and becomes ``fold_in(h, limb)`` for each limb, from the lowest to the
    highest.
    """
    if seed < 1 << SEED_BITS:
        return seed
    folded = 0
    while seed:
        folded = _fold_in(folded, seed & ((1 << SEED_BITS) - 1))
        seed >>= SEED_BITS
    return folded


def episode_seed(seed: int, episode: int) -> int:
    """Return the seed of an episode, counted from 0, of the stream of ``seed``.

    Episode 0 has the folded seed itself, a later one ``fold_in(folded, episode)``.
    """
    folded = fold_seed(seed)
    return folded if episode == 0 else _fold_in(folded, episode)


def level_for_seed(level_seed: int, num_levels: int, start_level: int) -> int:
    """Return the level of an episode's seed.

    It is the seed itself; with K levels, K above 0, ``start_level + seed mod K``.
    """
    return start_level + level_seed % num_levels if num_levels else level_seed


def retry_seed(level_seed: int, attempt: int) -> int:
    """Return the generator's seed for an attempt at a Sokoban level, counted from 0.

    Attempt 0 has the level seed itself, attempt t ``fold_in(level_seed, 2**63 + t)``.
    """
    # `RETRY` of `roll_vec.kernels.rng.pcg64`, whose import would load numba.
    return level_seed if attempt == 0 else _fold_in(level_seed, (1 << 63) + attempt)


def band_seed(level_seed: int, attempt: int) -> int:
    """Return the seed of the level that an attempt at a band tries, counted from 0.

    A band is a range of a level's difficulty.  Attempt 0 is the level of the seed
    itself, attempt t that of ``fold_in(level_seed, 2**63 + 2**62 + t)``.  There are
    `MAX_BAND_ATTEMPTS` of them.
    """
    # Beyond the retries of a level.
    counter = (1 << 63) + (1 << 62) + attempt
    return level_seed if attempt == 0 else _fold_in(level_seed, counter)


def generator_at(words: Sequence[int]) -> np.random.Generator:
    """Return a numpy generator at the position of a compiled PCG64 stream.

    Parameters
    ----------
    words : sequence of 6 int
        A column of `roll_vec.kernels.rng.pcg64`: state high and low, increment high and
        low, whether a 32-bit draw is left over, and that draw.
    """
    state_high, state_low, increment_high, increment_low, has_draw, draw = words
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {
            "state": state_high << 64 | state_low,
            "inc": increment_high << 64 | increment_low,
        },
        "has_uint32": has_draw,
        "uinteger": draw,
    }
    return np.random.Generator(bits)


def generator_words(seed: int) -> NDArray[np.uint64]:
    """Return the position of numpy's ``PCG64(seed)`` as `generator_at` reads it.

    Parameters
    ----------
    seed : int
        Of any size.

    Returns
    -------
    (6,) uint64
    """
    state: Any = np.random.PCG64(seed).state["state"]
    numbers = state["state"], state["inc"]
    words = [each >> shift & (1 << 64) - 1 for each in numbers for shift in (64, 0)]
    return np.array([*words, 0, 0], np.uint64)


def make_generator(state: Any) -> np.random.Generator:
    """Return a numpy generator in the state of its bit generator.

    Parameters
    ----------
    state : dict
        ``generator.bit_generator.state``.

    Raises
    ------
    InvalidStateError
    """
    name = state.get("bit_generator") if isinstance(state, Mapping) else None
    try:
        if name not in _BIT_GENERATORS:
            raise ValueError
        bits = getattr(np.random, str(name))(0)
        bits.state = state
    except (KeyError, TypeError, ValueError, OverflowError):
        accepted = "the state of a bit generator of numpy"
        raise InvalidStateError.expected("state: np_random", accepted, state) from None
    return np.random.Generator(bits)


def episode_seeds(
    folded: NDArray[np.uint64], episodes: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return `episode_seed` of many streams, by folded seeds; all (n,) uint64."""
    is_first = episodes == 0
    num_first = np.count_nonzero(is_first)
    if num_first == len(folded):
        return folded.copy()  # so that a first reset does not compile `fold_in_rows`
    seeds = fold_in_arrays(folded, episodes)
    if num_first:
        seeds[is_first] = folded[is_first]
    return seeds


def fold_in_arrays(
    words: NDArray[np.uint64], *counters: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return ``fold_in`` of each word and its counters, one after the other.

    All arrays are (n,) uint64.
    """
    # Its import loads numba.
    from roll_vec.kernels.rng.pcg64 import fold_in_rows

    for column in counters:
        folded = np.empty_like(words)
        fold_in_rows(words, column, folded)
        words = folded
    return words
