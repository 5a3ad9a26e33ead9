"""Providers of levels: levels of users, and levels generated from seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.bands import draw_measured, search_bands

Seeds = NDArray[np.uint64]
Levels = tuple[NDArray[Any], ...]

# The items of `roll_vec.kernels.unroll.LevelTable`.
LevelTable = tuple[int, NDArray[np.bool_]]
_ALL_PRESENT = np.zeros(0, np.bool_)
NO_LEVELS: LevelTable = (0, _ALL_PRESENT)

# A finite set of levels that takes more memory than this is not cached.
CACHE_BYTES = 1 << 30


class LevelNumbers:
    """The numbers of the levels that episodes play.

    Parameters
    ----------
    num_levels, start_level : int
        With K = ``num_levels`` above 0 an episode of seed e plays the level
        ``start_level + e mod K``.  With K = 0 it plays the level e.

    Attributes
    ----------
    last_number : int
        The highest number of a level.
    """

    last_number: int = (1 << 32) - 1

    def __init__(self, num_levels: int, start_level: int) -> None:
        self.num_levels, self.start_level = num_levels, start_level

    def level_seeds(self, seeds: Seeds) -> Seeds:
        """Return the seeds of the levels that episodes play."""
        if not self.num_levels:
            return seeds
        return seeds % np.uint64(self.num_levels) + np.uint64(self.start_level)

    def level_numbers(
        self, seeds: Seeds, level_indices: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Return the numbers of the levels of seeds; all (m,).

        They are `roll_vec.seeding.level_for_seed` of each seed.  They may be views,
        which are not to be written.  ``level_indices`` are those that
        `LevelProvider.get` returned; None: no level is redrawn, as `table` says.
        """
        # Without a copy, as every reset asks for them: they are below 2**32.
        return self.level_seeds(seeds).view(np.int64)


