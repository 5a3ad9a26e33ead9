"""The episodes of stacked environments: their seeds, and the levels that they play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.array_env import Ids
from roll_vec.arrays.observations import ObservedEngine
from roll_vec.arrays.state_checks import FINITE, check_generators, check_limits
from roll_vec.errors import InvalidStateError, UnsupportedError
from roll_vec.kernels.rng.pcg64 import seed_rows
from roll_vec.options import (
    MAX_INT,
    check_number,
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
from roll_vec.vector.engine import StateArrays

Seeds = NDArray[np.uint64]
_1 = np.uint64(1)
# So many generators are seeded one by one in less time than with arrays.
_FEW_SEEDS = 8
# The lowest and the highest value of arrays of a state.
_LIMITS = {
    "episodes_first_seeds": (0, (1 << 32) - 1),
    "episodes_numbers": (0, MAX_COUNT),
}


class EpisodeEngine(ObservedEngine):
    """The part of `roll_vec.arrays.engine.ArrayEngine` that begins episodes.

    An environment plays a sequence of episodes that starts from the seed of its reset.
    Episode 0 has this first seed, episode k the seed
    `roll_vec.seeding.episode_seed(first_seed, k)`.

    Kernels begin episodes.  Where the family has levels which are not all in memory,
    those that are missing are drawn before.
    """

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
        if options:
            check_reset_keys(self.options.reset_options, options)
        if seeds is None or not self.is_stream:
            self.advance(env_ids, seeds or ())
        else:
            values = _read_reset_options(self.options, options)
            self._seed_streams(env_ids, seeds)
            state, bound = self._state, self._bound
            if values:
                # Kernels read these numbers until the episodes have begun.
                constants = self._constants(**values)
                self._state, self._bound = (state[0], constants, *state[2:]), {}
            try:
                self.advance(env_ids)
            finally:
                self._state, self._bound = state, bound
        if len(env_ids) == self.num_envs:
            self.needs_full_reset = False

    def _seed_streams(self, env_ids: Ids, seeds: Sequence[int | None]) -> None:
        """Seed the generators of environments with a seed; the others go on."""
        if None in seeds:
            kept = [j for j, seed in enumerate(seeds) if seed is not None]
            env_ids, seeds = env_ids[kept], [seeds[j] for j in kept]
        new_seeds: list[Any] = list(seeds)
        if len(seeds) > _FEW_SEEDS and max(new_seeds) < 1 << 64:
            seed_rows(env_ids, np.array(new_seeds, np.uint64), self.rng_states)
            return
        for env_id, seed in zip(env_ids.tolist(), new_seeds, strict=True):
            # One by one also seeds of more than 64 bits.
            self.rng_states[:, env_id] = generator_words(seed)

    def advance(self, env_ids: Ids, seeds: Sequence[int | None] = ()) -> None:
        """Start the next episode in some environments, and observe it.

        All environments are observed, unless the last step has done it.

        Parameters
        ----------
        env_ids : (m,) int64
        seeds : sequence of m, or empty
            An int starts a stream of episodes, None goes on; empty: all go on.
        """
        if seeds or not self._can_begin_in_kernel:
            first_seeds = self.first_seeds[env_ids]
            numbers = self.episode_numbers[env_ids] + _1
            for j, seed in enumerate(seeds):
                if seed is not None:
                    first_seeds[j], numbers[j] = fold_seed(seed), 0
            if not self._can_begin_in_kernel:
                self._begin_from_levels(env_ids, first_seeds, numbers)
                return
            # The kernel goes on from the episode before.
            self.first_seeds[env_ids] = first_seeds
            self.episode_numbers[env_ids] = numbers - _1
        self._begin_in_kernel(env_ids)

    def _begin_in_kernel(self, env_ids: Ids) -> None:
        bound, n = self._bind(self.max_steps), self.num_envs
        out, self._observations = self._observations, None
        is_new = out is None
        if out is None:
            out = self._out_arrays
        if out is None:
            out = self._make_arrays()
        self._run(bound.begin, n, bound.words, env_ids, out, is_new)
        self._observations = out

    def seeds_of(self, env_ids: Ids) -> Seeds:
        """Return the seeds of the current episodes of some environments."""
        return episode_seeds(self.first_seeds[env_ids], self.episode_numbers[env_ids])

    def generators(self) -> tuple[np.random.Generator, ...]:
        """Return copies of each environment's ``np_random``."""
        if not self.options.has_generator:
            # Those of the episodes, as if rules drew.
            seeds = self.seeds_of(np.arange(self.num_envs)).tolist()
            return tuple(np.random.Generator(np.random.PCG64(seed)) for seed in seeds)
        return tuple(map(generator_at, self.rng_states.T.tolist()))

    @property
    def _can_begin_in_kernel(self) -> bool:
        """Whether kernels can begin each next episode."""
        return self._kernels.begin_levels is None or self.level_provider.is_complete

    def _begin_from_levels(
        self, env_ids: Ids, first_seeds: Seeds, numbers: Seeds
    ) -> None:
        """Start episodes with levels of the provider, which are drawn if need be."""
        seeds = episode_seeds(first_seeds, numbers)
        # Without a level, or upon Ctrl-C, this raises before anything has changed.
        levels, level_indices = self.level_provider.get(seeds)
        arguments = env_ids, levels, level_indices, seeds, self._state
        self._run(self._kernels.begin_levels, len(env_ids), *arguments)
        if len(env_ids) == self.num_envs:
            self._observations = None
        elif self._observations:
            self._write_observations(env_ids, env_ids, self._observations)
        self.first_seeds[env_ids] = first_seeds
        self.episode_numbers[env_ids] = numbers

    # ---------------------------------------------------------------- level options

    def set_level_options(self, level_options: Mapping[str, Any]) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`.

        Raises
        ------
        UnsupportedError
            If random numbers are one stream: there are no levels.  For an option that
            rules read, as the present episodes go on.
        """
        if self.is_stream:
            super().set_level_options(level_options)
        options = replace_level_options(self.options, level_options)
        for name, value in options.kernel_constants.items():
            if not np.array_equal(
                value, self.options.kernel_constants[name], equal_nan=True
            ):
                message = f"{name}: rules read it: make a new environment"
                raise UnsupportedError(message)
        provider = options.make_provider(self.num_threads)
        self.options, self.level_provider, self._bound = options, provider, {}

    # ---------------------------------------------------------------- state

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the state themselves, by name."""
        arrays: dict[str, NDArray[Any]] = {
            "elapsed_steps": self.elapsed_steps,
            "successes": self.successes,
        }
        if self.options.has_generator:
            arrays["generator_states"] = self.rng_states.T
        if not self.is_stream:
            arrays["episodes_first_seeds"] = self.first_seeds
            arrays["episodes_numbers"] = self.episode_numbers
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
        limits = {"elapsed_steps": (0, max_steps or self.max_steps or MAX_INT)}
        options = self.options
        if self.observer is not None and options.draw is options.rules()[2] is None:
            # The board that is observed.
            limits[options.observation] = 0, options.FAMILY.num_codes - 1
        limits |= {**self.options.state_limits, **_LIMITS}
        if self.options.has_generator:
            check_generators(arrays["generator_states"])
        for name in [name for name in limits if name in arrays]:
            check_limits(name, arrays[name], *limits[name])
        self.options.check_rows(arrays)

    def set_state(self, arrays: StateArrays, rows: Ids, env_ids: Ids) -> None:
        """Copy rows of a state; see `Engine.set_state`."""
        self._observations = None
        is_whole = len(env_ids) == self.num_envs
        for name, array in self._state_arrays().items():
            values = arrays[name]
            # The same array: where a caller names no rows.
            if is_whole and rows is env_ids:
                array[...] = values[: len(rows)]
            elif is_whole and array.flags.c_contiguous:
                # The rows have been checked: in another mode `take` makes a copy first.
                np.take(values, rows, 0, array, mode="clip")
            else:
                array[env_ids] = values[rows]
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
    # As Gymnasium reads them, from arrays of one number as well.
    values = {
        name: check_number(f"options[{name!r}]", value, *FINITE)
        for name, value in (options or {}).items()
        if name in known.reset_options
    }
    if values:
        known.check_reset_options({**known.reset_options, **values})
    return values
