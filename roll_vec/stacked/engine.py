"""The base of all engines whose environments are rows of stacked arrays."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError, UnsupportedError
from roll_vec.kernels.grids import copy_grids
from roll_vec.kernels.outcomes import JUST_RESET, NEEDS_RESET, PLAYING
from roll_vec.options import MAX_INT, describe_value
from roll_vec.stacked.action_codes import ActionCodes
from roll_vec.stacked.grid_observations import GridObserver
from roll_vec.stacked.kernel_threads import KernelThreads
from roll_vec.stacked.options import METADATA
from roll_vec.stacked.rollout_buffer import RolloutBuffer, outcome_infos
from roll_vec.stacked.row_threads import SliceSizer
from roll_vec.stacked.single_state import check_array
from roll_vec.stacked.text_actions import (
    describe_game,
    make_action_parser,
    text_action_space,
)
from roll_vec.text.turn import BatchStep, step_texts
from roll_vec.text.validation import check_texts
from roll_vec.vector.engine import EngineState, StepResult, UnrollResult
from roll_vec.vector.infos import masked_infos
from roll_vec.vector.rollout import Rollout

__all__ = ["StackedEngine"]

# Steps of all environments that an unroll takes before it begins the next episodes.
# Each time episodes end, the kernel goes through the steps of all environments again.
# With many environments that is often, so an unroll runs in blocks of steps.
STEPS_AT_ONCE = 1 << 16


class StackedEngine:
    """Base of the engines over stacked arrays; see `roll_vec.vector.engine.Engine`.

    A subclass gives `_allocate`, `reset`, `advance`, `generators`, `_step_batch`,
    `grids` and the class attributes below; the tuples of names are added to those of
    its bases.  A compiled `_unroll_rows` is optional.

    Parameters
    ----------
    options : GridOptions
    num_envs : int
    max_episode_steps : int or None
        None: no limit beside the options' own ``max_steps``.
    num_threads : int
    prefetch : bool or None
        Whether levels are drawn ahead of time, in games that generate levels; None:
        where that saves time.
    """

    SINGLE: ClassVar[type[Any]]
    """The class of the single environment."""
    STATE: ClassVar[tuple[str, ...]] = ("elapsed_steps", "successes")
    """The arrays that steps and resets write; the first axis is the environment."""
    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("num_env_steps",)
    """Attributes of the single environment that differ between environments."""
    SHARED_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "get_all_actions",
        "get_instructions",
    )
    """Attributes and side-effect-free methods that all environments share."""
    DISCRETE_INFO_KEYS: ClassVar[tuple[str, ...] | None] = None
    """Keys of a step's infos with integer actions; None: those that all games have."""

    _state_getters: ClassVar[tuple[tuple[str, Callable[[Any], Any]], ...]]
    metadata: dict[str, Any] = METADATA

    def __init_subclass__(cls) -> None:
        for table in ("STATE", "PER_ENV_ATTRIBUTES", "SHARED_ATTRIBUTES"):
            tuples = [owner.__dict__.get(table, ()) for owner in reversed(cls.__mro__)]
            setattr(cls, table, tuple(dict.fromkeys(sum(tuples, ()))))
        cls._state_getters = tuple(
            (name.replace(".", "_"), operator.attrgetter(name)) for name in cls.STATE
        )

    def __init__(
        self,
        options: Any,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
        prefetch: bool | None = False,
    ) -> None:
        self.options, self.num_envs, self.num_threads = options, num_envs, num_threads
        self.prefetch = prefetch
        self.observer = GridObserver(options, num_threads)
        limits = [max_episode_steps, getattr(options, "max_steps", None)]
        self.max_steps = min((limit for limit in limits if limit), default=0)
        self.render_mode = options.render_mode
        self.single_observation_space = self.observer.space
        self.action_codes = ActionCodes(options)
        self.first_action = options.first_action
        self.single_action_space: Space[Any] = Discrete(
            options.FAMILY.num_actions, start=self.first_action
        )
        self.action_parser = make_action_parser(options)
        if self.action_parser is not None:
            self.single_action_space = text_action_space(self.action_parser)
            self._instruction = describe_game(options, self.action_parser)
        # The infos of a step; None: all that there are.
        self._info_keys: tuple[str, ...] | None = None
        if self.DISCRETE_INFO_KEYS is not None and self.action_parser is None:
            more = ("action_mask",) if options.action_mask else ()
            self._info_keys = self.DISCRETE_INFO_KEYS + more
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.elapsed_steps = np.zeros(num_envs, np.int32)
        self.successes = np.zeros(num_envs, np.bool_)
        self.unroll_slices = SliceSizer("environments")
        self.kernel_threads = KernelThreads(num_threads)
        self._allocate()

    def _allocate(self) -> None:
        """Allocate the arrays of the state."""

    # ---------------------------------------------------------------- one step

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions as (n,) int64, or parsed; see `Engine.check_actions`."""
        if self.action_parser is None:
            return self.action_codes.check_batch(actions, skip_mask)
        texts = check_texts(actions, skip_mask)
        return self.action_parser.parse_batch(texts, skip_mask)

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return the infos of the last resets of some rows.

        They are ``env_instruction`` with text, and those of `_state_infos`.
        """
        infos = self._state_infos(rows)
        if self.action_parser is not None:
            infos["env_instruction"] = np.full(len(rows), self._instruction, object)
        return infos

    def _state_infos(self, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the infos of resets and steps that the options ask for, (m, ...)."""
        if self.options.action_mask:
            return {"action_mask": self._action_masks(rows)}
        return {}

    def _action_masks(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return 1 for the actions that can change something, (m, A), new."""
        raise NotImplementedError

    def _needs_single_steps(self) -> bool:
        """Return whether the options ask for more than a compiled unroll does."""
        return bool(self.options.action_mask)

    def step(
        self,
        actions: Any,
        skip_mask: NDArray[np.bool_],
        idle_mask: NDArray[np.bool_] | None = None,
    ) -> StepResult:
        """Step every environment but those to skip; see `Engine.step`."""
        if self.action_parser is None:
            rewards, terminations, truncations, values = self._step_batch(
                actions, skip_mask, self.max_steps
            )
        else:
            # A turn of several actions is one step for every limit.
            elapsed_steps = self.elapsed_steps + ~skip_mask
            rewards, terminations, _, values = step_texts(
                self.action_parser,
                actions,
                skip_mask,
                lambda codes, skip_mask: self._step_batch(codes, skip_mask, 0),
            )
            self.elapsed_steps[:] = elapsed_steps
            # As the kernel `reaches_limit`, which is compiled for numbers alone.
            is_over = (elapsed_steps >= self.max_steps) & (self.max_steps > 0)
            truncations = ~skip_mask & is_over
        if self.options.action_mask:
            masks = self._action_masks(np.arange(self.num_envs))
            masks[skip_mask] = 0
            values["action_mask"] = masks
        infos = masked_infos(values, ~skip_mask, self._info_keys)
        # The arrays of infos are the caller's.
        successes = values["success"]
        if "success" in infos:
            successes = successes.copy()
        if idle_mask is not None:
            successes |= self.successes & idle_mask
        self.successes = successes
        return StepResult(rewards, terminations, truncations, infos)

    def _step_batch(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_], max_steps: int
    ) -> BatchStep:
        """Take one action in every environment but those to skip, which give zeros.

        Parameters
        ----------
        actions : (n,) int64
        skip_mask : (n,) bool
        max_steps : int
            Steps after which an episode is truncated; 0: never.
        """
        raise NotImplementedError

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Start the next episode in some environments; see `Engine.advance`."""
        raise NotImplementedError

    def set_level_options(
        self, env_ids: NDArray[np.int64], level_options: Mapping[str, Any]
    ) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`.

        Raises
        ------
        UnsupportedError
            A game without levels.
        """
        message = (
            f"{self.SINGLE.__name__} has no level options that can change between "
            f"episodes, got {', '.join(level_options) or 'none'} for "
            f"{len(env_ids)} environments: make a new environment"
        )
        raise UnsupportedError(message)

    # ---------------------------------------------------------------- many steps

    def unroll(
        self,
        actions: Any,
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> UnrollResult | None:
        """Take T steps; see `roll_vec.vector.engine.SupportsUnroll.unroll`.

        Returns None with texts or further infos, and if an action needs an error or a
        warning: in NEXT_STEP mode it may belong to a step that ignores it.
        """
        codes = self.parse_steps(actions, self.num_envs)
        if codes is None:
            return None
        buffer = self._make_buffer(codes, has_ended, mode, out)
        self._unroll(buffer)
        outcome = buffer.outcome
        self.successes = outcome.successes[-1].copy()
        final_observations = None
        if buffer.same_step:
            final_observations = self._observe_buffer(
                buffer.next_observations, out and out.infos.get("final_obs")
            )
        infos = outcome_infos(outcome)
        if self.DISCRETE_INFO_KEYS is not None:
            infos["prob"] = buffer.probs
            infos = {key: infos[key] for key in self.DISCRETE_INFO_KEYS}
        return UnrollResult(
            self._observe_buffer(buffer.observations, out and out.observations),
            final_observations,
            outcome.rewards,
            outcome.terminations,
            outcome.truncations,
            infos,
            buffer.progress.times,
            buffer.has_reset_infos,
        )

    def parse_steps(self, actions: Any, num_envs: int) -> NDArray[np.int64] | None:
        """Return the actions that `unroll` can take for a batch of any size, or None.

        Returns
        -------
        (T, num_envs) int64, or None
        """
        if self.action_parser is not None or self._needs_single_steps():
            return None
        return self.action_codes.parse_steps(actions, num_envs)

    def _make_buffer(
        self,
        actions: NDArray[np.int64],
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> RolloutBuffer:
        """Return an empty buffer; grids are written straight into ``out``."""
        height, width = self.observer.shape
        shape = (*actions.shape, height * width)
        arrays = []
        if out is not None and self.observer.obs_mode == "grid":
            arrays.append(out.observations.reshape(shape))
            if "final_obs" in out.infos:
                arrays.append(out.infos["final_obs"].reshape(shape))
        return RolloutBuffer(
            actions, has_ended, mode, shape[2:], np.uint8, out, *arrays
        )

    def _observe_buffer(self, cells: NDArray[Any], out: Any) -> Any:
        """Return the (T, n, ...) observations of a buffer, or T tuples of n texts."""
        num_steps, n = cells.shape[:2]
        grids = cells.reshape(-1, *self.observer.shape)
        if self.observer.obs_mode == "grid":
            return grids.reshape(num_steps, n, *self.observer.shape)
        if self.observer.obs_mode == "text":
            texts = self.observer.observe(grids)
            return tuple(texts[t * n : (t + 1) * n] for t in range(num_steps))
        if out is not None:
            out = out.reshape(num_steps * n, *out.shape[2:])
        observations = self.observer.observe(grids, out)
        return observations.reshape(num_steps, n, *observations.shape[1:])

    def _unroll(self, buffer: RolloutBuffer) -> None:
        """Take all steps of a buffer; in DISABLED mode those before an episode's end.

        All environments take the same steps in one call of `_unroll_range`.  Those
        whose next levels are not in memory stop there.  The next episodes of all that
        have stopped begin together, and `_unroll_rows` plays these environments until
        they stop again.
        """
        num_steps, (times, states) = len(buffer.actions), buffer.progress
        is_disabled = buffer.mode is AutoresetMode.DISABLED
        at_once = num_steps
        if not self._has_next_levels(buffer.mode):
            at_once = max(STEPS_AT_ONCE // self.num_envs, 16)
        for first_step in range(0, num_steps, at_once):
            until = min(first_step + at_once, num_steps)
            self._unroll_range(first_step, until, buffer)
            waits = times < until
            rows = np.flatnonzero(waits & (states == PLAYING) if is_disabled else waits)
            while len(rows):
                to_reset = rows[states[rows] == NEEDS_RESET]
                if len(to_reset):
                    self.advance(to_reset)
                    states[to_reset] = JUST_RESET
                self._unroll_rows(rows, until, buffer)
                if is_disabled:
                    break
                rows = np.flatnonzero((states == NEEDS_RESET) & (times < until))

    def _has_next_levels(self, mode: AutoresetMode) -> bool:
        """Return whether an unroll in this mode stops nowhere for a level."""
        return mode is AutoresetMode.DISABLED

    def _unroll_range(self, first_step: int, until: int, buffer: RolloutBuffer) -> None:
        """Take the same steps in all environments, as far as `advance` is not needed.

        Environments that stop need a reset, and their time is the step of the reset.
        This takes no step; a subclass may take them in compiled code.

        Parameters
        ----------
        first_step, until : int
            The first step and the one before which to stop.
        buffer : RolloutBuffer
        """

    def _unroll_rows(
        self, rows: NDArray[np.int64], until: int, buffer: RolloutBuffer
    ) -> None:
        """Take the steps of some environments before ``until``.

        Each goes on from its own time until all steps are taken or its episode ends.
        This takes them by `_step_batch`; a subclass may do the same in compiled code.

        Parameters
        ----------
        rows : (m,) int64
        until : int
            The step to stop before.
        buffer : RolloutBuffer
        """
        times, states = buffer.progress
        num_cells = buffer.observations.shape[2]
        for t in range(times[rows].min(), until):
            active = rows[(times[rows] == t) & (states[rows] != NEEDS_RESET)]
            playing = active[states[active] == PLAYING]
            skip_mask = np.ones(self.num_envs, np.bool_)
            skip_mask[playing] = False
            rewards, terminations, truncations, values = self._step_batch(
                buffer.actions[t], skip_mask, self.max_steps
            )
            # In SAME_STEP mode an episode begins within the step that ended another
            # one, whose results stay; else in a step of its own, whose results are 0.
            rows_to_write = playing if buffer.same_step else active
            buffer.outcome.rewards[t, rows_to_write] = rewards[rows_to_write]
            buffer.outcome.terminations[t, rows_to_write] = terminations[rows_to_write]
            buffer.outcome.truncations[t, rows_to_write] = truncations[rows_to_write]
            infos = {**outcome_infos(buffer.outcome), "prob": buffer.probs}
            for key, value in values.items():
                infos[key][t, rows_to_write] = value[rows_to_write]
            ends = (terminations | truncations)[active]
            states[active] = np.where(ends, NEEDS_RESET, PLAYING)
            times[active] = t + 1
            if buffer.same_step:
                times[active[ends]] = t
            buffer.next_observations[t, rows_to_write] = self.grids(
                rows_to_write
            ).reshape(len(rows_to_write), num_cells)
            if buffer.same_step:
                others = active[~ends]
                buffer.observations[t, others] = self.grids(others).reshape(
                    len(others), num_cells
                )

    # ---------------------------------------------------------------- state

    def configuration(self) -> dict[str, Any]:
        """Return the options and the step limit; see `Engine.configuration`."""
        fields = {field.name for field in dataclasses.fields(self.options)}
        names = sorted(fields - {"render_mode", "render_scale"})
        options = {name: describe_value(getattr(self.options, name)) for name in names}
        return {**options, "max_episode_steps": self.max_steps}

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of `STATE` themselves, by name."""
        return {name: get(self) for name, get in self._state_getters}

    def get_state(self) -> EngineState:
        """Return copies of the arrays of `STATE`; see `Engine.get_state`."""
        # In the order of the memory: some are transposed views.
        return EngineState(
            {name: array.copy("K") for name, array in self._state_arrays().items()}
        )

    def save_point(self) -> EngineState:
        """Return the state; see `SupportsUnroll.save_point`."""
        return self.get_state()

    def go_back(self, point: EngineState) -> None:
        """Set all environments to a state of `save_point`."""
        env_ids = np.arange(self.num_envs)
        self.set_state(point, env_ids, env_ids)

    def check_state(self, state: EngineState) -> None:
        """Check names, dtypes, shapes and values; see `Engine.check_state`."""
        own, arrays = self._state_arrays(), state.arrays
        if arrays.keys() != own.keys():
            raise InvalidStateError.expected(
                "state", f"the arrays {sorted(own)}", sorted(arrays)
            )
        for name, array in own.items():
            expected = f"{array.dtype} of shape (n, {str(array.shape[1:])[1:]}"
            values = arrays[name]
            if values.dtype != array.dtype or values.shape[1:] != array.shape[1:]:
                value = f"{values.dtype} of shape {values.shape}"
                raise InvalidStateError.of_array(name, expected, value)
        check_array(arrays, "elapsed_steps", 0, self.max_steps or MAX_INT)
        self.make_single().check_values(arrays)

    def set_state(
        self, state: EngineState, rows: NDArray[np.int64], env_ids: NDArray[np.int64]
    ) -> None:
        """Copy rows of a state; see `Engine.set_state`."""
        is_whole = len(env_ids) == self.num_envs
        for name, array in self._state_arrays().items():
            values = state.arrays[name]
            if not is_whole:
                array[env_ids] = values[rows]
            # The rows have been checked: with another mode `take` makes a copy first.
            elif array.flags.c_contiguous:
                np.take(values, rows, 0, array, mode="clip")
            else:
                np.take(values.T, rows, -1, array.T, mode="clip")

    # ---------------------------------------------------------------- observations

    def grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Return the (n, H, W) codes of all or some environments; not to be written."""
        raise NotImplementedError

    def _observed_grids(
        self, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint8]:
        """Return the codes to observe, with `START_MARK` if texts name starts."""
        return self.grids(rows)

    def observe(self, out: Any = None) -> Any:
        """Return the observations of all environments; see `Engine.observe`."""
        if self.observer.obs_mode == "grid":
            return self._copy_grids(out)
        return self.observer.observe(self._observed_grids(), out)

    def _copy_grids(self, out: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        """Return the codes of all environments in a new array, or in ``out``."""
        grids = self.grids()
        if out is None:
            out = np.empty(grids.shape, np.uint8)
        self.kernel_threads.run(copy_grids, len(grids), grids, out)
        return out

    def observe_envs(self, rows: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some environments, one by one."""
        return list(self.observer.observe(self._observed_grids(rows)))

    @property
    def are_codes_enough(self) -> bool:
        """Whether grids of cell codes decide observations and frames."""
        # Not the start cells that texts of coordinates name.
        return self.options.own_space is None and self.options.text_format == "grid"

    def draws_frames(self, mode: str) -> bool:
        """Return whether grids of cell codes decide the frames of a mode."""
        return True

    def frames(self, rows: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a frame of each of some environments."""
        return self.observer.frames(self.grids(rows), mode, self.options.render_scale)

    def close(self) -> None:
        """Release what the engine holds beside memory; see `Engine.close`."""

    # ---------------------------------------------------------------- attributes

    def make_single(self) -> Any:
        """Return a single environment with these options."""
        fields = dataclasses.fields(self.options)
        return self.SINGLE(**{f.name: getattr(self.options, f.name) for f in fields})

    def solve(self, env_ids: NDArray[np.int64], objective: str) -> list[Any]:
        """Return solutions; see `Engine.solve`.

        Raises
        ------
        UnsupportedError
            A game without a solver.
        """
        message = f"{type(self).__name__} has no solver for {objective!r}"
        raise UnsupportedError(message)

    def generators(self) -> tuple[np.random.Generator, ...]:
        """Return copies of each environment's ``np_random``."""
        raise NotImplementedError

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or another attribute of each environment."""
        if name == "np_random":
            return self.generators()
        if name in self.PER_ENV_ATTRIBUTES:
            env, arrays, values = self.make_single(), self._state_arrays(), []
            for row in range(self.num_envs):
                env.load_values({name: array[row] for name, array in arrays.items()})
                values.append(getattr(env, name))
            return tuple(values)
        if name in self.SHARED_ATTRIBUTES:
            return (getattr(self.make_single(), name),) * self.num_envs
        options = {field.name for field in dataclasses.fields(self.options)}
        if name in options:
            return (getattr(self.options, name),) * self.num_envs
        names = options.union(self.PER_ENV_ATTRIBUTES, self.SHARED_ATTRIBUTES)
        message = (
            f"{type(self).__name__} has no attribute {name!r} to read; those that "
            f"exist: {', '.join(sorted(names))}"
        )
        raise AttributeError(message)