class LevelProvider(LevelNumbers):
    """Returns the levels of episodes, generated from seeds when an episode needs them.

    Parameters
    ----------
    generate : callable
        From (m,) uint64 level seeds, all different, to a tuple of arrays of m rows.
    num_levels, start_level : int
        See `LevelNumbers`.  Each level of a finite set is generated once and cached.
    level_bytes : int
        Size of one level; sets above `CACHE_BYTES` are not cached.
    measures : tuple of str
        Names of the last arrays of each level, which say how difficult it is.
    """

    def __init__(
        self,
        generate: Callable[[Seeds], Levels],
        num_levels: int,
        start_level: int,
        level_bytes: int,
        measures: tuple[str, ...] = (),
    ) -> None:
        super().__init__(num_levels, start_level)
        self.generate, self.measures = generate, measures
        self._uses_cache = num_levels > 0 and num_levels * level_bytes <= CACHE_BYTES
        self._cache: Levels | None = None
        self._is_cached: NDArray[np.bool_] | None = None
        # Always the same one: arrays of the same table are packed once.
        self._table: tuple[Levels, LevelTable] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Cached levels can be generated again: they are no state.
        caches = dict.fromkeys(("_cache", "_is_cached", "_table"))
        return {**self.__dict__, **caches}

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
        if not self._uses_cache:
            return self.generate_rows(self.level_seeds(seeds))
        numbers = seeds % np.uint64(self.num_levels)
        new = self.uncached(numbers)
        if len(new):
            levels, indices = self.generate_rows(self.level_seeds(seeds[new]))
            self._store(numbers[new], levels, indices)
        return self._cache or (), numbers.astype(np.int64)

    def generate_rows(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        """Return the levels of (m,) level seeds, and the level of each seed."""
        if len(seeds) < 2 or (seeds[1:] > seeds[:-1]).all():
            # Sorting ten million seeds takes seconds and cannot be interrupted.
            return self.generate(seeds), np.arange(len(seeds))
        unique, inverse = np.unique(seeds, return_inverse=True)
        return self.generate(unique), inverse

    def table(self) -> tuple[Levels, LevelTable] | None:
        """Return the levels that are in memory, for kernels that begin episodes.

        Returns
        -------
        levels, table
            Levels as `get` returns them, and the level of each seed; None if `get`
            alone knows it.
        """
        return self._table

    def uncached(self, numbers: Seeds) -> NDArray[np.int64]:
        """Return the positions of levels that are not in the cache."""
        if self._is_cached is None:
            return np.arange(len(numbers))
        is_cached = self._is_cached[numbers]
        if np.count_nonzero(is_cached) == len(numbers):
            return np.zeros(0, np.int64)
        return np.flatnonzero(~is_cached)

    def _store(
        self, numbers: Seeds, levels: Levels, indices: NDArray[np.int64]
    ) -> None:
        """Put levels into the cache."""
        if self._is_cached is None or self._cache is None:
            self._cache = tuple(
                np.empty((self.num_levels, *array.shape[1:]), array.dtype)
                for array in levels
            )
            self._is_cached = np.zeros(self.num_levels, np.bool_)
        for cache, array in zip(self._cache, levels, strict=True):
            cache[numbers] = array[indices]
        self._is_cached[numbers] = True
        is_present = _ALL_PRESENT if self._is_cached.all() else self._is_cached
        self._table = self._cache, (self.num_levels, is_present)


class FixedLevels(LevelProvider):
    """Some of the levels of a set; what is generated are their measures.

    Parameters
    ----------
    options : LevelOptions
        The arrays of its ``levels`` are all levels, not to be written.  An episode of
        seed e plays the level ``start_level + e mod level_count``.  One whose level is
        outside the ``bands`` plays that of the first attempt t = 1, 2, ... whose level
        ``start_level + band_seed(e, t) mod level_count`` is inside.
    measure : callable
        Returns the options' ``measures`` of some levels, if there are any; each is
        measured once, when it is first met.
    """

    def __init__(self, options: Any, measure: Callable[[Levels], Levels]) -> None:
        levels = self.levels = options.levels
        generate = partial(_measure_some, levels, measure)
        numbers = options.level_count, options.start_level
        super().__init__(generate, *numbers, 0, options.measures)
        self.bands, self.last_number = options.bands, len(levels) - 1

    def _own_levels(self) -> Levels:
        rows = slice(self.start_level, self.start_level + self.num_levels)
        return tuple(array[rows] for array in self.levels.arrays)

    def get(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        """Return all levels and their indices by episode; see `LevelProvider.get`."""
        if not self.measures:
            numbers = seeds % np.uint64(self.num_levels)
            return self._own_levels(), numbers.view(np.int64)
        indices, *_ = search_bands(self._measure, seeds, self.measures, self.bands)
        return (*self._own_levels(), *(self._cache or ())), indices

    def _measure(self, seeds: Seeds) -> Levels:
        """Return the indices of the levels of some seeds, and their measures."""
        measures, indices = super().get(seeds)
        return indices, *(array[indices] for array in measures)

    def level_numbers(
        self, seeds: Seeds, level_indices: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Return the indices of the levels in the set."""
        if level_indices is None:
            return super().level_numbers(seeds)
        return level_indices + self.start_level

    def table(self) -> tuple[Levels, LevelTable] | None:
        """Return all levels; None if they are measured; see `LevelProvider.table`."""
        if self.measures:
            return None
        if self._table is None:
            self._table = self._own_levels(), (self.num_levels, _ALL_PRESENT)
        return self._table


def _measure_some(
    levels: Any, measure: Callable[[Levels], Levels], indices: Seeds
) -> Levels:
    """Return the measures of some levels of a set."""
    return measure(tuple(array[indices] for array in levels.arrays))


def provide_levels(
    options: Any,
    generate: Callable[[Seeds], Levels],
    measure_levels: Callable[[Levels], Levels],
) -> LevelProvider:
    """Return the provider of the levels of some options.

    Parameters
    ----------
    options : LevelOptions
        With ``levels`` of its own, ``generate`` is not used.
    generate : callable
        See `LevelProvider`.
    measure_levels : callable
        Returns the options' `measures` of levels, where these are needed.
    """
    if options.levels is not None:
        return FixedLevels(options, measure_levels)
    names, bands = options.measures, options.bands
    if names:
        draw = partial(draw_measured, generate, measure_levels)
        generate = partial(search_bands, draw, names=names, bands=bands)
    variables = [*options.variables.values()][: options.NUM_LEVEL_ARRAYS]
    sizes = [dtype.itemsize * math.prod(shape) for dtype, shape in variables]
    level_bytes = sum(sizes) + 8 * len(names)
    numbers = options.level_count, options.start_level
    return LevelProvider(generate, *numbers, level_bytes, names)


def describe_measures(
    options: Any, measures: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    """Return the measures of levels as infos of resets, (m,) each, also in a dict.

    Parameters
    ----------
    options : LevelOptions
    measures : dict from str to (m,) array
        Those of the levels that have begun, by name.
    """
    infos: dict[str, Any] = {}
    if options.difficulty_info:
        # Integers of Python are int64 in a batch.
        infos["difficulty"] = {
            name: measures[name].astype(f"{measures[name].dtype.kind}8")
            for name in options.DIFFICULTY
        }
    if options.oracle_return_info:
        infos["oracle_return"] = measures["oracle_return"]
    return infos
