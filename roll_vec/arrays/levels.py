"""Levels of episodes: their seeds, and the engine that plays them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.grid_engine import GridEngine
from roll_vec.arrays.level_providers import (
    NO_LEVELS,
    GeneratedLevels,
    LevelProvider,
    Levels,
    LevelTable,
    describe_levels,
)
from roll_vec.arrays.option_sets import OptionSets
from roll_vec.arrays.prefetch import LevelSource, Prefetcher, make_prefetcher
from roll_vec.arrays.rollout_buffer import RolloutBuffer
from roll_vec.kernels.rng.pcg64 import fold_in_rows
from roll_vec.seeding import MAX_COUNT, episode_seeds, fold_seed
from roll_vec.vector.engine import EngineState

Seeds = NDArray[np.uint64]


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

    LIMITS: ClassVar[dict[str, tuple[int, int]]] = {
        "episodes_first_seeds": (0, (1 << 32) - 1),
        "episodes_numbers": (0, MAX_COUNT),
    }
    """The lowest and the highest value of `state_arrays`."""

    def __init__(self, num_envs: int) -> None:
        self.first_seeds = np.zeros(num_envs, np.uint64)
        self.numbers = np.zeros(num_envs, np.uint64)

    def state_arrays(self) -> dict[str, Seeds]:
        """Return the arrays themselves, under their names in a state."""
        return {
            "episodes_first_seeds": self.first_seeds,
            "episodes_numbers": self.numbers,
        }

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
        following = self.numbers[rows] + np.uint64(1)
        fold_in_rows(self.first_seeds[rows], following, seeds)
        return seeds

    def commit(
        self, rows: NDArray[np.int64], first_seeds: Seeds, numbers: Seeds
    ) -> None:
        """Move the rows to the episodes that `plan` returned."""
        self.first_seeds[rows] = first_seeds
        self.numbers[rows] = numbers


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


def _make_provider(
    make: Callable[..., LevelProvider],
    options: Any,
    num_threads: int,
    prefetcher: Prefetcher | None,
) -> LevelProvider:
    """Return the provider of some options, which may draw levels ahead of time."""
    provider = make(options, num_threads)
    if prefetcher is not None and isinstance(provider, GeneratedLevels):
        provider.source = LevelSource(prefetcher, provider.generate)
    return provider


class _Start(NamedTuple):
    """The levels that some environments begin."""

    rows: NDArray[np.int64]
    provider: LevelProvider
    seeds: Seeds
    levels: Levels
    level_indices: NDArray[np.int64]


class LevelEngine(GridEngine):
    """An engine whose environments play a new level in each episode.

    A subclass gives `_level_arrays` and `make_level_provider`.

    Attributes
    ----------
    episodes : EpisodeSeeds
    level_numbers : (n,) int64
        The levels that are played: `LevelProvider.level_numbers`.  Zeros if nothing
        needs them: neither ``levels`` nor ``level_info`` is in the options.
    option_sets : OptionSets
        The level options of each environment's next episode.
    """

    @staticmethod
    def make_level_provider(options: Any, num_threads: int = 1) -> Any:
        """Return the `LevelProvider` of some options."""
        raise NotImplementedError

    def _allocate(self) -> None:
        self.episodes = EpisodeSeeds(self.num_envs)
        self.level_numbers = np.zeros(self.num_envs, np.int64)
        self.prefetcher = make_prefetcher(
            self.prefetch, self.num_envs, self.num_threads
        )
        make_provider = partial(
            _make_provider,
            self.make_level_provider,
            num_threads=self.num_threads,
            prefetcher=self.prefetcher,
        )
        self.option_sets = OptionSets(self.options, self.num_envs, make_provider)
        # Of the last reset of each environment: no state, as no later step reads it.
        self._level_infos: dict[str, Any] = {}
        self._has_level_infos = self.options.has_level_infos
        self._needs_level_numbers = self.options.needs_level_numbers

    def _needs_single_steps(self) -> bool:
        return super()._needs_single_steps() or self._has_level_infos

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
        self.begin_episodes(rows, *self.episodes.plan(rows, seeds))

    def begin_episodes(
        self, rows: NDArray[np.int64], first_seeds: Seeds, numbers: Seeds
    ) -> None:
        """Start certain episodes.

        Parameters
        ----------
        rows : (m,) int64
        first_seeds, numbers : (m,) uint64
            See `EpisodeSeeds`.
        """
        self._begin(rows, episode_seeds(first_seeds, numbers))
        self.episodes.commit(rows, first_seeds, numbers)
        self._order(rows)

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Start the next episode in some environments."""
        if self._begins_inside():
            self._begin_in_memory(rows)
            return
        self._begin(rows, self.episodes.next_seeds(rows))
        self.episodes.numbers[rows] += np.uint64(1)
        self._order(rows)

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
        # Before the first reset there is no next episode.
        if self.prefetcher is not None and self.prefetcher.is_running:
            self._order(env_ids)

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or another attribute of each environment."""
        is_option = name in self.options.LEVEL_OPTIONS
        if is_option and name not in self.PER_ENV_ATTRIBUTES:
            # A number of levels, also where the option says "all of them".
            field = "level_count" if name == "num_levels" else name
            values = [getattr(options, field) for options in self.option_sets.options]
            return tuple(values[k] for k in self.level_options.tolist())
        return super().get_attribute(name)

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._state_arrays(),
            **self.episodes.state_arrays(),
            "level_numbers": self.level_numbers,
            "level_options": self.level_options,
        }

    def get_state(self) -> EngineState:
        """Return a state with the sets of level options; see `Engine.get_state`."""
        # No copy, which takes 10 us: `VectorState` makes one.
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
        self._order(env_ids)

    # ---------------------------------------------------------------- many steps

    def _level_table(self) -> tuple[Levels, LevelTable] | None:
        """Return the levels that episodes can begin with at once, None if none."""
        providers = self.option_sets.providers
        return providers[0].table() if len(providers) == 1 else None

    def _has_next_levels(self) -> bool:
        table = self._level_table()
        return table is not None and not len(table[1][-1])

    def _begins_inside(self) -> bool:
        return not self._has_level_infos and self._has_next_levels()

    @property
    def _source_of_next(self) -> Any:
        return self._level_table()

    def _episodes(self) -> tuple[Any, ...]:
        no_levels = tuple(array[:0] for array in self._level_arrays()), NO_LEVELS
        levels, table = self._level_table() or no_levels
        numbers = self.episodes.first_seeds, self.episodes.numbers
        return self._boards(levels), table, *numbers

    def _level_arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the variables that hold a level, in the order of a level's arrays."""
        raise NotImplementedError

    def _boards(self, levels: Levels) -> Levels:
        """Return levels without their measures, in the shapes of the variables."""
        return tuple(
            level.reshape(len(level), *array.shape[1:])
            for level, array in zip(levels, self._level_arrays(), strict=False)
        )

    def _unroll(self, buffer: RolloutBuffer) -> None:
        before = self.episodes.numbers.copy()
        super()._unroll(buffer)
        self._number_levels(np.flatnonzero(self.episodes.numbers != before))

    def _limits(self) -> dict[str, tuple[int, int]]:
        levels = self.options.levels
        num_levels = 1 << 32 if levels is None else len(levels)
        return {
            **super()._limits(),
            **self.episodes.LIMITS,
            "level_numbers": (0, num_levels - 1),
        }

    def _number_levels(self, rows: NDArray[np.int64]) -> None:
        """Write the level numbers of rows whose episodes a kernel has begun."""
        if self._needs_level_numbers and len(self.option_sets.providers) == 1:
            first_seeds, numbers = self.episodes.first_seeds, self.episodes.numbers
            seeds = episode_seeds(first_seeds[rows], numbers[rows])
            _, level_indices = self.level_provider.get(seeds)
            level_numbers = self.level_provider.level_numbers(seeds, level_indices)
            self.level_numbers[rows] = level_numbers

    # ---------------------------------------------------------------- levels

    def _begin_in_memory(self, rows: NDArray[np.int64]) -> None:
        """Start next episodes in compiled code alone, from levels in memory."""
        self.kernel_threads.run(
            self._kernels.advance_rows, len(rows), rows, self._episodes(), self._state
        )
        self._number_levels(rows)

    def _begin(self, rows: NDArray[np.int64], seeds: Seeds) -> None:
        # Without a level, or upon Ctrl-C, this raises before anything has changed.
        starts = self._get_levels(rows, seeds)
        for rows, provider, seeds, levels, level_indices in starts:
            self.kernel_threads.run(
                self._kernels.place_rows,
                len(rows),
                rows,
                self._boards(levels),
                level_indices,
                seeds,
                self._state,
            )
            if self._needs_level_numbers:
                numbers = provider.level_numbers(seeds, level_indices)
                self.level_numbers[rows] = numbers
            if self._has_level_infos:
                numbers = self.level_numbers[rows]
                infos = describe_levels(
                    self.options, provider, numbers, seeds, levels, level_indices
                )
                _write_infos(self._level_infos, rows, infos, self.num_envs)

    def _get_levels(self, rows: NDArray[np.int64], seeds: Seeds) -> list[_Start]:
        """Return the levels of some rows, together for those with equal options."""
        starts = []
        for k, own_rows, own_seeds in self._by_options(rows, seeds):
            provider = self.option_sets.providers[k]
            levels = provider.get(own_seeds, own_rows)
            starts.append(_Start(own_rows, provider, own_seeds, *levels))
        return starts

    def _by_options(
        self, rows: NDArray[np.int64], seeds: Seeds
    ) -> Iterator[tuple[int, NDArray[np.int64], Seeds]]:
        """Yield each set of level options, with the rows that have it."""
        if len(self.option_sets.providers) == 1:
            yield 0, rows, seeds
            return
        indices = self.level_options[rows]
        for k in np.unique(indices).tolist():
            mask = indices == k
            yield k, rows[mask], seeds[mask]

    def _order(self, rows: NDArray[np.int64]) -> None:
        """Have the levels of the next episodes of some environments drawn."""
        providers = self.option_sets.providers
        is_ahead = [
            each.source is not None and each.source.is_open for each in providers
        ]
        if any(is_ahead):
            seeds = self.episodes.next_seeds(rows)
            for k, own_rows, own_seeds in self._by_options(rows, seeds):
                if is_ahead[k]:
                    providers[k].order(own_seeds, own_rows)
