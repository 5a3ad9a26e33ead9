"""Levels of episodes: their seeds, their providers, the engine that plays them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from roll_vec.kernels.rng.pcg64 import next_seeds
from roll_vec.seeding import episode_seeds, fold_seed
from roll_vec.stacked.engine import StackedEngine

__all__ = [
    "EpisodeSeeds",
    "FixedLevels",
    "GeneratedLevels",
    "LevelEngine",
    "LevelProvider",
    "describe_levels",
]

Seeds = NDArray[np.uint64]
Levels = tuple[NDArray[Any], ...]

# A finite set of levels that takes more memory than this is not cached.
CACHE_BYTES = 1 << 30


class EpisodeSeeds:
    """The current episode of each of N environments, and the seed of its level.

    An environment plays a sequence of episodes that starts from the seed of its reset.
    Episode 0 has this first seed, episode k the seed
    `roll_vec.seeding.episode_seed(first_seed, k)`.

    Attributes
    ----------
    first_seeds : (n,) uint64
        Folded seeds, below 2**32.
    numbers : (n,) uint64
        Number of the current episode, from 0.
    """

    def __init__(self, num_envs: int) -> None:
        self.first_seeds = np.zeros(num_envs, np.uint64)
        self.numbers = np.zeros(num_envs, np.uint64)

    def plan(
        self, rows: NDArray[np.int64], seeds: Sequence[int | None]
    ) -> tuple[Seeds, Seeds]:
        """Return first seeds and numbers of the next episodes; nothing changes."""
        first_seeds = self.first_seeds[rows]
        numbers = self.numbers[rows] + np.uint64(1)
        for j, seed in enumerate(seeds):
            if seed is not None:
                first_seeds[j] = fold_seed(seed)
                numbers[j] = 0
        return first_seeds, numbers

    def next_seeds(self, rows: NDArray[np.int64]) -> Seeds:
        """Return the seeds of the rows' next episodes; nothing changes."""
        seeds = np.empty(len(rows), np.uint64)
        next_seeds(rows, self.first_seeds, self.numbers, seeds)
        return seeds

    def commit(
        self, rows: NDArray[np.int64], first_seeds: Seeds, numbers: Seeds
    ) -> None:
        """Move the rows to the episodes that `plan` returned."""
        self.first_seeds[rows] = first_seeds
        self.numbers[rows] = numbers


