"""N environments of one `ArrayEnv` in stacked arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from gymnasium.spaces import Tuple as TupleSpace
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.engine import StackedEngine
from roll_vec.arrays.levels import EpisodeSeeds
from roll_vec.arrays.prefetch import Levels, LevelSource, Seeds, make_prefetcher
from roll_vec.arrays.rules import explain
from roll_vec.errors import InvalidActionError, InvalidStateError
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.kernels.rows import Row
from roll_vec.kernels.thread_team import IS_COMPILED
from roll_vec.options import check_int, check_level_option_names, check_levels
from roll_vec.seeding import draw_entropy, episode_seeds, generator_words
from roll_vec.spaces import MAX_TEXT, UnicodeText
from roll_vec.text.turn import BatchStep
from roll_vec.vector.engine import EngineState
from roll_vec.vector.space_batches import item_at

_NOTHING = nullcontext()


class ArrayEngine(StackedEngine):
    """The engine of an `ArrayEnv`; see `roll_vec.vector.engine.Engine`."""

    options: ArrayEnv

    @property
    def observes_text(self) -> bool:
        """Whether observations are texts of the method ``text``."""
        return self.options.obs_mode == "text" and self.options.writes_own_text

    def _observation_space(self) -> Space[Any]:
        if self.observes_text:
            return UnicodeText(MAX_TEXT)
        if self.observer is not None:
            return self.observer.space
        return self.options.observation_space

    def _allocate(self) -> None:
        options, n = self.options, self.num_envs
        self.variables = options.allocate(n)
        self.constants = tuple(options.constants.values())
        self.rng_states = np.zeros((PCG_WORDS, n), np.uint64)
        self.episodes = EpisodeSeeds(n)
        self.num_levels = np.full(n, options.num_levels, np.uint64)
        self.start_levels = np.full(n, options.start_level, np.uint64)
        # Of the last step, until something else moves an environment.
        self._observations: tuple[NDArray[Any], ...] | None = None
        self._source: LevelSource | None = None
        if options.seeding != "stream":
            self.prefetcher = make_prefetcher(self.prefetch, n, self.num_threads)
            if self.prefetcher is not None:
                self._source = LevelSource(self.prefetcher, partial(_draw, options))
        self._derive()

    def _derive(self) -> None:
        """Find the kernels, and the variables that are infos."""
        self._kernels = self.options.family()
        variables = self._named_variables()
        self._infos = {name: variables[name] for name in self.options.infos}

    def _named_variables(self) -> dict[str, NDArray[Any]]:
        return dict(zip(self.options.variables, self.variables, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {**state, "_kernels": None, "_infos": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._derive()

    @property
    def PER_ENV_ATTRIBUTES(self) -> tuple[str, ...]:
        """Attributes that differ between environments."""
        return (*self.options.variables, "num_env_steps")

    def _episodes(self) -> tuple[Any, ...]:
        return (
            self.options.seeding == "stream",
            self.num_levels,
            self.start_levels,
            self.episodes.first_seeds,
            self.episodes.numbers,
        )

    def _rules(self, max_steps: int) -> tuple[Any, ...]:
        options = self.options
        reward = float(options.invalid_reward)
        return self.first_action, max_steps, reward, options.takes_invalid_actions

    def _run(self, kernel: Any, num_rows: int, *arguments: Any) -> None:
        """Run a kernel on a range of rows, on one thread or several."""
        self._guard(self.kernel_threads.run, kernel, num_rows, *arguments)

    def _run_steps(
        self, kernel: Any, num_rows: int, num_steps: int, *arguments: Any
    ) -> None:
        run = super()._run_steps
        self._guard(run, kernel, num_rows, num_steps, *arguments)

    def _step_batch(
        self, actions: Any, skip_mask: NDArray[np.bool_], *more: Any
    ) -> tuple[BatchStep, NDArray[np.bool_]]:
        step = super()._step_batch
        return self._guard(step, actions, skip_mask, *more)  # type: ignore[no-any-return]

    def _step_observations(self) -> tuple[NDArray[Any], ...]:
        self._observations = self.options.allocate_observations(self.num_envs)
        return self._observations

    def play_one(self, actions: NDArray[Any]) -> tuple[float, bool, dict[str, Any]]:
        """Take one action in the one environment; see `StackedEngine.play_one`."""
        self._observations = None
        return self._guard(super().play_one, actions)  # type: ignore[no-any-return]

    def _guard(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function; what rules and their compilation raise names the class."""
        try:
            # With the JIT off, kernels warn of integers that wrap around.
            with _NOTHING if IS_COMPILED else np.errstate(over="ignore"):
                return function(*arguments)
        except NumbaError as error:
            options = self.options
            raise explain(error, type(options).__name__, options.rules()) from error
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            # Of a tuple that is None.
            hint = " (a path has no return)" if "got None" in str(error) else ""
            message = (
                f"{type(self.options).__name__}: a rule failed: {error}{hint}; with "
                "NUMBA_DISABLE_JIT=1 the traceback has its line"
            )
            raise type(error)(message) from error

    # ---------------------------------------------------------------- episodes

    def reset(
        self,
        env_ids: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start episodes from new seeds, or the next ones; see `Engine.reset`."""
        if not self._begins_inside() and all(seed is None for seed in seeds):
            self.advance(env_ids)
            return
        if self.options.seeding == "stream":
            for env_id, seed in zip(env_ids.tolist(), seeds, strict=True):
                if seed is None and not self.rng_states[2:, env_id].any():
                    seed = draw_entropy()
                if seed is not None:
                    self._seed_stream(env_id, seed)
        first_seeds, numbers = self.episodes.plan(env_ids, seeds)
        self.episodes.commit(env_ids, first_seeds, numbers)
        self._begin(self._kernels.begin_rows, env_ids)
        self._order(env_ids)

    def _seed_stream(self, env_id: int, seed: int) -> None:
        generator = np.random.Generator(np.random.PCG64(seed))
        self.rng_states[:, env_id] = generator_words(generator)

    def advance(self, env_ids: NDArray[np.int64]) -> None:
        """Start the next episode in some environments."""
        if self._begins_inside():
            self._begin(self._kernels.advance_rows, env_ids)
            return
        assert self._source is not None
        self._observations = None
        seeds = self._level_seeds(env_ids, self.episodes.next_seeds(env_ids))
        levels, rows = self._source.get(env_ids, seeds, self._draw_now)
        arrays = *self.variables, self.rng_states.T
        for array, level in zip(arrays, levels, strict=True):
            array[env_ids] = level[rows]
        self.elapsed_steps[env_ids] = 0
        self.episodes.numbers[env_ids] += np.uint64(1)
        self._order(env_ids)

    def _begins_inside(self) -> bool:
        # What has been drawn ahead of time is where no kernel looks for it.
        return self._source is None or not self._source.is_open

    def _draw_now(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        return _draw(self.options, seeds, self._run), np.arange(len(seeds))

    def _order(self, env_ids: NDArray[np.int64]) -> None:
        """Have the next episodes of some environments begun ahead of time."""
        if not self._begins_inside():
            assert self._source is not None
            seeds = self._level_seeds(env_ids, self.episodes.next_seeds(env_ids))
            self._source.order(env_ids, seeds)

    def _level_seeds(self, env_ids: NDArray[np.int64], seeds: Seeds) -> Seeds:
        """Return the levels that episodes of these seeds play."""
        count, start = self.num_levels[env_ids], self.start_levels[env_ids]
        levels = start + seeds % np.maximum(count, np.uint64(1))
        return np.where(count > 0, levels, seeds)

    def _begin(self, kernel: Any, env_ids: NDArray[np.int64]) -> None:
        self._observations = None
        self._run(kernel, len(env_ids), env_ids, self._episodes(), self._state)

    def set_level_options(
        self, env_ids: NDArray[np.int64], level_options: Mapping[str, Any]
    ) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`."""
        check_level_option_names(self.options, level_options)
        arrays = {"num_levels": self.num_levels, "start_level": self.start_levels}
        values = {
            name: check_int(name, level_options[name], 0, 1 << 32)
            if name in level_options
            else None
            for name in arrays
        }
        pairs = [
            array[env_ids]
            if values[name] is None
            else np.full(len(env_ids), values[name])
            for name, array in arrays.items()
        ]
        for pair in set(zip(*(each.tolist() for each in pairs), strict=True)):
            check_levels(*pair)
        for array, new in zip(arrays.values(), pairs, strict=True):
            array[env_ids] = new

    def reset_infos(self, env_ids: NDArray[np.int64]) -> dict[str, Any]:
        """Return the infos of the last resets of some environments."""
        infos: dict[str, Any] = {}
        options = self.options
        if options.seed_info or options.level_info:
            first_seeds, numbers = self.episodes.first_seeds, self.episodes.numbers
            seeds = episode_seeds(first_seeds[env_ids], numbers[env_ids])
            if options.seed_info:
                infos["seed"] = seeds.astype(np.int64)
            if options.level_info:
                levels = self._level_seeds(env_ids, seeds)
                infos["level"] = levels.astype(np.int64)
        return {**infos, **super().reset_infos(env_ids)}

    # ---------------------------------------------------------------- one step

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions as kernels take them; see `Engine.check_actions`."""
        if self.action_codes is not None:
            return super().check_actions(actions, skip_mask)
        space: Any = self.single_action_space
        # A shard's template of one environment checks those of all.
        shape = (len(skip_mask), *space.shape)
        array = np.asarray(actions)
        if array.shape != shape or array.dtype.kind not in "biuf":
            accepted = f"an array of numbers of shape {shape}"
            value = f"{array.dtype} of shape {array.shape}"
            raise InvalidActionError.expected("actions", accepted, value)
        return np.ascontiguousarray(array, space.dtype)

    def _make_infos(self, shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        return {
            name: np.empty((*shape, *array.shape[1:]), array.dtype)
            for name, array in self._infos.items()
        }

    def _visible_infos(
        self, infos: dict[str, NDArray[Any]], ndim: int
    ) -> dict[str, NDArray[Any]]:
        own = {name: infos[name] for name in self._infos}
        return {**infos, **_as_infos(own, ndim)}

    def action_masks(self, env_ids: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return what the rule ``legal`` writes for some environments, (m, A)."""
        masks = np.zeros((len(env_ids), len(self.options.action_names)), np.int8)
        self._run(
            self._kernels.write_masks, len(env_ids), env_ids, *self._state[:2], masks
        )
        return masks

    def _needs_single_steps(self) -> bool:
        options = self.options
        has_infos = options.action_mask or options.seed_info or options.level_info
        return has_infos or self.observes_text

    def _make_observations(
        self, shape: tuple[int, int], out: Any
    ) -> tuple[NDArray[Any], ...]:
        return self.options.allocate_observations(shape[0] * shape[1])

    # ---------------------------------------------------------------- observations

    def observe(self, out: Any = None) -> Any:
        """Return the observations of all environments; see `Engine.observe`."""
        if self.observes_text:
            return self._texts(np.arange(self.num_envs))
        # A step has observed; nobody else has these arrays.
        arrays, self._observations = self._observations, None
        if arrays is None:
            arrays = self._observe(np.arange(self.num_envs))
        return self._shape_observations(arrays, (self.num_envs,), out)

    def _observe(self, env_ids: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        arrays = self.options.allocate_observations(len(env_ids))
        self._run(
            self._kernels.observe_rows, len(env_ids), env_ids, self._state, arrays
        )
        return arrays

    def _shape_observations(
        self, arrays: tuple[NDArray[Any], ...], shape: tuple[int, ...], out: Any = None
    ) -> Any:
        if self.observer is not None:
            self._check_codes(arrays[0])
            return self.observer.observe_steps(arrays[0], shape, out)
        parts = self.options.parts
        if out is None and "" in parts:
            return arrays[0].reshape(*shape, *(parts[""].shape or ()))
        shaped = [
            array.reshape(*shape, *(space.shape or ()))
            for array, space in zip(arrays, parts.values(), strict=True)
        ]
        is_tuple = isinstance(self.single_observation_space, TupleSpace)
        if out is not None:
            targets = (
                out if is_tuple else [out[name] if name else out for name in parts]
            )
            for target, array in zip(targets, shaped, strict=True):
                target[...] = array
            return out
        if is_tuple:
            return tuple(shaped)
        return dict(zip(parts, shaped, strict=True))

    def _check_codes(self, codes: NDArray[Any]) -> None:
        """Refuse codes that have no looks; kernels would read outside of tables."""
        options: Any = self.options
        count, highest = options.FAMILY.num_codes, codes.max(initial=0)
        if highest >= count:
            message = (
                f"{type(options).__name__}: the board has the code {highest}: expected "
                f"codes below {count}, the number of cells"
            )
            raise InvalidStateError(message)

    def observe_envs(self, env_ids: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some environments, one by one."""
        if self.observes_text:
            return list(self._texts(env_ids))
        batch = self._shape_observations(self._observe(env_ids), (len(env_ids),))
        if isinstance(batch, np.ndarray) and batch.ndim == 1:
            # Python's own numbers, as a single environment returns them.
            return batch.tolist()  # type: ignore[no-any-return]
        space, rows = self.single_observation_space, range(len(env_ids))
        return [item_at(space, batch, row) for row in rows]

    def frames(self, env_ids: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a frame of each of some environments: a picture or a text."""
        if self.observer is None or not self.draws_frames(mode):
            return self._texts(env_ids)
        scale = self.options.render_scale
        return self.observer.frames(self.grids(env_ids), mode, scale)

    @property
    def are_codes_enough(self) -> bool:
        """Whether boards of cell codes decide the observations."""
        return self.observer is not None and not self.observes_text

    def draws_frames(self, mode: str) -> bool:
        """Return whether boards of cell codes decide the frames of a mode."""
        is_own_text = mode != "rgb_array" and self.options.writes_own_text
        return self.observer is not None and not is_own_text

    def grids(self, env_ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the cell codes of the boards of some environments, (m, H, W)."""
        codes = self._observe(env_ids)[0]
        self._check_codes(codes)
        return codes

    def _texts(self, env_ids: NDArray[np.int64]) -> tuple[str, ...]:
        texts = tuple(self.options.text(self.row(i)) for i in env_ids.tolist())
        if not all(isinstance(text, str) for text in texts):
            owner = f"{type(self.options).__name__}.text"
            raise InvalidStateError.expected(owner, "a str", texts[0])
        return texts

    def row(self, env_id: int) -> Row:
        """Return a copy of an environment, as rules see it."""
        variables, constants, _, _ = self.options.types
        copies = [array[env_id : env_id + 1].copy() for array in self.variables]
        return Row(variables(*copies), constants(*self.constants), 0)

    # ---------------------------------------------------------------- state

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._state_arrays(),
            **self.episodes.state_arrays(),
            "generator_states": self.rng_states.T,
            "num_levels": self.num_levels,
            "start_levels": self.start_levels,
            **self._named_variables(),
        }

    def _limits(self) -> dict[str, tuple[int, int]]:
        of_levels = dict.fromkeys(("num_levels", "start_levels"), (0, 1 << 32))
        return {**super()._limits(), **self.episodes.LIMITS, **of_levels}

    def set_state(
        self, state: EngineState, rows: NDArray[np.int64], env_ids: NDArray[np.int64]
    ) -> None:
        """Copy rows of a state; see `Engine.set_state`."""
        self._observations = None
        super().set_state(state, rows, env_ids)
        self._order(env_ids)

    def solve(self, env_ids: NDArray[np.int64], objective: str) -> list[Any]:
        """Return what the method ``solve`` of the class returns, for each environment.

        Raises
        ------
        UnsupportedError
            If the class has no such method.
        """
        solve = getattr(self.options, "solve", None)
        if solve is not None and objective == "moves":
            return [solve(self.row(i)) for i in env_ids.tolist()]
        return super().solve(env_ids, objective)

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or another attribute of each environment."""
        levels = {"num_levels": self.num_levels, "start_level": self.start_levels}
        if name in levels:
            return tuple(levels[name].tolist())
        if name in self.options.variables:
            array = self._named_variables()[name]
            return tuple(array.tolist() if array.ndim == 1 else array.copy())
        if hasattr(self.options, name):
            return (getattr(self.options, name),) * self.num_envs
        return super().get_attribute(name)

    @property
    def _name(self) -> str:
        return type(self.options).__name__

    def _attribute_names(self) -> set[str]:
        return super()._attribute_names() | set(self.options.variables)


def _draw(
    options: ArrayEnv, seeds: Seeds, run: Callable[..., Any] | None = None
) -> Levels:
    """Begin episodes in arrays of their own.

    Parameters
    ----------
    options : ArrayEnv
    seeds : (m,) uint64
        Of the episodes' levels.
    run : callable or None
        Runs a kernel on a range of rows; None: on this thread.

    Returns
    -------
    tuple of arrays
        The variables, and the states of the generators, (m, ...) each.
    """
    m, zeros = len(seeds), np.zeros(len(seeds), np.uint64)
    variables, rng_states = options.allocate(m), np.zeros((PCG_WORDS, m), np.uint64)
    constants = tuple(options.constants.values())
    state = variables, constants, rng_states, np.zeros(m, np.int32)
    seeding = False, zeros, zeros, seeds, zeros
    begin_rows, rows = options.family().begin_rows, np.arange(m)
    if run is None:
        begin_rows(0, m, rows, seeding, state)
    else:
        run(begin_rows, m, rows, seeding, state)
    return (*variables, rng_states.T)


# Numbers of an environment are Python's in its infos, and become these in a batch.
_INFO_DTYPES = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}


def _as_infos(arrays: Mapping[str, NDArray[Any]], ndim: int = 1) -> dict[str, Any]:
    """Return variables as infos, of which ``ndim`` axes are of the batch."""
    return {
        name: array.astype(_INFO_DTYPES[array.dtype.kind], copy=False)
        if array.ndim == ndim
        else array
        for name, array in arrays.items()
    }
