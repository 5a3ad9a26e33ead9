"""Seeds at the door: what users may pass, and what streams start from.

The one mix of the project is `roll_vec.kernels.rng.pcg64.fold_in`; the functions here
call it, so that a level's seed can be computed without an environment.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidSeedError

__all__ = [
    "check_seed",
    "draw_entropy",
    "draw_missing_seeds",
    "episode_seed",
    "expand_seeds",
    "fold_seed",
    "generator_at",
    "level_for_seed",
    "retry_seed",
]

SEED_BITS = 32


def check_seed(seed: object) -> int:
    """Return a seed as a Python int.

    Raises
    ------
    InvalidSeedError
        If it is not an integer or negative.
    """
    try:
        value = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        message = f"seed: expected a non-negative integer, got {seed!r}"
        raise InvalidSeedError(message) from None
    if value < 0:
        message = f"seed: expected a non-negative integer, got {value}"
        raise InvalidSeedError(message)
    return value


def draw_entropy() -> int:
    """Return a fresh seed below 2**64 from the operating system."""
    words = np.random.SeedSequence().generate_state(1, np.uint64)
    return int(words[0])


def expand_seeds(seed: Any, num_envs: int, group_size: int = 1) -> list[int | None]:
    """Return one seed an environment; None where its stream goes on.

    Parameters
    ----------
    seed : int, sequence or None
        An int s seeds environment i with ``s + i // group_size``; a sequence of
        ``num_envs`` ints and Nones is taken as it is; None is None for all.
    num_envs, group_size : int

    Raises
    ------
    InvalidSeedError
        If a seed is negative or not an integer.
    ValueError
        If a sequence has another length.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, (int, np.integer)):
        first = check_seed(seed)
        return [first + i // group_size for i in range(num_envs)]
    listed = isinstance(seed, Sequence) and not isinstance(seed, (str, bytes))
    if not listed and not (isinstance(seed, np.ndarray) and seed.ndim == 1):
        message = (
            "seed: expected None, a non-negative integer or a sequence of "
            f"{num_envs} of them, got {seed!r}"
        )
        raise InvalidSeedError(message)
    if len(seed) != num_envs:
        message = (
            f"seed: expected one entry for each of the {num_envs} environments, "
            f"got {len(seed)}"
        )
        raise ValueError(message)
    return [None if entry is None else check_seed(entry) for entry in seed]


def draw_missing_seeds(
    seeds: Sequence[int | None], group_size: int
) -> list[int | None]:
    """Return one seed an environment, entropy in the place of a None.

    One draw a group; members with a seed of their own keep it.
    """
    drawn: dict[int, int] = {}
    filled: list[int | None] = []
    for row, seed in enumerate(seeds):
        if seed is None:
            group = row // group_size
            if group not in drawn:
                drawn[group] = draw_entropy()
            seed = drawn[group]
        filled.append(seed)
    return filled


@functools.cache
def _compiled_fold_in() -> Callable[[np.uint64, np.uint64], int]:
    # An import statement in `_fold_in` would cost more than the call itself.
    from roll_vec.kernels.rng.pcg64 import fold_in

    return fold_in  # type: ignore[no-any-return]


def _fold_in(seed: int, counter: int) -> int:
    return int(_compiled_fold_in()(np.uint64(seed), np.uint64(counter)))


def fold_seed(seed: int) -> int:
    """Return the stream seed below 2**32 that a seed of any size stands for.

    A seed below 2**32 stands for itself.  A larger one is cut into limbs of 32
    bits, h starts at 0, and h becomes ``fold_in(h, limb)`` for each limb from the
    lowest to the highest.
    """
    if seed < 1 << SEED_BITS:
        return seed
    folded = 0
    while seed:
        folded = _fold_in(folded, seed & ((1 << SEED_BITS) - 1))
        seed >>= SEED_BITS
    return folded


def episode_seed(seed: int, episode: int) -> int:
    """Return the seed of episode ``episode`` of the stream that starts at ``seed``.

    Episode 0 has the (folded) seed itself, a later one ``fold_in(seed, episode)``.
    """
    folded = fold_seed(seed)
    return folded if episode == 0 else _fold_in(folded, episode)


def level_for_seed(level_seed: int, num_levels: int, start_level: int) -> int:
    """Return the level that an episode's seed plays.

    The seed itself, or with ``num_levels`` K above 0 ``start_level + seed mod K``.
    """
    return start_level + level_seed % num_levels if num_levels else level_seed


def retry_seed(level_seed: int, attempt: int) -> int:
    """Return the seed that attempt ``attempt`` at a Sokoban level draws with.

    Attempt 0 draws with the level seed itself, attempt t with
    ``fold_in(level_seed, 2**63 + t)``.
    """
    return level_seed if attempt == 0 else _fold_in(level_seed, (1 << 63) + attempt)


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


def episode_seeds(
    streams: NDArray[np.uint64], episodes: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return `episode_seed` of many folded streams at once; all (n,) uint64."""
    from roll_vec.kernels.rng.pcg64 import fold_in_rows

    mixed = np.empty_like(streams)
    fold_in_rows(streams, episodes, mixed)
    first = episodes == 0
    if np.count_nonzero(first):
        mixed[first] = streams[first]
    return mixed
