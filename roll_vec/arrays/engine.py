"""The base of all engines whose environments are rows of stacked arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.arrays.action_codes import ActionCodes
from roll_vec.arrays.bound_steps import BoundStep, OneStep
from roll_vec.arrays.grid_observations import GridObserver
from roll_vec.arrays.kernel_threads import KernelThreads
from roll_vec.arrays.prefetch import Prefetcher
from roll_vec.arrays.rollout_buffer import RolloutBuffer
from roll_vec.arrays.row_threads import SliceSizer, for_row_ranges
from roll_vec.arrays.stacked_state import StackedState
from roll_vec.arrays.text_actions import make_action_parser, text_action_space
from roll_vec.errors import UnsupportedError
from roll_vec.kernels.outcomes import JUST_RESET, NEEDS_RESET
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.kernels.thread_team import IS_COMPILED
from roll_vec.options import describe_value
from roll_vec.seeding import generator_at
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.turn import BatchStep, step_texts
from roll_vec.text.validation import check_texts
from roll_vec.vector.engine import NO_IDS, Engine, StepResult, UnrollResult
from roll_vec.vector.infos import Infos
from roll_vec.vector.rollout import Rollout

# Steps of all environments that an unroll takes before it begins the next episodes.
# Each time episodes end, the kernel goes through the steps of all environments again.
# With many environments that is often, so an unroll runs in blocks of steps.
STEPS_AT_ONCE = 1 << 16
# Each thread of an unroll takes at least this many steps of environments: handing work
# to a thread takes 20 to 130 us, a step some 5 ns.
STEP_ROWS_PER_THREAD = 1 << 15


class StackedEngine(StackedState, Engine):
    """Base of the engines over stacked arrays; see `roll_vec.vector.engine.Engine`.

    A subclass gives `_observation_space`, `_allocate`, `reset`, `advance`, `_kernels`,
    `_make_outcome`, `_make_observations`, `_shape_observations` and those methods of an
    engine that observe.

    Parameters
    ----------
    options : dataclass
        The keywords of the environments.
    num_envs : int
    max_episode_steps : int or None
        None: no limit beside the options' own.
    num_threads : int
    prefetch : bool or None
        Whether levels are drawn ahead of time, where they are generated; None: where
        that saves time.

    Attributes
    ----------
    variables : tuple of (n, ...) arrays
        What kernels write to.
    constants : tuple of numbers and arrays
        What all environments share.
    rng_states : (6, n) uint64
        States of PCG64 generators; (6, 0) where kernels draw nothing.
    elapsed_steps : (n,) int32
    successes : (n,) bool
        Whether the last step of each environment was a success.
    """

    FLAG_INFOS: ClassVar[tuple[str, ...]] = ()
    """The first infos of kernels, (n,) bool; all or none of those of `GridEngine`."""
    HAS_RESET_INFOS: ClassVar[bool] = False
    """Whether kernels write the infos of resets beside those of steps."""

    _kernels: Any
    observer: GridObserver | None
    single_action_space: Space[Any]
    action_codes: ActionCodes | None
    action_parser: ActionParser | None
    variables: tuple[NDArray[Any], ...]
    constants: tuple[Any, ...]
    prefetcher: Prefetcher | None = None
    # What `play_one` makes at its first call.
    _one: OneStep | None = None
    # Of the infos of the last step.
    _num_masks: int = 0

    def __init__(
        self,
        options: Any,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
        prefetch: bool | None = None,
    ) -> None:
        self.options, self.num_envs, self.num_threads = options, num_envs, num_threads
        self.prefetch, self.max_steps = prefetch, max_episode_steps or 0
        self.metadata, self.render_mode = options.metadata, options.render_mode
        self.observer = options.make_observer(num_threads)
        self.single_observation_space = self._observation_space()
        self.single_action_space = options.single_action_space
        self.first_action = options.first_action
        self.action_codes = None
        if isinstance(self.single_action_space, Discrete):
            self.action_codes = ActionCodes(options)
        self.action_parser = make_action_parser(options)
        if self.action_parser is not None:
            self.single_action_space = text_action_space(self.action_parser)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.elapsed_steps = np.zeros(num_envs, np.int32)
        self.successes = np.zeros(num_envs, np.bool_)
        self.rng_states = np.zeros((PCG_WORDS, 0), np.uint64)
        self.unroll_slices = SliceSizer("environments")
        self.kernel_threads = KernelThreads(num_threads)
        self._allocate()
        # As kernels take it, see `roll_vec.kernels.unroll`; no array is ever replaced.
        parts = self.variables, self.constants, self.rng_states, self.elapsed_steps
        self._state: tuple[Any, ...] = parts
        # By the limit of steps.
        self._bound: dict[int, BoundStep] = {}

    def _observation_space(self) -> Space[Any]:
        """Return the space of an observation."""
        raise NotImplementedError

    def _allocate(self) -> None:
        """Allocate the arrays of the state."""
        raise NotImplementedError

    def _rules(self, max_steps: int) -> tuple[Any, ...]:
        """Return the rules, as the kernel of a step takes them."""
        return self.first_action, max_steps

    # ---------------------------------------------------------------- one step

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions as (n,) int64, or parsed; see `Engine.check_actions`."""
        if self.action_parser is not None:
            texts = check_texts(actions, skip_mask)
            return self.action_parser.parse_batch(texts, skip_mask)
        assert self.action_codes is not None
        return self.action_codes.check_batch(actions, skip_mask)

    def reset_infos(self, env_ids: NDArray[np.int64]) -> dict[str, Any]:
        """Return the infos of the last resets of some environments.

        They are ``env_instruction`` with text, and ``action_mask`` if it is asked for.
        """
        infos: dict[str, Any] = {}
        if self.options.action_mask:
            infos["action_mask"] = self.action_masks(env_ids)
        if self.action_parser is not None:
            text = self.instructions
            infos["env_instruction"] = np.full(len(env_ids), text, object)
        return infos

    @cached_property
    def instructions(self) -> str:
        """The game, the actions and the form of an answer."""
        return str(self.options.instructions(self.action_parser))

    def action_masks(self, env_ids: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return 1 for the actions that can change something, (m, A), new."""
        raise NotImplementedError

    def step(
        self,
        actions: Any,
        skip_mask: NDArray[np.bool_],
        idle_mask: NDArray[np.bool_] | None = None,
        begins: NDArray[np.int64] = NO_IDS,
    ) -> StepResult:
        """Step every environment but those to skip; see `Engine.step`."""
        masks: Any = ()
        if len(begins) and not (self.action_parser is None and self._begins_inside()):
            self.advance(begins)
            begins = NO_IDS
        if self.action_parser is None:
            limit = self.max_steps
            result, masks = self._step_batch(actions, skip_mask, limit, begins)
            rewards, terminations, truncations, values = result
        else:
            # A turn of several actions is one step for every limit.
            elapsed_steps = self.elapsed_steps + ~skip_mask
            rewards, terminations, _, values = step_texts(
                self.action_parser,
                actions,
                skip_mask,
                lambda codes, skip_mask: self._step_batch(codes, skip_mask, 0)[0],
            )
            self.elapsed_steps[:] = elapsed_steps
            # As the kernel `reaches_limit`, which is compiled for numbers alone.
            is_over = (elapsed_steps >= self.max_steps) & (self.max_steps > 0)
            truncations = ~skip_mask & is_over
        if self.options.action_mask:
            action_masks = self.action_masks(np.arange(self.num_envs))
            action_masks[skip_mask] = 0
            values["action_mask"] = action_masks
        if "success" in values:
            if idle_mask is not None:
                idle_mask = self.successes & idle_mask
            # A copy: the arrays of infos are the caller's.
            self.successes[...] = values["success"]
            if idle_mask is not None:
                self.successes |= idle_mask
        infos: Infos = {}
        # None if all are skipped.  The first look takes a tenth of the second's time.
        if not skip_mask[0] or not skip_mask.all():
            values = self._visible_infos(values, 1)
            # The next step has a mask for each.
            num_masks, self._num_masks = len(masks), len(values)
            for k, name in enumerate(values):
                infos[name] = values[name]
                infos[f"_{name}"] = masks[k] if k < num_masks else ~skip_mask
        return rewards, terminations, truncations, infos

    def _step_batch(
        self,
        actions: Any,
        skip_mask: NDArray[np.bool_],
        max_steps: int,
        begins: NDArray[np.int64] = NO_IDS,
    ) -> tuple[BatchStep, NDArray[np.bool_]]:
        """Take one action in every environment but those to skip, which give zeros.

        Parameters
        ----------
        actions : (n,) int64
        skip_mask : (n,) bool
        max_steps : int
            Steps after which an episode is truncated; 0: never.
        begins : (m,) int64
            Those to skip whose next episodes begin; `_begins_inside` says so.

        Returns
        -------
        BatchStep
        masks : (m, n) bool
            m times the environments that are not to skip, for masks of infos.
        """
        bound = self._bound.get(max_steps)
        if bound is None or (len(begins) and bound.source is not self._source_of_next):
            fixed, bind = (self._rules(max_steps), self._state), self._kernels.bind_step
            bound = BoundStep(bind, fixed, self._episodes(), self._source_of_next)
            self._bound[max_steps] = bound
        n, names = self.num_envs, self.FLAG_INFOS
        first_mask = 2 + len(names)
        rewards = np.empty(n)
        # One array: an array takes as long as a step of one environment.
        flags = np.empty((first_mask + self._num_masks, n), np.bool_)
        infos = self._make_infos((n,))
        self.kernel_threads.run(
            bound.kernel,
            n,
            bound.words,
            bound.episode_words,
            begins,
            actions,
            skip_mask,
            rewards,
            flags,
            tuple(infos.values()),
            self._step_observations(),
        )
        if len(begins):
            self._number_levels(begins)
        for k, name in enumerate(names):
            infos[name] = flags[2 + k]
        return (rewards, flags[0], flags[1], infos), flags[first_mask:]

    def _step_observations(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays of observations that the kernel of a step writes."""
        return ()

    def play_one(self, actions: NDArray[Any]) -> tuple[float, bool, dict[str, Any]]:
        """Take one action in the one environment of this engine, without a limit.

        Parameters
        ----------
        actions : (1,) int64, or a (1, ...) array
            As `check_actions` returns it.

        Returns
        -------
        reward, terminated, infos
            Numbers of Python, and arrays.
        """
        if self._one is None:
            outcome = self._make_outcome((1,))
            if "success" in outcome[3]:
                outcome[3]["success"] = self.successes
            names = self._visible_infos({**outcome[3]}, 1)
            rules, bind = self._rules(0), self._kernels.bind_play
            self._one = OneStep(bind, rules, self._state, outcome, names)
        return self._one.take(actions)

    def __getstate__(self) -> dict[str, Any]:
        # A copy has its arrays elsewhere.
        return {**vars(self), "_one": None, "_bound": {}}

    def _make_outcome(self, shape: tuple[int, ...]) -> BatchStep:
        """Return the arrays of T * n steps for kernels to write, each (T, n, ...)."""
        flags = np.empty((2 + len(self.FLAG_INFOS), *shape), np.bool_)
        infos = dict(zip(self.FLAG_INFOS, flags[2:], strict=True))
        infos.update(self._make_infos(shape))
        return np.empty(shape), flags[0], flags[1], infos

    def _make_infos(self, shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """Return the arrays of infos after `FLAG_INFOS`, in the order of kernels."""
        return {}

    def _visible_infos(self, infos: dict[str, Any], ndim: int) -> dict[str, Any]:
        """Return the infos that users get; ``ndim`` of their axes are of the batch.

        The dict may be changed and returned.
        """
        return infos

    def reset(
        self,
        env_ids: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start episodes from new seeds, or the next ones; see `Engine.reset`."""
        raise NotImplementedError

    def advance(self, env_ids: NDArray[np.int64]) -> None:
        """Start the next episode in some environments; see `Engine.advance`."""
        raise NotImplementedError

    def set_level_options(
        self, env_ids: NDArray[np.int64], level_options: Mapping[str, Any]
    ) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`."""
        raise NotImplementedError

    # ---------------------------------------------------------------- many steps

    def unroll(
        self,
        actions: Any,
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> UnrollResult | None:
        """Take T steps; see `roll_vec.vector.engine.Engine.unroll`.

        Returns None with texts or further infos, and if an action needs an error or a
        warning: in NEXT_STEP mode it may belong to a step that ignores it.
        """
        codes = self.parse_steps(actions, self.num_envs)
        if codes is None:
            return None
        same_step = mode is AutoresetMode.SAME_STEP
        first = out and out.observations
        last = out.infos.get("final_obs") if out is not None else None
        observations = self._make_observations(codes.shape, first)
        next_observations = observations
        if same_step:
            next_observations = self._make_observations(codes.shape, last)
        buffer = RolloutBuffer(
            codes,
            has_ended,
            mode,
            self._make_outcome(codes.shape),
            out,
            observations,
            next_observations,
        )
        self._unroll(buffer)
        rewards, terminations, truncations, infos = buffer.outcome
        if "success" in infos:
            self.successes[...] = infos["success"][-1]
        return UnrollResult(
            self._shape_observations(observations, buffer.shape, first),
            self._shape_observations(next_observations, buffer.shape, last)
            if same_step
            else None,
            rewards,
            terminations,
            truncations,
            self._visible_infos(infos, 2),
            buffer.times,
            self.HAS_RESET_INFOS and mode is AutoresetMode.NEXT_STEP,
        )

    def parse_steps(self, actions: Any, num_envs: int) -> NDArray[np.int64] | None:
        """Return the actions that `unroll` can take for a batch of any size, or None.

        Returns
        -------
        (T, num_envs) int64, or None
        """
        if self.action_codes is None or self.action_parser is not None:
            return None
        if self._needs_single_steps():
            return None
        return self.action_codes.parse_steps(actions, num_envs)

    def _needs_single_steps(self) -> bool:
        """Return whether the options ask for more than a compiled unroll does."""
        return bool(self.options.action_mask)

    def _make_observations(
        self, shape: tuple[int, int], out: Any
    ) -> tuple[NDArray[Any], ...]:
        """Return the arrays of the observations of T * n steps, as kernels take them.

        Parameters
        ----------
        shape : (int, int)
            T and n.
        out : observations of T steps, or None
            These may be the arrays.
        """
        raise NotImplementedError

    def _shape_observations(
        self, arrays: tuple[NDArray[Any], ...], shape: tuple[int, ...], out: Any
    ) -> Any:
        """Return arrays of kernels as observations of a user, (T, n, ...)."""
        raise NotImplementedError

    def _unroll(self, buffer: RolloutBuffer) -> None:
        """Take all steps of a buffer; in DISABLED mode those before an episode's end.

        All environments take the same steps in one call of a kernel.  Those whose next
        levels are not in memory stop there.  The next episodes of all that have stopped
        begin together, and another kernel plays these environments until they stop
        again.
        """
        num_steps, times, states = buffer.shape[0], buffer.times, buffer.states
        is_disabled = buffer.mode is AutoresetMode.DISABLED
        at_once = num_steps
        if not (is_disabled or self._has_next_levels()):
            at_once = max(STEPS_AT_ONCE // self.num_envs, 16)
        for first_step in range(0, num_steps, at_once):
            until = min(first_step + at_once, num_steps)
            self._run_steps(
                self._kernels.unroll,
                self.num_envs,
                until - first_step,
                first_step,
                until,
                *buffer.first_arguments,
                self._rules(self.max_steps),
                self._state,
                self._episodes(),
                *buffer.last_arguments,
            )
            waits = times < until
            while waits.any() and not is_disabled:
                rows = np.flatnonzero(waits)
                to_reset = rows[states[rows] == NEEDS_RESET]
                if len(to_reset):
                    self.advance(to_reset)
                    states[to_reset] = JUST_RESET
                self._run_steps(
                    self._kernels.unroll_rows,
                    len(rows),
                    num_steps,
                    rows,
                    until,
                    *buffer.first_arguments,
                    self._rules(self.max_steps),
                    self._state,
                    *buffer.last_arguments,
                )
                waits = (states == NEEDS_RESET) & (times < until)

    def _run_steps(
        self, kernel: Any, num_rows: int, num_steps: int, *arguments: Any
    ) -> None:
        """Run a kernel of many steps on all rows, in slices that Ctrl-C can end."""
        for_row_ranges(
            kernel,
            num_rows,
            self.num_threads if IS_COMPILED else 1,
            1 + STEP_ROWS_PER_THREAD // num_steps,
            self.unroll_slices,
            arguments,
        )

    def _has_next_levels(self) -> bool:
        """Return whether kernels can begin each next episode."""
        return True

    def _begins_inside(self) -> bool:
        """Return whether the kernel of a step can do all that `advance` does."""
        return self._has_next_levels()

    def _number_levels(self, env_ids: NDArray[np.int64]) -> None:
        """Note the levels of episodes that a kernel has begun."""

    @property
    def _source_of_next(self) -> Any:
        """What `_episodes` comes from: another object, other arrays."""
        return None

    def _episodes(self) -> tuple[Any, ...]:
        """Return what kernels begin next episodes with."""
        raise NotImplementedError

    # ---------------------------------------------------------------- observations

    def observe_envs(self, env_ids: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some environments, one by one."""
        raise NotImplementedError

    def observe_one(self) -> Any:
        """Return the observation of the one environment of this engine."""
        return self.observe_envs(np.zeros(1, np.int64))[0]

    # ---------------------------------------------------------------- state

    def configuration(self) -> dict[str, Any]:
        """Return the options and the step limit; see `Engine.configuration`."""
        fields = {field.name for field in dataclasses.fields(self.options)}
        names = sorted(fields - {"render_mode", "render_scale"})
        options = {name: describe_value(getattr(self.options, name)) for name in names}
        return {**options, "max_episode_steps": self.max_steps}

    def generators(self) -> tuple[np.random.Generator, ...]:
        """Return copies of each environment's ``np_random``."""
        return tuple(map(generator_at, self.rng_states.T.tolist()))

    def solve(self, env_ids: NDArray[np.int64], objective: str) -> list[Any]:
        """Return solutions; see `Engine.solve`.

        Raises
        ------
        UnsupportedError
            A game without a solver.
        """
        message = f"{self._name} has no solver for {objective!r}"
        raise UnsupportedError(message)

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or another attribute of each environment.

        A subclass adds its own.
        """
        if name == "np_random":
            return self.generators()
        if name == "num_env_steps":
            return tuple(self.elapsed_steps.tolist())
        names = self._attribute_names()
        if name in names:
            return (getattr(self.options, name),) * self.num_envs
        message = (
            f"{self._name} has no attribute {name!r} to read; those that "
            f"exist: {', '.join(sorted({*names, 'num_env_steps', 'np_random'}))}"
        )
        raise AttributeError(message)

    @property
    def _name(self) -> str:
        """The name of the game, for messages."""
        return type(self).__name__

    def _attribute_names(self) -> set[str]:
        """Return the names of options, and of attributes that a subclass adds."""
        return {field.name for field in dataclasses.fields(self.options)}

    def close(self) -> None:
        """End threads that draw levels ahead of time; see `Engine.close`."""
        if self.prefetcher is not None:
            self.prefetcher.close()
