"""The episodes of stacked environments: their seeds, and the levels that they play."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.array_env import Ids
from roll_vec.arrays.row_threads import for_row_ranges
from roll_vec.arrays.rules import explain_failure
from roll_vec.arrays.state_checks import check_generators, check_limits
from roll_vec.errors import InvalidOptionError, InvalidStateError, UnsupportedError
from roll_vec.kernels._jit import IS_COMPILED, allow_overflow
from roll_vec.kernels.rng.pcg64 import PCG_WORDS, fold_in_rows, seed_rows
from roll_vec.options import (
    MAX_INT,
    check_level_option_names,
    check_reset_keys,
    replace_level_options,
)
from roll_vec.seeding import (
    MAX_COUNT,
    episode_seeds,
    fold_seed,
    generator_at,
    generator_words,
)
from roll_vec.vector.engine import Engine, StateArrays

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
    LIMITS : dict, of the class
        The lowest and the highest value of `state_arrays`.
    """

    LIMITS: ClassVar[dict[str, tuple[int, int]]] = {
        "episodes_first_seeds": (0, (1 << 32) - 1),
        "episodes_numbers": (0, MAX_COUNT),
    }

    def __init__(self, num_envs: int) -> None:
        self.first_seeds = np.zeros(num_envs, np.uint64)
        self.numbers = np.zeros(num_envs, np.uint64)

    def state_arrays(self) -> dict[str, Seeds]:
        """Return the arrays themselves, under their names in a state."""
        return {
            "episodes_first_seeds": self.first_seeds,
            "episodes_numbers": self.numbers,
        }

    def plan(self, rows: Ids, seeds: Sequence[int | None]) -> tuple[Seeds, Seeds]:
        """Return first seeds and numbers of the next episodes; nothing changes."""
        first_seeds = self.first_seeds[rows]
        numbers = self.numbers[rows] + np.uint64(1)
        for j, seed in enumerate(seeds):
            if seed is not None:
                first_seeds[j] = fold_seed(seed)
                numbers[j] = 0
        return first_seeds, numbers

    def next_seeds(self, rows: Ids) -> Seeds:
        """Return the seeds of the rows' next episodes; nothing changes."""
        seeds = np.empty(len(rows), np.uint64)
        following = self.numbers[rows] + np.uint64(1)
        fold_in_rows(self.first_seeds[rows], following, seeds)
        return seeds

    def seeds(self, rows: Ids) -> Seeds:
        """Return the seeds of the rows' current episodes."""
        return episode_seeds(self.first_seeds[rows], self.numbers[rows])

    def commit(self, rows: Ids, first_seeds: Seeds, numbers: Seeds) -> None:
        """Move the rows to the episodes that `plan` returned."""
        self.first_seeds[rows] = first_seeds
        self.numbers[rows] = numbers