class LevelProvider(Protocol):
    """Returns the levels of episodes."""

    def get(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        """Return levels, and the index of the level that each episode plays.

        Parameters
        ----------
        seeds : (m,) uint64
            Seeds of episodes.

        Returns
        -------
        levels : tuple of arrays
            A level has one row in each; not to be written.
        level_indices : (m,) int64
            Rows of these arrays.

        Raises
        ------
        LevelGenerationError
        """

    def level_numbers(
        self, seeds: Seeds, level_indices: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the numbers of the levels that `get` returned; all (m,)."""


class StoredLevels(Protocol):
    """Levels that exist before they are played."""

    @property
    def arrays(self) -> Levels:
        """All levels; the arrays are not to be written."""


class FixedLevels:
    """Some of the levels of a set, as a `LevelProvider`.

    Parameters
    ----------
    levels : StoredLevels
    num_levels, start_level : int
        An episode of seed e plays the level ``start_level + e mod num_levels``.
    """

    def __init__(self, levels: StoredLevels, num_levels: int, start_level: int) -> None:
        self.levels, self.num_levels, self.start_level = levels, num_levels, start_level

    def get(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        """Return all levels and their indices by episode; see `LevelProvider.get`."""
        numbers = (seeds % np.uint64(self.num_levels)).astype(np.int64)
        return self.levels.arrays, numbers + self.start_level

    def level_numbers(
        self,
        seeds: Seeds,
        level_indices: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the indices of the levels in the set."""
        return level_indices


class GeneratedLevels:
    """Levels that are generated from seeds when an episode needs them.

    Parameters
    ----------
    generate : callable
        From (m,) uint64 level seeds, all different, to a tuple of arrays of m rows.
    num_levels, start_level : int
        With K = ``num_levels`` above 0 an episode of seed e plays the level
        ``start_level + e mod K``, and each level is generated once and cached.  With
        K = 0 it plays the level e.
    level_bytes : int
        Size of one level; sets above `CACHE_BYTES` are not cached.
    """

    def __init__(
        self,
        generate: Callable[[Seeds], Levels],
        num_levels: int,
        start_level: int,
        level_bytes: int,
    ) -> None:
        self.generate = generate
        self.num_levels, self.start_level = num_levels, start_level
        self._uses_cache = num_levels * level_bytes <= CACHE_BYTES
        self._cache: Levels | None = None
        self._is_cached: NDArray[np.bool_] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Cached levels can be generated again: they are no state.
        return {**self.__dict__, "_cache": None, "_is_cached": None}

    def get(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        """Return levels and their indices by episode; see `LevelProvider.get`."""
        if self.num_levels:
            numbers = seeds % np.uint64(self.num_levels)
            if self._uses_cache:
                return self._get_cached(numbers), numbers.astype(np.int64)
            seeds = numbers + np.uint64(self.start_level)
        if len(seeds) < 2 or (seeds[1:] > seeds[:-1]).all():
            # Sorting ten million seeds takes seconds and cannot be interrupted.
            return self.generate(seeds), np.arange(len(seeds))
        unique, inverse = np.unique(seeds, return_inverse=True)
        return self.generate(unique), inverse

    def level_numbers(
        self,
        seeds: Seeds,
        level_indices: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return `roll_vec.seeding.level_for_seed` of each seed."""
        if self.num_levels:
            seeds = seeds % np.uint64(self.num_levels) + np.uint64(self.start_level)
        return seeds.astype(np.int64)

    def _get_cached(self, numbers: Seeds) -> Levels:
        """Return the cache, after the levels with these numbers were added to it."""
        if self._is_cached is None:
            new = np.unique(numbers)
        elif np.count_nonzero(self._is_cached[numbers]) == len(numbers):
            return self._cache or ()
        else:
            new = np.unique(numbers[~self._is_cached[numbers]])
        if len(new):
            levels = self.generate(new + np.uint64(self.start_level))
            if self._is_cached is None or self._cache is None:
                self._cache = tuple(
                    np.empty((self.num_levels, *array.shape[1:]), array.dtype)
                    for array in levels
                )
                self._is_cached = np.zeros(self.num_levels, np.bool_)
            for cache, array in zip(self._cache, levels, strict=True):
                cache[new] = array
            self._is_cached[new] = True
        return self._cache or ()


def describe_levels(
    options: Any,
    provider: LevelProvider,
    seeds: Seeds,
    level_indices: NDArray[np.int64],
) -> dict[str, NDArray[Any]]:
    """Return the infos of resets that the options ask for, (m,) each.

    Parameters
    ----------
    options : LevelOptions
    provider : LevelProvider
        Has returned the levels.
    seeds : (m,) uint64
        Of the episodes that begin.
    level_indices : (m,) int64
        The indices of their levels, as the provider returned them.
    """
    infos = {}
    if options.seed_info:
        infos["seed"] = seeds.astype(np.int64)
    if options.level_info:
        infos["level"] = provider.level_numbers(seeds, level_indices)
    return infos


class LevelEngine(StackedEngine):
    """An engine whose environments play a new level in each episode.

    A subclass gives `_place` and sets ``level_provider``.

    Attributes
    ----------
    episodes : EpisodeSeeds
    level_provider : LevelProvider
    """

    STATE: ClassVar[tuple[str, ...]] = ("episodes.first_seeds", "episodes.numbers")

    level_provider: LevelProvider

    def _allocate(self) -> None:
        self.episodes = EpisodeSeeds(self.num_envs)
        # Of the last reset of each environment: no state, as no later step reads it.
        self._level_infos: dict[str, NDArray[Any]] = {}

    def _has_more_infos(self) -> bool:
        return super()._has_more_infos() or self.options.has_level_infos

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return the infos of the last resets of some rows."""
        infos = super().reset_infos(rows)
        for key, values in self._level_infos.items():
            infos[key] = values[rows]
        return infos

    def reset(
        self,
        rows: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start episodes from new seeds, or the next ones; see `Engine.reset`."""
        first_seeds, numbers = self.episodes.plan(rows, seeds)
        self._begin(rows, episode_seeds(first_seeds, numbers))
        self.episodes.commit(rows, first_seeds, numbers)

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Start the next episode in some environments."""
        self._begin(rows, self.episodes.next_seeds(rows))
        self.episodes.numbers[rows] += np.uint64(1)

    def generators(self) -> tuple[np.random.Generator, ...]:
        """Return each environment's ``np_random``, which is new in each episode."""
        seeds = episode_seeds(self.episodes.first_seeds, self.episodes.numbers)
        return tuple(
            np.random.Generator(np.random.PCG64(seed)) for seed in seeds.tolist()
        )

    def _begin(self, rows: NDArray[np.int64], seeds: Seeds) -> None:
        # Without a level, or upon Ctrl-C, this raises before anything has changed.
        levels, level_indices = self.level_provider.get(seeds)
        self.elapsed_steps[rows] = 0
        self._place(rows, levels, level_indices, seeds)
        if not self.options.has_level_infos:
            return
        infos = describe_levels(self.options, self.level_provider, seeds, level_indices)
        for key, values in infos.items():
            if key not in self._level_infos:
                self._level_infos[key] = np.zeros(self.num_envs, values.dtype)
            self._level_infos[key][rows] = values

    def _place(
        self,
        rows: NDArray[np.int64],
        levels: Levels,
        level_indices: NDArray[np.int64],
        seeds: Seeds,
    ) -> None:
        """Set some environments to the start of levels.

        Parameters
        ----------
        rows : (m,) int64
        levels : tuple of arrays
        level_indices : (m,) int64
            Index into the arrays of ``levels`` for each of the rows.
        seeds : (m,) uint64
            Seeds of the episodes.
        """
        raise NotImplementedError
