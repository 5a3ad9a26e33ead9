"""What the engines of all array environments share."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.errors import InvalidActionError, list_env_ids, shorten
from roll_vec.kernels.outcomes import JUST_RESET, NEEDS_RESET
from roll_vec.kernels.validation import any_outside
from roll_vec.stacked.action_codes import ActionCodes
from roll_vec.stacked.grid_observations import GridObserver
from roll_vec.stacked.options import NUM_ACTIONS, RENDER_MODES
from roll_vec.stacked.rollout_buffer import RolloutBuffer
from roll_vec.stacked.row_threads import SliceSizer
from roll_vec.stacked.text_actions import (
    describe_game,
    make_action_parser,
    text_action_space,
)
from roll_vec.text.turn import BatchResult, step_texts
from roll_vec.text.validation import check_texts, text_hint
from roll_vec.vector.engine import StepResult, UnrollResult
from roll_vec.vector.infos import masked_infos
from roll_vec.vector.rollout import Rollout

__all__ = ["METADATA", "StackedEngine"]

METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}

# Steps of all rows that are unrolled before their next episodes are begun: with many
# rows there is always one whose episode ends soon, and then the next, and each time
# the steps of all are gone through.
STEPS_AT_ONCE = 1 << 16


class StackedEngine:
    """Base of the engines over stacked arrays; see `roll_vec.vector.engine.Engine`.

    A family gives the state, `reset`, `advance`, `_step_batch`, `_unroll_rows`,
    `_grids`, `make_single` and `load_row_into`, and the class attributes below.
    """

    STATE: ClassVar[tuple[str, ...]] = ("elapsed_steps", "successes")
    """The arrays that steps and resets write."""

    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = ()
    """Attributes of the single environment that differ between environments."""
    SHARED_ATTRIBUTES: ClassVar[tuple[str, ...]] = ()
    """Attributes and side-effect-free methods that all environments share."""
    DISCRETE_INFO_KEYS: ClassVar[tuple[str, ...] | None] = None
    """Keys of a step's infos with integer actions, where they are not all."""

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
        options: Any,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
        observer: GridObserver,
        observation_space: Space[Any] | None = None,
    ) -> None:
        self.options, self.num_envs, self.num_threads = options, num_envs, num_threads
        self.observer = observer
        own_limit = getattr(options, "max_steps", None)
        limits = [max_episode_steps, own_limit]
        self.max_steps = min((limit for limit in limits if limit), default=0)
        self.render_mode = options.render_mode
        self.single_observation_space = observation_space or observer.space
        self.action_codes = ActionCodes(options)
        self.first_action = self.action_codes.first
        self.single_action_space: Space[Any] = Discrete(
            NUM_ACTIONS, start=self.first_action
        )
        self.action_parser = make_action_parser(options)
        if self.action_parser is not None:
            self.single_action_space = text_action_space(self.action_parser)
            self._instruction = describe_game(options, self.action_parser)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.elapsed_steps = np.zeros(num_envs, np.int32)
        self.successes = np.zeros(num_envs, np.bool_)
        self.unroll_slices = SliceSizer("environments")

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions as (n,) int64, or parsed; see `Engine.check_actions`."""
        if self.action_parser is not None:
            texts = check_texts(actions, skip_mask)
            return self.action_parser.parse_batch(texts, skip_mask)
        codes = self.action_codes
        try:
            batch = np.asarray(actions)
        except ValueError:
            message = (
                f"actions: expected {self.num_envs} integers, one an environment, "
                f"got {shorten(actions)}{text_hint(actions)}"
            )
            raise InvalidActionError(message) from None
        if batch.shape != (self.num_envs,):
            message = (
                f"actions: expected shape ({self.num_envs},), one integer an "
                f"environment, got shape {batch.shape}{text_hint(actions)}"
            )
            raise InvalidActionError(message)
        if batch.dtype.kind not in "iu":
            message = (
                f"actions: expected an integer dtype, got {batch.dtype}"
                f"{text_hint(actions)}"
            )
            raise InvalidActionError(message)
        checked = np.ascontiguousarray(batch, np.int64)
        # numba compiles the kernels anew for a read-only array, such as jax's.
        if not checked.flags.writeable:
            checked = checked.copy()
        # numpy's min and max cost ten times as much.
        if any_outside(checked, codes.usual, codes.last):
            outside = (checked < codes.lowest) | (checked > codes.last)
            rows = np.flatnonzero(outside & ~skip_mask)
            if len(rows):
                message = (
                    f"actions: expected {codes.lowest} to {codes.last}, got "
                    f"{batch[rows[:8]].tolist()} in environments {list_env_ids(rows)}"
                )
                raise InvalidActionError(message)
            if ((checked < codes.usual) & ~(outside | skip_mask)).any():
                codes.warn("single_action_space")
            checked = np.where(outside, codes.lowest, checked)
        return checked

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return ``env_instruction`` for some rows, or nothing without text."""
        if self.action_parser is None:
            return {}
        return {"env_instruction": np.full(len(rows), self._instruction, object)}

    def step(self, actions: Any, skip_mask: NDArray[np.bool_]) -> StepResult:
        """Step every row but those to skip; see `Engine.step`."""
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
            truncations = ~skip_mask & (elapsed_steps == self.max_steps)
        self.successes = values["success"].copy()
        if self.action_parser is None and self.DISCRETE_INFO_KEYS is not None:
            values = {key: values[key] for key in self.DISCRETE_INFO_KEYS}
        infos = masked_infos(values, ~skip_mask)
        return StepResult(rewards, terminations, truncations, infos)

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Go on to the next episode in some rows."""
        raise NotImplementedError

    def _step_batch(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_], max_steps: int
    ) -> BatchResult:
        """Take one action in every row but those to skip, which give zeros.

        Parameters
        ----------
        actions : (n,) int64
        skip_mask : (n,) bool
        max_steps : int
            Steps after which an episode is truncated; 0: never.
        """
        raise NotImplementedError

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that puts all rows back to where they are now."""
        arrays = operator.attrgetter(*self.STATE)
        saved = [array.copy() for array in arrays(self)]

        def restore() -> None:
            for array, values in zip(arrays(self), saved, strict=True):
                np.copyto(array, values)

        return restore

    def unroll(
        self,
        actions: Any,
        finished: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> UnrollResult | None:
        """Take T steps; see `roll_vec.vector.engine.SupportsUnroll.unroll`.

        None with texts, and where actions are to be refused or warned of, which
        depends on the step in NEXT_STEP mode.
        """
        checked = self._check_plan(actions)
        if checked is None:
            return None
        buffer = self._make_buffer(checked, finished, mode, out)
        self._unroll(buffer)
        self.successes = buffer.successes[-1].copy()
        return UnrollResult(
            self._observe_buffer(buffer.observations, out and out.observations),
            self._observe_buffer(
                buffer.next_observations, out and out.infos.get("final_obs")
            )
            if buffer.same_step
            else None,
            buffer.rewards,
            buffer.terminations,
            buffer.truncations,
            self._buffer_infos(buffer),
            buffer.times,
        )

    def _check_plan(self, actions: Any) -> NDArray[np.int64] | None:
        """Return T actions a row as (T, n) int64; None where they are not that."""
        if self.action_parser is not None:
            return None
        try:
            batch = np.asarray(actions)
        except ValueError:
            return None
        if batch.ndim != 2 or batch.shape[1] != self.num_envs:
            return None
        if batch.dtype.kind not in "iu":
            return None
        checked = np.ascontiguousarray(batch, np.int64)
        if not checked.flags.writeable:
            checked = checked.copy()
        # Also with a 0 that needs a warning: only `step` knows whether it is played.
        outside = any_outside(
            checked.reshape(-1), self.action_codes.usual, self.action_codes.last
        )
        return None if outside else checked

    def _make_buffer(
        self,
        actions: NDArray[np.int64],
        finished: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> RolloutBuffer:
        """Return an empty buffer; grids are written straight into observations."""
        height, width = self.observer.shape
        cells: tuple[int, ...] = (*actions.shape, height * width)
        out_observations = out_next_observations = None
        if out is not None and self.observer.obs_mode == "grid":
            out_observations = out.observations.reshape(cells)
            if "final_obs" in out.infos:
                out_next_observations = out.infos["final_obs"].reshape(cells)
        return RolloutBuffer(
            actions,
            finished,
            mode,
            cells[2:],
            np.uint8,
            out_observations,
            out_next_observations,
            out,
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

    def _buffer_infos(self, buffer: RolloutBuffer) -> dict[str, NDArray[Any]]:
        """Return the infos of the steps of a buffer, (T, n) each."""
        return {
            "action_is_effective": buffer.effective,
            "action_is_valid": buffer.valid,
            "success": buffer.successes,
        }

    def _unroll(self, buffer: RolloutBuffer) -> None:
        """Take all steps of a buffer, or in DISABLED mode those until an end.

        Each row is played until its episode ends; the next episodes of all are then
        begun together.
        """
        num_steps = len(buffer.actions)
        at_once = max(STEPS_AT_ONCE // self.num_envs, 16)
        if buffer.mode is AutoresetMode.DISABLED:
            at_once = num_steps
        for until in range(at_once, num_steps + at_once, at_once):
            until = min(until, num_steps)
            rows = np.arange(self.num_envs)
            while len(rows):
                ended = rows[buffer.states[rows] == NEEDS_RESET]
                if len(ended):
                    self.advance(ended)
                    buffer.states[ended] = JUST_RESET
                self._unroll_rows(rows, until, buffer)
                rows = np.flatnonzero(
                    (buffer.states == NEEDS_RESET) & (buffer.times < until)
                )
                if buffer.mode is AutoresetMode.DISABLED:
                    break

    def _unroll_rows(
        self, rows: NDArray[np.int64], until: int, buffer: RolloutBuffer
    ) -> None:
        """Take the steps of some rows before ``until``, each from its own time on.

        A row goes on until all steps are done or its episode has ended.
        """
        raise NotImplementedError

    def _grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Return the (n, H, W) codes of all rows, or of some; not to be written."""
        raise NotImplementedError

    def make_single(self) -> Any:
        """Return a single environment with these options."""
        raise NotImplementedError

    def load_row_into(self, env: Any, row: int) -> None:
        """Copy the state of one row into a single environment."""
        raise NotImplementedError

    def observe(self, out: Any = None) -> Any:
        """Return the observations of all rows; see `Engine.observe`."""
        return self.observer.observe(self._grids(), out)

    def observe_envs(self, rows: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some rows, one by one."""
        return list(self.observer.observe(self._grids(rows)))

    def frames(self, rows: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a frame of each of some rows."""
        return self.observer.frames(self._grids(rows), mode, self.options.render_scale)

    def generators(self) -> tuple[np.random.Generator, ...]:
        """Return copies of each environment's ``np_random``."""
        raise NotImplementedError

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or a query of each environment."""
        if name == "np_random":
            return self.generators()
        if name in self.PER_ENV_ATTRIBUTES:
            env, found = self.make_single(), []
            for row in range(self.num_envs):
                self.load_row_into(env, row)
                found.append(getattr(env, name))
            return tuple(found)
        if name in self.SHARED_ATTRIBUTES:
            return (getattr(self.make_single(), name),) * self.num_envs
        options = {field.name for field in dataclasses.fields(self.options)}
        if name in options:
            return (getattr(self.options, name),) * self.num_envs
        known = options.union(self.PER_ENV_ATTRIBUTES, self.SHARED_ATTRIBUTES)
        message = (
            f"{type(self).__name__} has no attribute {name!r} to read; those that "
            f"exist: {', '.join(sorted(known))}"
        )
        raise AttributeError(message)
