"""`StepEngine`: steps of environments in stacked arrays."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray

from roll_vec.arrays.action_codes import ActionCodes
from roll_vec.arrays.array_env import Ids
from roll_vec.arrays.bound_steps import OneStep
from roll_vec.arrays.episodes import EpisodeEngine
from roll_vec.errors import InvalidActionError
from roll_vec.kernels._jit import allow_overflow
from roll_vec.row_threads import SliceSizer
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.turn import BatchStep, step_texts
from roll_vec.text.validation import check_texts
from roll_vec.vector.engine import NO_IDS, StepResult
from roll_vec.vector.infos import add_infos
from roll_vec.vector.masks import list_rows

Mask: TypeAlias = NDArray[np.bool_]
# As `StepResult`, with infos in Gymnasium's layout.
ArrayStep: TypeAlias = tuple[
    NDArray[np.float64], Mask, Mask, Mask | None, dict[str, NDArray[Any]]
]
_NO_SKIP = np.zeros(1, np.bool_)
# numpy makes an array of a dtype in less time than one of a type.
_BOOL = np.dtype(np.bool_)


class StepEngine(EpisodeEngine):
    """The part of `roll_vec.arrays.engine.ArrayEngine` that steps.

    Attributes
    ----------
    successes : (n,) bool
        Whether the last step of each environment was a success.
    resets_in_step : bool
        Whether one call of a kernel does all of a step in SAME_STEP mode.  Readers of
        last states may set it to False: then `advance` begins episodes.
    """

    single_action_space: Space[Any]
    action_codes: ActionCodes | None = None
    action_parser: ActionParser | None = None
    # Whether steps begin next episodes, so that a reset may use the kernel of steps.
    begins_in_steps = False
    # What `play_one` makes at its first call.
    _one: OneStep | None = None
    # The rows that end in a step, their observations and their infos that are no flags.
    _finals: Any = None

    def __init__(
        self,
        options: Any,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
    ) -> None:
        super().__init__(options, num_envs, max_episode_steps, num_threads)
        self.name, self.metadata = options.name, options.metadata
        self.render_mode = options.render_mode
        self.first_action, names = options.first_action, options.action_lookup
        self.single_action_space = options.actions
        if not isinstance(options.actions, Box):
            self.action_codes = ActionCodes(options)
            self.single_action_space = Discrete(len(names), start=self.first_action)
        if options.action_mode == "text":
            self.action_parser = ActionParser(options, names, self.first_action - 1)
            self.single_action_space = self.action_parser.text_space(names.values())
        self.unroll_slices = SliceSizer("environments")
        self._finish = options.finish_step
        hidden = self._hidden_infos = tuple(options.hidden_infos)
        infos, num_flags = options.declaration.infos, options.declaration.num_flags
        # Options look these up, which takes as long as a step of one environment.
        # The infos that are no flags, as kernels write them.
        self._step_infos = [
            (name, (num_envs, *shape), np.dtype(dtype))
            for name in infos[num_flags:]
            for dtype, shape in [options.info_array(name)]
        ]
        # The infos of resets, with the numbers of their variables.
        numbers = [list(options.variables).index(name) for name in options.reset_infos]
        dtypes = [options.info_array(name)[0] for name in options.reset_infos]
        self._reset_infos = list(zip(options.reset_infos, numbers, dtypes, strict=True))
        # The rows of flags beside the ends of a step: infos, then masks of infos.
        rows = {name: k for k, name in enumerate(infos[:num_flags], 3)}
        shown = [name for name in infos if name not in hidden]
        self._flag_names, self._flags = infos[:num_flags], []
        for mask, name in enumerate(shown, 3 + num_flags):
            if name in rows:
                self._flags.append((rows[name], name))
            self._flags.append((mask, f"_{name}"))
        num_rows = 3 + num_flags + len(shown)
        self._flags_shape = num_rows, num_envs
        self._both_flags_shape = 2 * num_rows, num_envs
        # A step needs to know successes that users do not see.
        if "success" in hidden and "success" in rows:
            self._flags.append((rows["success"], "success"))
        self._has_masks = options.action_mask
        # These read the last state of an episode after the kernel.
        others = self._has_masks or self.action_parser is not None
        others |= self._finish is not None
        is_read = self.observes_text or "success" in options.reset_infos
        self.resets_in_step = not (others or is_read)
        # Whether kernels write all infos of the episodes that they begin, if any.
        others |= options.seed_info or options.level_info
        self._has_no_begin_infos = not (others or options.reset_infos)
        is_written = {*options.reset_infos} <= {*options.infos}
        self._writes_begin_infos = is_written and not (
            others or self._has_no_begin_infos
        )
        # Those infos of a step, and their masks, that are infos of resets, too.
        begin_names = [name for name in options.reset_infos if name not in hidden]
        self._begin_names = (*begin_names, *(f"_{name}" for name in begin_names))

    def __getstate__(self) -> dict[str, Any]:
        # A copy has its arrays elsewhere; kernels are found again.
        names = "_one", "_kernels", "_observations", "_finals", "_batch", "_out_arrays"
        state = {**vars(self), **dict.fromkeys(names)}
        state |= {"_bound": {}, "_shows_state": False}
        state.pop("_make_arrays", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._kernels = self.options.family()

    # ---------------------------------------------------------------- one step

    def check_actions(self, actions: Any, skip_mask: Mask) -> Any:
        """Return the actions as kernels read them; see `Engine.check_actions`."""
        if self.action_parser is not None:
            texts = check_texts(actions, skip_mask)
            return self.action_parser.parse_batch(texts, skip_mask)
        if self.action_codes is not None:
            return self.action_codes.check_batch(actions, skip_mask)
        # The head of a joined batch checks the actions of all parts.
        return self.check_array("actions", actions, (len(skip_mask),))

    def check_array(self, name: str, action: Any, shape: tuple[int, ...] = ()) -> Any:
        """Return actions in a `Box`, those of ``shape``, as kernels read them."""
        space: Any = self.single_action_space
        shape = (*shape, *space.shape)
        array = np.asarray(action)
        if array.shape != shape or array.dtype.kind not in "biuf":
            accepted = f"an array of numbers of shape {shape}"
            value = f"{array.dtype} of shape {array.shape}"
            raise InvalidActionError.expected(name, accepted, value)
        array = np.ascontiguousarray(array, space.dtype)
        # numba compiles the kernels anew for a read-only array, such as jax's.
        return array if array.flags.writeable else array.copy()

    def begin_infos(self, env_ids: Ids) -> dict[str, Any]:
        """Return the infos of the last resets of some environments."""
        infos: dict[str, Any] = {}
        options = self.options
        if options.action_mask:
            infos["action_mask"] = self.action_masks(env_ids)
        if self.action_parser is not None:
            text = self.instructions
            infos["env_instruction"] = np.full(len(env_ids), text, object)
        if options.seed_info:
            infos["seed"] = self.seeds_of(env_ids).astype(np.int64)
        if options.level_info:
            levels = self.level_provider.level_seeds(self.seeds_of(env_ids))
            infos["level"] = levels.astype(np.int64)
        for name, number, dtype in self._reset_infos:
            infos[name] = (
                self.variables[number].take(env_ids, 0).astype(dtype, copy=False)
            )
        return options.add_reset_infos(self, env_ids, infos)  # type: ignore[no-any-return]

    @cached_property
    def instructions(self) -> str:
        """The game, the actions and the form of an answer."""
        return str(self.options.instructions(self.action_parser))

    def action_masks(self, env_ids: Ids) -> NDArray[np.int8]:
        """Return 1 for the actions that can change something, (m, A), new."""
        masks = np.zeros((len(env_ids), len(self.options.action_names)), np.int8)
        kernel = self._kernels.write_masks
        self._run(kernel, len(env_ids), env_ids, self._state, masks)
        return masks

    def step(
        self,
        actions: Any,
        skip_mask: Mask,
        begins: Ids = NO_IDS,
        resets_ended: bool = False,
    ) -> StepResult:
        """Step every environment but those to skip; see `Engine.step`."""
        if resets_ended and self.resets_in_step:
            can_begin = self._can_begin_in_kernel
            return self._step_batch(actions, skip_mask, self.max_steps, can_begin, True)
        is_text, all_begins = self.action_parser is not None, begins
        if len(begins) and (is_text or not self._can_begin_in_kernel):
            self.advance(begins)
            begins = NO_IDS
        if is_text:
            result = self._step_texts(actions, skip_mask)
        else:
            result = self._step_batch(actions, skip_mask, self.max_steps, begins)
        rewards, terminations, truncations, dones, infos = result
        if "success" in infos:
            # A copy: the arrays of infos are the caller's.
            self.successes[...] = infos["success"]
        is_written = len(begins) > 0 and self._writes_begin_infos
        for name in self._hidden_infos:
            infos.pop(name, None)
        # None if all are skipped.  The first look takes a tenth of the second's time.
        if skip_mask[0] and skip_mask.all():
            names = self._begin_names if is_written else ()
            infos = {name: infos[name] for name in names}
        elif is_text or self._has_masks or self._finish is not None:
            if self._has_masks:
                action_masks = self.action_masks(np.arange(self.num_envs))
                action_masks[skip_mask] = 0
                infos["action_mask"] = action_masks
            # What is not of the kernel has no mask yet: each gets one behind it.
            for name in [name for name in infos if not name.startswith("_")]:
                if f"_{name}" not in infos:
                    infos[name], infos[f"_{name}"] = infos.pop(name), ~skip_mask
        if len(all_begins) and not (is_written or self._has_no_begin_infos):
            new = self.begin_infos(all_begins)
            if new:
                add_infos(infos, all_begins, new, self.num_envs)
        return rewards, terminations, truncations, dones, infos

    def _add_finals(
        self, infos: dict[str, Any], flags: Mask, num_ends: int, begins: bool
    ) -> dict[str, Any]:
        """Return the infos of a step with those of the episodes that it ended.

        Parameters
        ----------
        infos : dict
        flags : (2 * (3 + num_flags + m), n) bool
            As the kernel has written them, see `roll_vec.kernels.bound`.
        num_ends : int
        begins : bool
            Whether the next episodes have begun.
        """
        n, shape, half = self.num_envs, self._plain_shape, len(flags) // 2
        ends, arrays, values, rows = self._finals
        env_ids = ends[:num_ends]
        # Compact, or of several threads at the environments themselves.
        at: Any = slice(num_ends)
        if self._uses_threads:
            env_ids = at = list_rows(flags[2])
        final_info = {}
        for (name, _, _), array in zip(self._step_infos, values, strict=True):
            final_info[name] = array.copy()
        for k, name in self._flags:
            final_info[name] = flags[half + k]
        for name in self._hidden_infos:
            final_info.pop(name, None)
        is_written = begins and self._writes_begin_infos
        if num_ends == n:
            # Nobody else has the infos of the step.
            names = self._begin_names if is_written else ()
            infos = {name: infos[name] for name in names}
        # By an iterator: numpy would unpack arrays of equal shape.
        if shape is None:
            last = self._list(tuple([array[at].copy() for array in arrays]), env_ids)
            items = np.fromiter(last, object, num_ends)
        elif shape:
            items = np.fromiter(rows[at].copy(), object, num_ends)
        else:
            # numpy makes Python's own numbers.
            items = rows[at].astype(object)
        # Half of the time of this function with 4,096 environments before Python 3.12,
        # which no longer counts the references to None.
        final_obs = np.empty(n, object)
        final_obs[env_ids] = items
        if not begins:
            self.advance(env_ids)
        if not (is_written or self._has_no_begin_infos):
            add_infos(infos, env_ids, self.begin_infos(env_ids), n)
        infos["final_obs"], infos["_final_obs"] = final_obs, flags[half]
        infos["final_info"], infos["_final_info"] = final_info, flags[half + 1]
        return infos

    def _make_finals(self) -> tuple[Any, ...]:
        """Return arrays of the episodes that end in a step, for kernels to write."""
        n, shape = self.num_envs, self._plain_shape
        ends, arrays = np.empty(n, np.int64), self.options.allocate_observations(n)
        values = [np.empty(shape, dtype) for _, shape, dtype in self._step_infos]
        rows = None if shape is None else arrays[0].reshape(n, *shape)
        self._finals = ends, arrays, tuple(values), rows
        return not self._uses_threads, self.successes, ends, arrays, tuple(values)

    def _step_texts(self, batch: Any, skip_mask: Mask) -> ArrayStep:
        """Take the actions of parsed texts, those of one text as one step."""
        parser: Any = self.action_parser
        # A turn of several actions is one step for every limit.
        elapsed_steps = self.elapsed_steps + ~skip_mask

        def step(codes: Any, skip_mask: Mask) -> BatchStep:
            rewards, ends, truncations, _, infos = self._step_batch(codes, skip_mask, 0)
            return rewards, ends, truncations, infos

        rewards, ends, truncations, infos = step_texts(parser, batch, skip_mask, step)
        self.elapsed_steps[:] = elapsed_steps
        # As the kernel `reaches_limit`, which is compiled for numbers alone.
        is_over = (elapsed_steps >= self.max_steps) & (self.max_steps > 0)
        truncations |= ~skip_mask & is_over
        return rewards, ends, truncations, ends | truncations, infos

    @allow_overflow
    def _step_batch(
        self,
        actions: Any,
        skip_mask: Mask,
        max_steps: int,
        begins: Ids | bool = NO_IDS,
        same_step: bool = False,
    ) -> ArrayStep:
        """Take one action in every environment but those to skip, which give zeros.

        All environments are observed in the same call of a kernel.

        Parameters
        ----------
        actions : (n,) int64, or (n, ...) array
        skip_mask : (n,) bool
        max_steps : int
            Steps after which an episode is truncated; 0: never.
        begins : (m,) int64
            Those to skip whose next episodes begin; `_can_begin_in_kernel` has said so.
            With ``same_step`` whether the kernel begins next episodes.
        same_step : bool
            Begin the next episodes of those that end, and return no dones.

        Returns
        -------
        ArrayStep
            The infos that users get have masks, each its own array.
        """
        bound, n = self._bound.get(max_steps), self.num_envs
        if bound is None:
            bound = self._bind(max_steps)
        kernel, words, flags_shape = bound.step, bound.words, self._flags_shape
        if same_step:
            if bound.finals is None:
                bound.add_finals(self._make_finals())
            kernel, words = bound.step_and_reset, bound.all_words
            flags_shape = self._both_flags_shape
        observations = self._out_arrays
        if observations is None:
            observations = self._make_arrays()
        rewards = np.empty(n)
        # One array: an array takes as long as a step of one environment.
        flags = np.empty(flags_shape, _BOOL)
        infos: dict[str, NDArray[Any]] = {}
        for name, shape, dtype in self._step_infos:
            infos[name] = np.empty(shape, dtype)
        self._observations = None
        arguments = (
            0,
            n,
            words,
            begins,
            actions,
            skip_mask,
            rewards,
            flags,
            tuple(infos.values()),
            observations,
        )
        if self._uses_threads:
            self._run(kernel, *arguments[1:])
            # Split kernels return nothing.
            num_ends = np.count_nonzero(flags[2])
        else:
            # Not by `_run`, whose call is 3 % of the time of a step of one environment.
            try:
                num_ends = kernel(*arguments)
            except Exception as error:
                self._explain(error)
        self._observations = observations
        for k, name in self._flags:
            infos[name] = flags[k]
        terminations, dones = flags[0], flags[2] if num_ends else None
        if same_step:
            if dones is not None:
                infos = self._add_finals(infos, flags, int(num_ends), bool(begins))
                dones = None
            for name in self._hidden_infos:
                infos.pop(name, None)
        elif self._finish is not None:
            self._finish(self, skip_mask, terminations, infos)
            dones = terminations | flags[1]
        return rewards, terminations, flags[1], dones, infos

    def _begin_in_kernel(self, env_ids: Ids) -> None:
        """Start the next episodes, all of them in a step; see `EpisodeEngine`."""
        if self.begins_in_steps and len(env_ids) == self.num_envs:
            self._skip_step(env_ids)
        else:
            super()._begin_in_kernel(env_ids)

    def observe_arrays(self, env_ids: Ids) -> Any:
        """Return observations, those of all environments from a step."""
        is_all = len(env_ids) == self.num_envs and self._out_arrays is None
        if not (self.begins_in_steps and is_all):
            return super().observe_arrays(env_ids)
        self._skip_step(NO_IDS)
        arrays, self._observations = self._observations, None
        return arrays

    def _skip_step(self, begins: Ids) -> None:
        """Begin episodes and observe, in a step that skips all environments.

        So a first reset compiles the kernel that steps need, and no other one.
        """
        n = self.num_envs
        actions: NDArray[Any] = np.zeros(n, np.int64)
        if isinstance(self.options.actions, Box):
            space: Any = self.options.actions
            actions = np.zeros((n, *space.shape), space.dtype)
        self._step_batch(actions, np.ones(n, np.bool_), self.max_steps, begins)

    def play_one(
        self, actions: NDArray[Any]
    ) -> tuple[float, bool, bool, dict[str, Any]]:
        """Take one action in the one environment of this engine.

        The limit of steps is that of the options; with texts, of which one may have
        several actions, there is none.

        Parameters
        ----------
        actions : (1,) int64, or a (1, ...) array
            As `check_actions` returns it.

        Returns
        -------
        reward, terminated, truncated, infos
            Numbers of Python, and arrays.
        """
        one = self._one
        if one is None:
            outcome = self._make_outcome((1,))
            if "success" in outcome[3]:
                outcome[3]["success"] = self.successes
            names = [name for name in outcome[3] if name not in self._hidden_infos]
            limit = 0 if self.action_parser is not None else self.max_steps
            fixed = self.options.rules_of(limit), self._state
            observations = self._out_arrays or self.options.allocate_observations(1)
            # The begin of an episode writes there, too.
            self._out_arrays, make = observations, self._kernels.make_play
            one = self._one = OneStep(make, *fixed, outcome, observations, names)
        try:
            reward, terminated, truncated, infos = one.play(actions)
        except Exception as error:
            self._explain(error)
        self._observations = one.observations
        if self._finish is not None:
            flags = np.array([terminated])
            values: dict[str, NDArray[Any]] = {}
            self._finish(self, _NO_SKIP, flags, values)
            terminated = flags.item()
            infos |= {name: value.item() for name, value in values.items()}
        return reward, terminated, truncated, infos

    def _make_outcome(self, shape: tuple[int, ...]) -> BatchStep:
        """Return the arrays of T * n steps for kernels to write, each (T, n, ...)."""
        names = self._flag_names
        flags = np.empty((2 + len(names), *shape), np.bool_)
        infos = dict(zip(names, flags[2:], strict=True))
        for name, (_, *inner), dtype in self._step_infos:
            infos[name] = np.empty((*shape, *inner), dtype)
        return np.empty(shape), flags[0], flags[1], infos
