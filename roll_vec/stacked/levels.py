"""Levels of episodes: their seeds, their providers, the engine that plays them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from roll_vec.kernels.rng.pcg64 import next_seeds
from roll_vec.seeding import episode_seeds, fold_seed
from roll_vec.stacked.bands import Band, Measure, MeasuredGenerator, search_bands
from roll_vec.stacked.engine import StackedEngine
from roll_vec.stacked.option_sets import OptionSets
from roll_vec.vector.engine import EngineState

__all__ = [
    "EpisodeSeeds",
    "FixedLevels",
    "GeneratedLevels",
    "LevelEngine",
    "LevelProvider",
    "describe_levels",
    "provide_levels",
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

    measures: tuple[str, ...]
    """Names of the last arrays of each level, which say how difficult it is."""

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
    measure : Measure or None
        Each level is measured once, when it is first met.
    bands : mapping from str to Band, or None
        An episode whose level is outside plays that of the first attempt t = 1, 2, ...
        whose level ``start_level + band_seed(e, t) mod num_levels`` is inside.
    """

    def __init__(
        self,
        levels: StoredLevels,
        num_levels: int,
        start_level: int,
        measure: Measure | None = None,
        bands: Mapping[str, Band] | None = None,
    ) -> None:
        self.levels, self.num_levels, self.start_level = levels, num_levels, start_level
        self._measure, self.bands = measure, dict(bands or {})
        self.measures = () if measure is None else measure.names
        self._measured: Levels | None = None
        self._is_measured: NDArray[np.bool_] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Levels can be measured again: the measures are no state.
        return {**self.__dict__, "_measured": None, "_is_measured": None}

    def get(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        """Return all levels and their indices by episode; see `LevelProvider.get`."""
        if self._measure is None:
            return self.levels.arrays, self._indices(seeds)
        indices, *_ = search_bands(self._draw, seeds, self.measures, self.bands)
        return (*self.levels.arrays, *(self._measured or ())), indices

    def _indices(self, seeds: Seeds) -> NDArray[np.int64]:
        numbers = (seeds % np.uint64(self.num_levels)).astype(np.int64)
        return numbers + self.start_level

    def _draw(self, seeds: Seeds) -> Levels:
        """Return the indices of the levels of some seeds, and their measures."""
        indices, arrays = self._indices(seeds), self.levels.arrays
        if self._is_measured is None:
            self._is_measured = np.zeros(len(arrays[0]), np.bool_)
        new = np.unique(indices[~self._is_measured[indices]])
        if len(new) or self._measured is None:
            assert self._measure is not None
            values = self._measure(tuple(array[new] for array in arrays))
            if self._measured is None:
                self._measured = tuple(
                    np.zeros(len(arrays[0]), array.dtype) for array in values
                )
            for own, array in zip(self._measured, values, strict=True):
                own[new] = array
            self._is_measured[new] = True
        return indices, *(array[indices] for array in self._measured)

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
    measures : tuple of str
        Names of the last arrays of ``generate``, which measure the levels.
    """

    def __init__(
        self,
        generate: Callable[[Seeds], Levels],
        num_levels: int,
        start_level: int,
        level_bytes: int,
        measures: tuple[str, ...] = (),
    ) -> None:
        self.generate, self.measures = generate, measures
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


def provide_levels(
    options: Any,
    generate: Callable[[Seeds], Levels],
    level_bytes: int,
    measure: Measure | None,
) -> LevelProvider:
    """Return the provider of the levels of some options.

    Parameters
    ----------
    options : LevelOptions
        With ``levels`` of its own, ``generate`` is not used.
    generate, level_bytes
        See `GeneratedLevels`.
    measure : Measure or None
        Needed if the options have bands, or ask for infos of measures.
    """
    numbers, levels = (options.num_levels, options.start_level), options.levels
    if levels is not None:
        return FixedLevels(levels, *numbers, measure, options.bands)
    if measure is None:
        return GeneratedLevels(generate, *numbers, level_bytes)
    generate_in_bands = MeasuredGenerator(generate, measure, options.bands)
    level_bytes += 8 * len(measure.names)
    return GeneratedLevels(generate_in_bands, *numbers, level_bytes, measure.names)


def describe_levels(
    options: Any,
    provider: LevelProvider,
    seeds: Seeds,
    levels: Levels,
    level_indices: NDArray[np.int64],
) -> dict[str, Any]:
    """Return the infos of resets that the options ask for, (m,) each, also in a dict.

    Parameters
    ----------
    options : LevelOptions
    provider : LevelProvider
        Has returned the levels.
    seeds : (m,) uint64
        Of the episodes that begin.
    levels : tuple of arrays
    level_indices : (m,) int64
        The levels, and the indices of those that begin, as the provider returned them.
    """
    infos: dict[str, Any] = {}
    if options.seed_info:
        infos["seed"] = seeds.astype(np.int64)
    if options.level_info:
        infos["level"] = provider.level_numbers(seeds, level_indices)
    names = provider.measures
    measures = dict(zip(names, levels[len(levels) - len(names) :], strict=True))
    if options.difficulty_info:
        # Integers of Python are int64 in a batch.
        infos["difficulty"] = {
            name: measures[name][level_indices].astype(
                np.int64 if measures[name].dtype.kind == "i" else np.float64
            )
            for name in options.DIFFICULTY
        }
    if options.oracle_return_info:
        infos["oracle_return"] = measures["oracle_return"][level_indices]
    return infos


def _write_infos(
    infos: dict[str, Any], rows: NDArray[np.int64], values: dict[str, Any], n: int
) -> None:
    """Write the infos of some rows into (n,) arrays, which are made if they are new."""
    for key, value in values.items():
        if isinstance(value, dict):
            _write_infos(infos.setdefault(key, {}), rows, value, n)
        else:
            infos.setdefault(key, np.zeros(n, value.dtype))[rows] = value


def _take_infos(infos: dict[str, Any], rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the infos of some rows."""
    return {
        key: _take_infos(value, rows) if isinstance(value, dict) else value[rows]
        for key, value in infos.items()
    }


class _Start(NamedTuple):
    """The levels that some environments begin."""

    rows: NDArray[np.int64]
    provider: LevelProvider
    seeds: Seeds
    levels: Levels
    level_indices: NDArray[np.int64]


class LevelEngine(StackedEngine):
    """An engine whose environments play a new level in each episode.

    A subclass gives `_place`; the levels come from ``SINGLE.make_level_provider``.

    Attributes
    ----------
    episodes : EpisodeSeeds
    option_sets : OptionSets
        The level options of each environment's next episode.
    """

    STATE: ClassVar[tuple[str, ...]] = (
        "episodes.first_seeds",
        "episodes.numbers",
        "level_options",
    )

    def _allocate(self) -> None:
        self.episodes = EpisodeSeeds(self.num_envs)
        make_provider = partial(
            self.SINGLE.make_level_provider, num_threads=self.num_threads
        )
        self.option_sets = OptionSets(self.options, self.num_envs, make_provider)
        # Of the last reset of each environment: no state, as no later step reads it.
        self._level_infos: dict[str, Any] = {}

    def _needs_single_steps(self) -> bool:
        return super()._needs_single_steps() or self.options.has_level_infos

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return the infos of the last resets of some rows."""
        infos = super().reset_infos(rows)
        if self._level_infos:
            infos.update(_take_infos(self._level_infos, rows))
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

    # ---------------------------------------------------------------- level options

    @property
    def level_provider(self) -> LevelProvider:
        """The provider of the levels of the first set of level options."""
        return self.option_sets.providers[0]  # type: ignore[no-any-return]

    @property
    def level_options(self) -> NDArray[np.int32]:
        """(n,) int32: the set of level options of each environment."""
        return self.option_sets.indices

    def set_level_options(
        self, env_ids: NDArray[np.int64], level_options: Mapping[str, Any]
    ) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`."""
        self.option_sets.change(env_ids, level_options)

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or another attribute of each environment."""
        is_option = name in self.options.LEVEL_OPTIONS
        if is_option and name not in self.PER_ENV_ATTRIBUTES:
            values = [getattr(options, name) for options in self.option_sets.options]
            return tuple(values[k] for k in self.level_options.tolist())
        return super().get_attribute(name)

    def get_state(self) -> EngineState:
        """Return a state with the sets of level options; see `Engine.get_state`."""
        shared = {"level_options": self.option_sets.values}
        return super().get_state()._replace(shared=shared)

    def check_state(self, state: EngineState) -> None:
        """Check the state and its level options; see `Engine.check_state`."""
        super().check_state(state)
        values = state.shared.get("level_options")
        self.option_sets.check(state.arrays["level_options"], values)

    def set_state(
        self, state: EngineState, rows: NDArray[np.int64], env_ids: NDArray[np.int64]
    ) -> None:
        """Copy rows of a state; see `Engine.set_state`."""
        indices = self.level_options.copy()
        super().set_state(state, rows, env_ids)
        # Indices into the sets of the state are none into those of this batch.
        new = self.level_options[env_ids]
        self.level_options[:] = indices
        self.option_sets.load(env_ids, new, state.shared["level_options"])

    # ---------------------------------------------------------------- levels

    def _begin(self, rows: NDArray[np.int64], seeds: Seeds) -> None:
        # Without a level, or upon Ctrl-C, this raises before anything has changed.
        starts = self._get_levels(rows, seeds)
        self.elapsed_steps[rows] = 0
        for start in starts:
            levels, num_measures = start.levels, len(start.provider.measures)
            if num_measures:
                levels = levels[:-num_measures]
            self._place(start.rows, levels, start.level_indices, start.seeds)
        if not self.options.has_level_infos:
            return
        for start in starts:
            infos = describe_levels(self.options, *start[1:])
            _write_infos(self._level_infos, start.rows, infos, self.num_envs)

    def _get_levels(self, rows: NDArray[np.int64], seeds: Seeds) -> list[_Start]:
        """Return the levels of some rows, together for those with equal options."""
        providers = self.option_sets.providers
        if len(providers) == 1:
            return [_Start(rows, providers[0], seeds, *providers[0].get(seeds))]
        indices, starts = self.level_options[rows], []
        for k in np.unique(indices).tolist():
            mask = indices == k
            own_seeds, provider = seeds[mask], providers[k]
            levels = provider.get(own_seeds)
            starts.append(_Start(rows[mask], provider, own_seeds, *levels))
        return starts

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
