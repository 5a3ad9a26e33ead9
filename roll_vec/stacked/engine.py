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

from roll_vec.errors import InvalidActionError, describe_rows, shorten
from roll_vec.kernels.outcomes import JUST_RESET, NEEDS_RESET
from roll_vec.kernels.validation import any_outside
from roll_vec.stacked.action_codes import ActionCodes
from roll_vec.stacked.grid_observations import BoardView
from roll_vec.stacked.options import NUM_ACTIONS, RENDER_MODES
from roll_vec.stacked.rollout_buffer import Tape
from roll_vec.stacked.row_threads import SliceSizer
from roll_vec.stacked.text_actions import (
    BatchResult,
    describe_game,
    make_text_actions,
    play_texts,
    text_space,
)
from roll_vec.text.validation import check_texts, text_hint
from roll_vec.vector.engine import Rollout, StepResult, UnrollResult
from roll_vec.vector.infos import masked_infos

__all__ = ["METADATA", "ArrayEngine"]

METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}

# Steps of all rows that are unrolled before their next episodes are begun: with many
# rows there is always one whose episode ends soon, and then the next, and each time
# the steps of all are gone through.
STEPS_AT_ONCE = 1 << 16


class ArrayEngine:
    """Base of the engines over stacked arrays; see `roll_vec.vector.engine.Engine`.

    A family gives the state, `reset`, `advance`, `_play`, `_play_on`, `_grids`,
    `single_form` and `pose`, and the class attributes below.
    """

    STATE: ClassVar[tuple[str, ...]] = ("elapsed_steps", "successes")
    """The arrays that steps and resets write."""

    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = ()
    """Attributes of the single form that differ from row to row and may be read."""
    SHARED_ATTRIBUTES: ClassVar[tuple[str, ...]] = ()
    """Attributes and side-effect-free methods that are the same for all rows."""
    DISCRETE_INFO_KEYS: ClassVar[tuple[str, ...] | None] = None
    """Keys of a step's infos with integer actions, where they are not all."""

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
        options: Any,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
        view: BoardView,
        observation_space: Space[Any] | None = None,
    ) -> None:
        self.options, self.num_envs, self.num_threads = options, num_envs, num_threads
        self.view = view
        own_limit = getattr(options, "max_steps", None)
        limits = [max_episode_steps, own_limit]
        self.max_steps = min((limit for limit in limits if limit), default=0)
        self.render_mode = options.render_mode
        self.single_observation_space = observation_space or view.space
        self.action_codes = ActionCodes(options)
        self.first_action = self.action_codes.first
        self.single_action_space: Space[Any] = Discrete(
            NUM_ACTIONS, start=self.first_action
        )
        self.text_actions = make_text_actions(options)
        if self.text_actions is not None:
            self.single_action_space = text_space(self.text_actions)
            self._instruction = describe_game(options, self.text_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.elapsed_steps = np.zeros(num_envs, np.int32)
        self.successes = np.zeros(num_envs, np.bool_)
        self.unroll_slices = SliceSizer("environments")

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions as (n,) int64, or parsed; see `Engine.check_actions`."""
        if self.text_actions is not None:
            texts = check_texts(actions, skip_mask)
            return self.text_actions.parse_batch(texts, skip_mask)
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
                    f"{batch[rows[:8]].tolist()} in environments {describe_rows(rows)}"
                )
                raise InvalidActionError(message)
            if ((checked < codes.usual) & ~(outside | skip_mask)).any():
                codes.warn("single_action_space")
            checked = np.where(outside, codes.lowest, checked)
        return checked

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return ``env_instruction`` for some rows, or nothing without text."""
        if self.text_actions is None:
            return {}
        return {"env_instruction": np.full(len(rows), self._instruction, object)}

    def step(self, actions: Any, skip_mask: NDArray[np.bool_]) -> StepResult:
        """Step every row but those to skip; see `Engine.step`."""
        if self.text_actions is None:
            rewards, terminations, truncations, values = self._play(
                actions, skip_mask, self.max_steps
            )
        else:
            rewards, terminations, truncations, values = play_texts(
                self, actions, skip_mask
            )
        self.successes = values["success"].copy()
        if self.text_actions is None and self.DISCRETE_INFO_KEYS is not None:
            values = {key: values[key] for key in self.DISCRETE_INFO_KEYS}
        infos = masked_infos(values, ~skip_mask)
        return StepResult(rewards, terminations, truncations, infos)

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Go on to the next episode in some rows."""
        raise NotImplementedError

    def _play(
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
        tape = self._make_tape(checked, finished, mode, out)
        self._play_out(tape)
        self.successes = tape.successes[-1].copy()
        return UnrollResult(
            self._show_tape(tape.seen, out and out.observations),
            self._show_tape(tape.seen_next, out and out.infos.get("final_obs"))
            if tape.same_step
            else None,
            tape.rewards,
            tape.terminations,
            tape.truncations,
            self._tape_infos(tape),
            tape.times,
        )

    def _check_plan(self, actions: Any) -> NDArray[np.int64] | None:
        """Return T actions a row as (T, n) int64; None where they are not that."""
        if self.text_actions is not None:
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

    def _make_tape(
        self,
        actions: NDArray[np.int64],
        finished: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> Tape:
        """Return an empty tape; grids are written straight into observations."""
        height, width = self.view.shape
        cells: tuple[int, ...] = (*actions.shape, height * width)
        shown = shown_next = None
        if out is not None and self.view.obs_mode == "grid":
            shown = out.observations.reshape(cells)
            if "final_obs" in out.infos:
                shown_next = out.infos["final_obs"].reshape(cells)
        return Tape(
            actions, finished, mode, cells[2:], np.uint8, shown, shown_next, out
        )

    def _show_tape(self, seen: NDArray[Any], out: Any) -> Any:
        """Return the (T, n, ...) observations of a tape, or T tuples of n texts."""
        num_steps, n = seen.shape[:2]
        grids = seen.reshape(-1, *self.view.shape)
        if self.view.obs_mode == "grid":
            return grids.reshape(num_steps, n, *self.view.shape)
        if self.view.obs_mode == "text":
            texts = self.view.observe(grids)
            return tuple(texts[t * n : (t + 1) * n] for t in range(num_steps))
        if out is not None:
            out = out.reshape(num_steps * n, *out.shape[2:])
        observations = self.view.observe(grids, out)
        return observations.reshape(num_steps, n, *observations.shape[1:])

    def _tape_infos(self, tape: Tape) -> dict[str, NDArray[Any]]:
        """Return the infos of the steps of a tape, (T, n) each."""
        return {
            "action_is_effective": tape.effective,
            "action_is_valid": tape.valid,
            "success": tape.successes,
        }

    def _play_out(self, tape: Tape) -> None:
        """Take all steps of a tape, or in DISABLED mode those until an end.

        Each row is played until its episode ends; the next episodes of all are then
        begun together.
        """
        num_steps = len(tape.actions)
        at_once = max(STEPS_AT_ONCE // self.num_envs, 16)
        if tape.mode is AutoresetMode.DISABLED:
            at_once = num_steps
        for until in range(at_once, num_steps + at_once, at_once):
            until = min(until, num_steps)
            rows = np.arange(self.num_envs)
            while len(rows):
                ended = rows[tape.states[rows] == NEEDS_RESET]
                if len(ended):
                    self.advance(ended)
                    tape.states[ended] = JUST_RESET
                self._play_on(rows, until, tape)
                rows = np.flatnonzero(
                    (tape.states == NEEDS_RESET) & (tape.times < until)
                )
                if tape.mode is AutoresetMode.DISABLED:
                    break

    def _play_on(self, rows: NDArray[np.int64], until: int, tape: Tape) -> None:
        """Take the steps of some rows before ``until``, each from its own time on.

        A row goes on until all steps are done or its episode has ended.
        """
        raise NotImplementedError

    def _grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Return the (n, H, W) codes of all rows, or of some; not to be written."""
        raise NotImplementedError

    def single_form(self) -> Any:
        """Return a single form with these options."""
        raise NotImplementedError

    def pose(self, env: Any, row: int) -> None:
        """Put a single form into the state of one row; stepping it moves no row."""
        raise NotImplementedError

    def observe(self, out: Any = None) -> Any:
        """Return the observations of all rows; see `Engine.observe`."""
        return self.view.observe(self._grids(), out)

    def observe_rows(self, rows: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some rows, one by one."""
        return list(self.view.observe(self._grids(rows)))

    def frames(self, rows: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a frame of each of some rows."""
        return self.view.frames(self._grids(rows), mode, self.options.render_scale)

    def generators(self) -> tuple[np.random.Generator, ...]:
        """Return copies of the ``np_random`` of each environment's single form."""
        raise NotImplementedError

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or a query of each environment."""
        if name == "np_random":
            return self.generators()
        if name in self.PER_ENV_ATTRIBUTES:
            env, found = self.single_form(), []
            for row in range(self.num_envs):
                self.pose(env, row)
                found.append(getattr(env, name))
            return tuple(found)
        if name in self.SHARED_ATTRIBUTES:
            return (getattr(self.single_form(), name),) * self.num_envs
        options = {field.name for field in dataclasses.fields(self.options)}
        if name in options:
            return (getattr(self.options, name),) * self.num_envs
        known = options.union(self.PER_ENV_ATTRIBUTES, self.SHARED_ATTRIBUTES)
        message = (
            f"{type(self).__name__} has no attribute {name!r} to read; those that "
            f"exist: {', '.join(sorted(known))}"
        )
        raise AttributeError(message)
