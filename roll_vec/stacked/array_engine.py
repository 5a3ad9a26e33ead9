"""N environments of one `ArrayEnv` in stacked arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.spaces import Tuple as TupleSpace
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from roll_vec.errors import InvalidActionError, InvalidStateError, UnsupportedError
from roll_vec.kernels import families
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.kernels.rows import Row
from roll_vec.kernels.thread_team import IS_COMPILED
from roll_vec.options import (
    MAX_INT,
    check_int,
    check_level_option_names,
    check_levels,
    describe_value,
)
from roll_vec.seeding import (
    MAX_COUNT,
    draw_entropy,
    episode_seeds,
    generator_at,
    generator_words,
)
from roll_vec.spaces import MAX_TEXT, UnicodeText
from roll_vec.stacked.action_codes import ActionCodes
from roll_vec.stacked.array_env import ArrayEnv
from roll_vec.stacked.grid_observations import GridObserver
from roll_vec.stacked.kernel_threads import KernelThreads
from roll_vec.stacked.levels import EpisodeSeeds
from roll_vec.stacked.rules import explain
from roll_vec.stacked.single_state import check_array
from roll_vec.stacked.text_actions import text_action_space
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.turn import BatchStep, step_texts
from roll_vec.text.validation import check_texts
from roll_vec.vector.engine import EngineState, StepResult, UnrollResult
from roll_vec.vector.infos import masked_infos
from roll_vec.vector.rollout import Rollout

__all__ = ["ArrayEngine"]

_NOTHING = nullcontext()
_MODES = {
    AutoresetMode.DISABLED: families.DISABLED,
    AutoresetMode.NEXT_STEP: families.NEXT_STEP,
    AutoresetMode.SAME_STEP: families.SAME_STEP,
}


class ArrayEngine:
    """The engine of an `ArrayEnv`; see `roll_vec.vector.engine.Engine`.

    Parameters
    ----------
    options : ArrayEnv
    num_envs : int
    max_episode_steps : int or None
    num_threads : int
    prefetch : bool or None
        Without effect: episodes begin within a step.
    """

    def __init__(
        self,
        options: ArrayEnv,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
        prefetch: bool | None = None,
    ) -> None:
        self.options, self.num_envs, self.num_threads = options, num_envs, num_threads
        self.max_steps = max_episode_steps or 0
        self.render_mode = options.render_mode
        self.metadata = options.metadata
        self.observer = options.make_observer(num_threads)
        self.observes_text = options.obs_mode == "text" and options.writes_own_text
        self.single_observation_space = options.observation_space
        if self.observer is not None:
            self.single_observation_space = self.observer.space
        if self.observes_text:
            self.single_observation_space = UnicodeText(MAX_TEXT)
        self.single_action_space: Space[Any] = options.single_action_space
        self.is_discrete = isinstance(self.single_action_space, Discrete)
        self.action_codes = ActionCodes(options) if self.is_discrete else None
        if self.action_codes is not None:
            # Below the first there is no action that means "none".
            self.action_codes.lowest = self.action_codes.lowest_silent = (
                options.first_action
            )
        self.first_action = options.first_action
        self.action_parser: ActionParser | None = None
        if options.action_mode == "text":
            lookup, no_action = options.action_lookup, self.first_action - 1
            self.action_parser = ActionParser(options, lookup, no_action)
            self.single_action_space = text_action_space(self.action_parser)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.kernel_threads = KernelThreads(num_threads)
        self.variables = options.allocate(num_envs)
        self.constants = tuple(options.constants.values())
        self.rng_states = np.zeros((PCG_WORDS, num_envs), np.uint64)
        self.elapsed_steps = np.zeros(num_envs, np.int32)
        self.episodes = EpisodeSeeds(num_envs)
        self.successes = np.zeros(num_envs, np.bool_)
        self.num_levels = np.full(num_envs, options.num_levels, np.uint64)
        self.start_levels = np.full(num_envs, options.start_level, np.uint64)
        self._all = np.arange(num_envs)
        # Of the last step, until something else moves an environment.
        self._observations: tuple[NDArray[Any], ...] | None = None
        self._derive()

    def _derive(self) -> None:
        """Find the kernels, and the variables that are infos."""
        options = self.options
        self._kernels = options.family()
        variables = dict(zip(options.variables, self.variables, strict=True))
        self._infos = {name: variables[name] for name in options.infos}

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_kernels", "_infos")
        return {name: each for name, each in vars(self).items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._derive()

    @property
    def PER_ENV_ATTRIBUTES(self) -> tuple[str, ...]:
        """Attributes that differ between environments."""
        return tuple(self.options.variables)

    @property
    def _seeding(self) -> tuple[Any, ...]:
        options = self.options
        return (
            options.seeding == "stream",
            self.num_levels,
            self.start_levels,
            self.episodes.first_seeds,
            self.episodes.numbers,
        )

    @property
    def _rules(self) -> tuple[int, int, float, bool]:
        options = self.options
        reward = float(options.invalid_reward)
        return self.first_action, self.max_steps, reward, options.takes_invalid_actions

    @property
    def _state(self) -> tuple[Any, ...]:
        return self.variables, self.constants, self.rng_states, self.elapsed_steps

    def _run(self, kernel: Any, num_rows: int, *arguments: Any) -> None:
        """Run a kernel; what cannot be compiled is an error of a rule."""
        try:
            # With the JIT off, kernels warn of integers that wrap around.
            with _NOTHING if IS_COMPILED else np.errstate(over="ignore"):
                self.kernel_threads.run(kernel, num_rows, *arguments)
        except NumbaError as error:
            options = self.options
            raise explain(error, type(options).__name__, options.rules()) from error
        except (ArithmeticError, IndexError, ValueError) as error:
            message = (
                f"{type(self.options).__name__}: a rule failed: {error}; with "
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
        if self.options.seeding == "stream":
            for env_id, seed in zip(env_ids.tolist(), seeds, strict=True):
                if seed is None and not self.rng_states[2:, env_id].any():
                    seed = draw_entropy()
                if seed is not None:
                    self._seed_stream(env_id, seed)
        first_seeds, numbers = self.episodes.plan(env_ids, seeds)
        self.episodes.commit(env_ids, first_seeds, numbers)
        self._begin(env_ids)

    def _seed_stream(self, env_id: int, seed: int) -> None:
        generator = np.random.Generator(np.random.PCG64(seed))
        self.rng_states[:, env_id] = generator_words(generator)

    def advance(self, env_ids: NDArray[np.int64]) -> None:
        """Start the next episode in some environments."""
        self.episodes.numbers[env_ids] += np.uint64(1)
        self._begin(env_ids)

    def _begin(self, env_ids: NDArray[np.int64]) -> None:
        self._observations = None
        self._run(
            self._kernels.begin_rows,
            len(env_ids),
            env_ids,
            *self._state,
            self._seeding,
        )

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
                count, start = self.num_levels[env_ids], self.start_levels[env_ids]
                levels = start + seeds % np.maximum(count, np.uint64(1))
                infos["level"] = np.where(count > 0, levels, seeds).astype(np.int64)
        if self.options.action_mask:
            infos["action_mask"] = self.action_masks(env_ids)
        if self.action_parser is not None:
            text = self.options.instructions(self.action_parser)
            infos["env_instruction"] = np.full(len(env_ids), text, object)
        return infos

    # ---------------------------------------------------------------- one step

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions as kernels take them; see `Engine.check_actions`."""
        if self.action_parser is not None:
            texts = check_texts(actions, skip_mask)
            return self.action_parser.parse_batch(texts, skip_mask)
        if self.action_codes is not None:
            return self.action_codes.check_batch(actions, skip_mask)
        space: Any = self.single_action_space
        # A shard's template of one environment checks those of all.
        shape = (len(skip_mask), *space.shape)
        array = np.asarray(actions)
        if array.shape != shape or array.dtype.kind not in "biuf":
            accepted = f"an array of numbers of shape {shape}"
            value = f"{array.dtype} of shape {array.shape}"
            raise InvalidActionError.expected("actions", accepted, value)
        return np.ascontiguousarray(array, space.dtype)

    def step(
        self,
        actions: Any,
        skip_mask: NDArray[np.bool_],
        idle_mask: NDArray[np.bool_] | None = None,
    ) -> StepResult:
        """Step every environment but those to skip; see `Engine.step`."""
        if self.action_parser is None:
            step = self._step_batch(actions, skip_mask, self.max_steps)
        else:
            # A turn of several actions is one step for every limit.
            elapsed_steps = self.elapsed_steps + ~skip_mask
            step = step_texts(
                self.action_parser,
                actions,
                skip_mask,
                lambda codes, skip_mask: self._step_batch(codes, skip_mask, 0),
            )
            self.elapsed_steps[:] = elapsed_steps
            is_over = (elapsed_steps >= self.max_steps) & (self.max_steps > 0)
            step = (*step[:2], ~skip_mask & is_over, step[3])
        rewards, terminations, truncations, values = step
        if self.options.action_mask:
            values["action_mask"] = self.action_masks(self._all)
            values["action_mask"][skip_mask] = 0
        if "success" in values:
            successes = values["success"].astype(np.bool_)
            if idle_mask is not None:
                successes |= self.successes & idle_mask
            self.successes = successes
        infos = masked_infos(values, ~skip_mask)
        return StepResult(rewards, terminations, truncations, infos)

    def _step_batch(
        self, actions: Any, skip_mask: NDArray[np.bool_], max_steps: int
    ) -> BatchStep:
        """Take one action in every environment but those to skip, which give zeros."""
        n = self.num_envs
        flags = np.empty((2, n), np.bool_)
        results = np.empty(n), flags[0], flags[1]
        infos = {name: np.empty_like(array) for name, array in self._infos.items()}
        observations = self.options.allocate_observations(n)
        first_action, _, *others = self._rules
        self._run(
            self._kernels.step_rows,
            n,
            actions,
            skip_mask,
            (first_action, max_steps, *others),
            *self._state,
            results,
            tuple(infos.values()),
            observations,
        )
        self._observations = observations
        return *results, _as_infos(infos)

    def action_masks(self, env_ids: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return what the rule ``legal`` writes for some environments, (m, A)."""
        masks = np.zeros((len(env_ids), len(self.options.action_names)), np.int8)
        self._run(
            self._kernels.write_masks, len(env_ids), env_ids, *self._state[:2], masks
        )
        return masks

    # ---------------------------------------------------------------- many steps

    def unroll(
        self,
        actions: Any,
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> UnrollResult | None:
        """Take T steps; see `roll_vec.vector.engine.SupportsUnroll.unroll`."""
        codes = self.parse_steps(actions, self.num_envs)
        if codes is None:
            return None
        shape = codes.shape
        size = codes.size
        flags = np.empty((2, *shape), np.bool_)
        results = (np.empty(shape), flags[0], flags[1])
        if out is not None:
            results = out.rewards, out.terminations, out.truncations
        infos = {
            name: np.zeros((*shape, *array.shape[1:]), array.dtype)
            for name, array in self._infos.items()
        }
        observations = self.options.allocate_observations(size)
        finals = observations
        if mode is AutoresetMode.SAME_STEP:
            finals = self.options.allocate_observations(size)
        times = np.zeros(self.num_envs, np.int64)
        ended = has_ended.copy()
        self._run(
            self._kernels.unroll,
            self.num_envs,
            self.num_envs,
            len(codes),
            _MODES[mode],
            codes.reshape(-1),
            self._rules,
            *self._state,
            self._seeding,
            ended,
            times,
            tuple(array.reshape(-1) for array in results),
            tuple(array.reshape(-1, *array.shape[2:]) for array in infos.values()),
            observations,
            finals,
        )
        if "success" in infos:
            self.successes = infos["success"][-1].astype(np.bool_)
        final = None
        if mode is AutoresetMode.SAME_STEP:
            final = self._batch(finals, shape, out and out.infos.get("final_obs"))
        return UnrollResult(
            self._batch(observations, shape, out and out.observations),
            final,
            *results,
            _as_infos(infos, 2),
            times,
        )

    def parse_steps(self, actions: Any, num_envs: int) -> NDArray[np.int64] | None:
        """Return the (T, num_envs) actions that `unroll` can take, or None."""
        options = self.options
        has_infos = options.action_mask or options.seed_info or options.level_info
        if has_infos or self.observes_text or self.action_parser:
            return None
        if self.action_codes is None:
            return None
        return self.action_codes.parse_steps(actions, num_envs)

    def save_point(self) -> EngineState:
        """Return the state; see `SupportsUnroll.save_point`."""
        return self.get_state()

    def go_back(self, point: EngineState) -> None:
        """Set all environments to a state of `save_point`."""
        self.set_state(point, self._all, self._all)

    # ---------------------------------------------------------------- observations

    def observe(self, out: Any = None) -> Any:
        """Return the observations of all environments; see `Engine.observe`."""
        if self.observes_text:
            return self._texts(self._all)
        # A step has observed; nobody else has these arrays.
        arrays, self._observations = self._observations, None
        if arrays is None:
            arrays = self._observe(self._all)
        return self._batch(arrays, (self.num_envs,), out)

    def _observe(self, env_ids: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        arrays = self.options.allocate_observations(len(env_ids))
        self._run(
            self._kernels.observe_rows, len(env_ids), env_ids, *self._state[:2], arrays
        )
        return arrays

    def _batch(self, arrays: Any, shape: tuple[int, ...], out: Any = None) -> Any:
        """Return arrays of observations as a batch of the observation space."""
        if self.observer is not None:
            self._check_codes(arrays[0])
            return self._look(self.observer, arrays[0], shape, out)
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

    @staticmethod
    def _look(
        observer: GridObserver, codes: NDArray[Any], shape: tuple[int, ...], out: Any
    ) -> Any:
        """Return boards as observations of the mode, or texts."""
        grids = codes.reshape(-1, *observer.shape)
        if observer.obs_mode == "text":
            texts = observer.observe(grids)
            if len(shape) == 1:
                return texts
            num_steps, n = shape
            return tuple(texts[t * n : (t + 1) * n] for t in range(num_steps))
        observations = grids
        if out is not None:
            out = out.reshape(len(grids), *out.shape[len(shape) :])
        if out is not None or observer.obs_mode != "grid":
            observations = observer.observe(grids, out)
        return observations.reshape(*shape, *observations.shape[1:])

    def observe_envs(self, env_ids: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some environments, one by one."""
        if self.observes_text:
            return list(self._texts(env_ids))
        batch = self._batch(self._observe(env_ids), (len(env_ids),))
        if isinstance(batch, dict):
            rows = range(len(env_ids))
            return [{name: array[j] for name, array in batch.items()} for j in rows]
        if isinstance(self.single_observation_space, TupleSpace):
            return list(zip(*batch, strict=True))
        # Python's own numbers, as a single environment returns them.
        is_array = isinstance(batch, np.ndarray)
        return batch.tolist() if is_array and batch.ndim == 1 else list(batch)

    def frames(self, env_ids: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a frame of each of some environments: a picture or a text."""
        if self.observer is None or not self.draws_frames(mode):
            return self._texts(env_ids)
        scale = self.options.render_scale  # type: ignore[attr-defined]
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

    def configuration(self) -> dict[str, Any]:
        """Return the options and the step limit; see `Engine.configuration`."""
        names = sorted(field.name for field in dataclasses.fields(self.options))
        names.remove("render_mode")
        values = {name: describe_value(getattr(self.options, name)) for name in names}
        return {**values, "max_episode_steps": self.max_steps}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "elapsed_steps": self.elapsed_steps,
            "successes": self.successes,
            "episodes_first_seeds": self.episodes.first_seeds,
            "episodes_numbers": self.episodes.numbers,
            "generator_states": self.rng_states.T,
            "num_levels": self.num_levels,
            "start_levels": self.start_levels,
            **dict(zip(self.options.variables, self.variables, strict=True)),
        }

    def get_state(self) -> EngineState:
        """Return copies of all arrays; see `Engine.get_state`."""
        return EngineState(
            {name: array.copy("K") for name, array in self._arrays().items()}
        )

    def check_state(self, state: EngineState) -> None:
        """Check names, dtypes, shapes and values; see `Engine.check_state`."""
        own, arrays = self._arrays(), state.arrays
        if arrays.keys() != own.keys():
            accepted = f"the arrays {sorted(own)}"
            raise InvalidStateError.expected("state", accepted, sorted(arrays))
        for name, array in own.items():
            values = arrays[name]
            if values.dtype != array.dtype or values.shape[1:] != array.shape[1:]:
                expected = f"{array.dtype} of shape (n, {str(array.shape[1:])[1:]}"
                value = f"{values.dtype} of shape {values.shape}"
                raise InvalidStateError.of_array(name, expected, value)
        check_array(arrays, "elapsed_steps", 0, self.max_steps or MAX_INT)
        check_array(arrays, "episodes_first_seeds", 0, (1 << 32) - 1)
        check_array(arrays, "episodes_numbers", 0, MAX_COUNT)
        check_array(arrays, "num_levels", 0, 1 << 32)
        check_array(arrays, "start_levels", 0, 1 << 32)

    def set_state(
        self, state: EngineState, rows: NDArray[np.int64], env_ids: NDArray[np.int64]
    ) -> None:
        """Copy rows of a state; see `Engine.set_state`."""
        self._observations = None
        for name, array in self._arrays().items():
            if name != "successes":
                array[env_ids] = state.arrays[name][rows]
        successes = self.successes.copy()
        successes[env_ids] = state.arrays["successes"][rows]
        self.successes = successes

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
        message = f"{type(self.options).__name__} has no solver for {objective!r}"
        raise UnsupportedError(message)

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or another attribute of each environment."""
        if name == "np_random":
            columns = self.rng_states.T.tolist()
            return tuple(generator_at(words) for words in columns)
        levels = {"num_levels": self.num_levels, "start_level": self.start_levels}
        if name in levels:
            return tuple(levels[name].tolist())
        if name in self.options.variables:
            array = self.variables[list(self.options.variables).index(name)]
            return tuple(array.tolist() if array.ndim == 1 else array.copy())
        if hasattr(self.options, name):
            return (getattr(self.options, name),) * self.num_envs
        message = f"{type(self.options).__name__} has no attribute {name!r} to read"
        raise AttributeError(message)

    def close(self) -> None:
        """Release nothing; see `Engine.close`."""


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