class EpisodeEngine(Engine):
    """The part of `roll_vec.arrays.engine.ArrayEngine` that begins episodes.

    Kernels begin episodes.  Where the family has levels which are not all in memory,
    those that are missing are drawn before.

    Attributes
    ----------
    variables : tuple of (n, ...) arrays
        What kernels write to.
    constants : tuple of numbers and arrays
        What all environments share.
    rng_states : (6, n) uint64
        States of PCG64 generators; (6, 0) where kernels draw nothing.
    episodes : EpisodeSeeds
    level_provider : LevelNumbers
        The levels of next episodes, where random numbers are not one stream.
    """

    # What kernels have bound, by the limit of steps.
    _bound: dict[int, Any]

    def __init__(
        self,
        options: Any,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
    ) -> None:
        limits = max_episode_steps, getattr(options, "max_steps", None)
        self.max_steps = min((limit for limit in limits if limit), default=0)
        self.options, self.num_threads = options, num_threads
        self._kernels, n = options.family(), num_envs
        # As plain Python, rules run where a debugger stops: on the calling thread.
        self.kernel_threads = num_threads if IS_COMPILED else 1
        # Kernels of fewer rows never run on several threads.
        is_large = num_envs >= 2 * options.ROWS_PER_THREAD
        self._uses_threads = is_large and self.kernel_threads > 1
        self.num_envs, self.variables = n, options.allocate(n)
        self.constants = tuple(options.kernel_constants.values())
        self.rng_states = np.zeros(
            (PCG_WORDS, n if options.has_generator else 0), np.uint64
        )
        self.elapsed_steps = np.zeros(n, np.int32)
        self.successes = np.zeros(n, np.bool_)
        # As kernels take it, see `roll_vec.kernels.unroll`; no array is ever replaced.
        parts = self.variables, self.constants, self.rng_states, self.elapsed_steps
        self._state = parts
        self.is_stream = options.seeding == "stream"
        self.episodes = EpisodeSeeds(n)
        self._level_numbers = np.zeros(n, np.int64)
        # Of episodes that a kernel has begun, and whose levels nobody asked for.
        self._is_unnumbered, self._has_unnumbered = np.zeros(n, np.bool_), False
        self.level_provider: Any = options.make_provider(num_threads)
        # Whether the number of the level that is played is of use later.
        self._needs_level_numbers = (
            options.level_info or options.user_levels is not None
        )

    @allow_overflow
    def _run(self, kernel: Any, num_rows: int, *arguments: Any) -> None:
        """Run a kernel on so many rows, on several threads if there are many."""
        try:
            if self._uses_threads:
                split = self.kernel_threads, self.options.ROWS_PER_THREAD
                for_row_ranges(kernel, num_rows, *split, args=arguments)
            else:
                kernel(0, num_rows, *arguments)
        except Exception as error:
            is_legal = kernel is self._kernels.write_masks
            self._explain(error, "legal" if is_legal else None)

    def _explain(self, error: Exception, rule: str | None = None) -> NoReturn:
        """Raise the error of a kernel, as users get it; rows may have moved."""
        self.needs_full_reset = True
        explained = explain_failure(self.options, error, self.elapsed_steps, rule)
        if explained is error:
            raise error
        raise explained from error

    def _begin_in_kernel(self, env_ids: Ids) -> None:
        """Start the next episodes in compiled code alone."""
        raise NotImplementedError

    def _observe_begun(self, env_ids: Ids) -> None:
        """Note that episodes have begun since the last step."""
        raise NotImplementedError

    # ---------------------------------------------------------------- episodes

    def reset(
        self,
        env_ids: Ids,
        seeds: Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start episodes from new seeds, or the next ones; see `Engine.reset`.

        Raises
        ------
        InvalidOptionError
            If ``reset_options`` of the family have values that cannot be used.
        """
        if seeds is None:
            self.advance(env_ids)
            return
        if options:
            check_reset_keys(self.options.reset_options, options)
        if self.is_stream:
            values = _read_reset_options(self.options, options)
            self._seed_streams(env_ids, seeds)
            with self._replaced_constants(values):
                self.advance(env_ids)
        else:
            self.begin_episodes(env_ids, *self.episodes.plan(env_ids, seeds))
        if len(env_ids) == self.num_envs:
            self.needs_full_reset = False

    @contextmanager
    def _replaced_constants(self, values: Mapping[str, Any]) -> Iterator[None]:
        """Have kernels read other constants for a while."""
        if not values:
            yield
            return
        state, bound = self._state, self._bound
        constants = tuple({**self.options.kernel_constants, **values}.values())
        self._state, self._bound = (state[0], constants, *state[2:]), {}
        try:
            yield
        finally:
            self._state, self._bound = state, bound

    def _seed_streams(self, env_ids: Ids, seeds: Sequence[int | None]) -> None:
        """Seed the generators of environments with a seed; the others go on."""
        if None in seeds:
            env_ids = env_ids[[j for j, seed in enumerate(seeds) if seed is not None]]
        new_seeds = [seed for seed in seeds if seed is not None]
        if not new_seeds:
            return
        low_words = new_seeds
        if max(new_seeds) >= 1 << 64:
            low_words = [seed & (1 << 64) - 1 for seed in new_seeds]
        seed_rows(env_ids, np.array(low_words, np.uint64), self.rng_states)
        if low_words is new_seeds:
            return
        for env_id, seed in zip(env_ids.tolist(), new_seeds, strict=True):
            # The kernel takes 64 bits; numpy itself seeds from more.
            if seed >= 1 << 64:
                generator = np.random.Generator(np.random.PCG64(seed))
                self.rng_states[:, env_id] = generator_words(generator)

    def begin_episodes(self, env_ids: Ids, first_seeds: Seeds, numbers: Seeds) -> None:
        """Start certain episodes.

        Parameters
        ----------
        env_ids : (m,) int64
        first_seeds, numbers : (m,) uint64
            See `EpisodeSeeds`.
        """
        if self._can_begin_in_kernel:
            # The kernel goes on from the episode before.
            self.episodes.commit(env_ids, first_seeds, numbers - np.uint64(1))
            self._begin_in_kernel(env_ids)
        else:
            self._begin_from_levels(env_ids, episode_seeds(first_seeds, numbers))
            self.episodes.commit(env_ids, first_seeds, numbers)

    def advance(self, env_ids: Ids) -> None:
        """Start the next episode in some environments."""
        if self._can_begin_in_kernel:
            self._begin_in_kernel(env_ids)
            return
        self._begin_from_levels(env_ids, self.episodes.next_seeds(env_ids))
        self.episodes.numbers[env_ids] += np.uint64(1)

    def generators(self) -> tuple[np.random.Generator, ...]:
        """Return copies of each environment's ``np_random``."""
        if not self.options.has_generator:
            # Those of the episodes, as if rules drew.
            seeds = self.episodes.seeds(np.arange(self.num_envs)).tolist()
            return tuple(np.random.Generator(np.random.PCG64(seed)) for seed in seeds)
        return tuple(map(generator_at, self.rng_states.T.tolist()))

    @property
    def _can_begin_in_kernel(self) -> bool:
        """Whether kernels can begin each next episode."""
        return self._kernels.begin_levels is None or self.level_provider.is_complete

    def _begin_from_levels(self, env_ids: Ids, seeds: Seeds) -> None:
        """Start episodes with levels of the provider, which are drawn if need be."""
        # Without a level, or upon Ctrl-C, this raises before anything has changed.
        levels, level_indices = self.level_provider.get(seeds)
        arguments = env_ids, levels, level_indices, seeds, self._state
        self._run(self._kernels.begin_levels, len(env_ids), *arguments)
        if self._needs_level_numbers:
            self.level_numbers[env_ids] = self.level_provider.level_numbers(seeds)
        self._observe_begun(env_ids)

    def _note_levels(self, env_ids: Ids) -> None:
        """Note episodes that a kernel has begun, whose levels have no numbers yet."""
        if self._needs_level_numbers:
            self._is_unnumbered[env_ids] = self._has_unnumbered = True

    @property
    def level_numbers(self) -> Ids:
        """The levels that are played: `LevelProvider.level_numbers`, (n,) int64.

        Zeros if nothing needs them: neither ``levels`` nor ``level_info`` is in the
        options.
        """
        if self._has_unnumbered:
            env_ids = np.flatnonzero(self._is_unnumbered)
            self._is_unnumbered[:] = self._has_unnumbered = False
            seeds = self.episodes.seeds(env_ids)
            self._level_numbers[env_ids] = self.level_provider.level_numbers(seeds)
        return self._level_numbers

    def _next_episodes(self) -> tuple[Any, ...]:
        """Return what kernels begin next episodes with."""
        numbers = self.episodes.first_seeds, self.episodes.numbers
        levels = self.level_provider
        if self._kernels.begin_levels is None:
            return self.is_stream, levels.num_levels, levels.start_level, *numbers
        return levels.arrays, levels.is_present, *numbers

    # ---------------------------------------------------------------- level options

    def set_level_options(self, level_options: Mapping[str, Any]) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`.

        Raises
        ------
        UnsupportedError
            If random numbers are one stream: there are no levels.
        """
        if self.is_stream:
            message = (
                f"{self.options.name} has no level options that can change between "
                f"episodes, got {', '.join(level_options) or 'none'}: make a new "
                "environment"
            )
            raise UnsupportedError(message)
        check_level_option_names(self.options, level_options)
        options = replace_level_options(self.options, level_options)
        provider = options.make_provider(self.num_threads)
        # By the options with which the episodes have begun.
        _ = self.level_numbers
        self.options, self.level_provider, self._bound = options, provider, {}

    # ---------------------------------------------------------------- state

    def named_variables(self) -> dict[str, NDArray[Any]]:
        """Return the variables of all environments, by name."""
        return self.options.named(self.variables)  # type: ignore[no-any-return]

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the state themselves, by name."""
        arrays: dict[str, NDArray[Any]] = {
            "elapsed_steps": self.elapsed_steps,
            "successes": self.successes,
        }
        if self.options.has_generator:
            arrays["generator_states"] = self.rng_states.T
        if not self.is_stream:
            arrays |= self.episodes.state_arrays()
            arrays["level_numbers"] = self.level_numbers
        return arrays | self.named_variables()

    def get_state(self, env_ids: Ids | None = None) -> dict[str, NDArray[Any]]:
        """Return copies of the arrays of the state; see `Engine.get_state`."""
        arrays = self._state_arrays()
        if env_ids is not None:
            return {name: array[env_ids] for name, array in arrays.items()}
        # In the order of the memory: some are transposed views.
        return {name: array.copy("K") for name, array in arrays.items()}

    def check_state(self, arrays: StateArrays, max_steps: int | None = None) -> None:
        """Check names, dtypes, shapes and values; see `Engine.check_state`.

        ``max_steps``: the most steps of an episode; None: the limit of the batch.
        """
        present = self._state_arrays()
        if arrays.keys() != present.keys():
            raise InvalidStateError.expected(
                "state", f"the arrays {sorted(present)}", sorted(arrays)
            )
        for name, array in present.items():
            expected = f"{array.dtype} of shape (n, {str(array.shape[1:])[1:]}"
            values = arrays[name]
            if values.dtype != array.dtype or values.shape[1:] != array.shape[1:]:
                value = f"{values.dtype} of shape {values.shape}"
                raise InvalidStateError.of_array(name, expected, value)
        most = max_steps or self.max_steps or MAX_INT
        limits = {"elapsed_steps": (0, most), **self.options.known_limits}
        if not self.is_stream:
            last = self.level_provider.last_number
            limits |= {**self.episodes.LIMITS, "level_numbers": (0, last)}
        if self.options.has_generator:
            check_generators(arrays["generator_states"])
        for name in [name for name in limits if name in arrays]:
            check_limits(name, arrays[name], *limits[name])
        self.options.check_rows(arrays)

    def set_state(self, arrays: StateArrays, rows: Ids, env_ids: Ids) -> None:
        """Copy rows of a state; see `Engine.set_state`."""
        is_whole = len(env_ids) == self.num_envs
        # The same array: where a caller names no rows.
        is_copy = is_whole and rows is env_ids
        for name, array in self._state_arrays().items():
            values = arrays[name]
            if is_copy:
                array[...] = values[: len(rows)]
            elif not is_whole:
                array[env_ids] = values[rows]
            # The rows have been checked: with another mode `take` makes a copy first.
            elif array.flags.c_contiguous:
                np.take(values, rows, 0, array, mode="clip")
            else:
                np.take(values.T, rows, -1, array.T, mode="clip")
        if is_whole:
            self.needs_full_reset = False


def _read_reset_options(
    known: Any, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the ``reset_options`` that the argument of a reset sets, checked.

    Raises
    ------
    InvalidOptionError
    """
    names = known.reset_options.keys() & (options or {}).keys()
    values = {}
    for name in sorted(names):
        value = options[name]  # type: ignore[index]
        try:
            # As Gymnasium reads them, from arrays of one number as well.
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            owner = f"options[{name!r}]"
            raise InvalidOptionError.expected(owner, "a finite number", value)
        values[name] = number
    if values:
        known.check_reset_options({**known.reset_options, **values})
    return values
