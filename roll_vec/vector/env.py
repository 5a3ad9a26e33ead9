"""The one vector environment: seeds, autoreset, infos and copies over any engine.

It follows Gymnasium 1.4's `VectorEnv` as `SyncVectorEnv` lives it, and knows no
environment: everything below a batch of rows is an `Engine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    ClosedError,
    InvalidOptionError,
    ResetNeededError,
    describe_rows,
)
from roll_vec.options import check_bool, check_int, parse_options, takes_keywords_of
from roll_vec.seeding import draw_missing_seeds, expand_seeds
from roll_vec.vector.attributes import BatchAttributes
from roll_vec.vector.autoreset import (
    final_obs,
    parse_autoreset_mode,
    parse_reset_mask,
)
from roll_vec.vector.engine import Engine, Rollout, SupportsUnroll
from roll_vec.vector.infos import (
    Infos,
    RowInfos,
    final_infos,
    merge_rows,
    stack_infos,
)
from roll_vec.vector.unroll import ended_message, unroll

__all__ = ["BatchOptions", "RollVectorEnv"]

_BOARDS_IN_WINDOW = 16


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """The keywords that every batch takes, with their defaults and their checks.

    Parameters
    ----------
    autoreset_mode : AutoresetMode or str
        When an environment whose episode has ended is reset.  ``NextStep``: by the
        next step, which ignores its action.  ``SameStep``: by the same step; the last
        observation goes to ``infos["final_obs"]``.  ``Disabled``: never; call `reset`
        with ``options={"reset_mask": mask}``.
    copy : bool
        False: observations are written into one array again and again, which saves
        an allocation.  The array that was returned before then changes.
    group_size : int
        Environments ``j * group_size`` to ``(j + 1) * group_size - 1`` get the same
        seed from an int, or from the operating system: the same levels and noise.
    group_id_info : bool
        True: the infos of a reset have ``group_id``, the number of the group.

    Raises
    ------
    InvalidOptionError
    """

    autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP
    copy: bool = True
    group_size: int = 1
    group_id_info: bool = False

    def __post_init__(self) -> None:
        mode = parse_autoreset_mode(self.autoreset_mode)
        object.__setattr__(self, "autoreset_mode", mode)
        object.__setattr__(self, "copy", check_bool("copy", self.copy))
        size = check_int("group_size", self.group_size, 1)
        object.__setattr__(self, "group_size", size)
        with_id = check_bool("group_id_info", self.group_id_info)
        object.__setattr__(self, "group_id_info", with_id)


# skrl looks for VectorEnv among the direct bases.
class RollVectorEnv(BatchAttributes, VectorEnv[Any, Any, Any]):
    """N environments behind `gymnasium.vector.VectorEnv`.

    `gymnasium.make_vec` and `roll_vec.make_vec` make it.

    Parameters
    ----------
    engine : Engine
        Becomes this environment's own.
    **keywords
        Those of `BatchOptions`; they become attributes.

    Attributes
    ----------
    successes : (num_envs,) bool
        Whether the last step of each environment ended in success.
    """

    # Until the constructor has ended: closing a half-built environment does nothing.
    closed = True

    @takes_keywords_of(BatchOptions)
    def __init__(self, engine: Engine, **keywords: Any) -> None:
        options = parse_options(BatchOptions, keywords)
        self.engine = engine
        self.num_envs = engine.num_envs
        if self.num_envs % options.group_size:
            divisor = f"a divisor of num_envs={self.num_envs}"
            raise InvalidOptionError.expected("group_size", divisor, options.group_size)
        self.autoreset_mode = options.autoreset_mode
        self.copy = options.copy
        self.group_size = options.group_size
        self.group_id_info = options.group_id_info
        self.single_observation_space = engine.single_observation_space
        self.single_action_space = engine.single_action_space
        self.observation_space = engine.observation_space
        self.action_space = engine.action_space
        self.render_mode = engine.render_mode
        self.metadata = {**engine.metadata, "autoreset_mode": self.autoreset_mode}
        self.spec = None
        self._seeds: list[int | None] = [None] * self.num_envs
        self._unstarted = np.ones(self.num_envs, np.bool_)
        self._any_unstarted = True
        self._finished = np.zeros(self.num_envs, np.bool_)
        self._skip_none = np.zeros(self.num_envs, np.bool_)
        self._all_rows = np.arange(self.num_envs)
        self._observations: Any = None
        self._window: Any = None
        self.closed = False

    def __del__(self) -> None:
        """Close nothing, as Gymnasium from 1.3 on.

        Before, `VectorEnv.__del__` closes: it would wait for busy workers inside
        garbage collection.  Workers end without that.
        """

    # ------------------------------------------------------------- reset

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, Infos]:
        """Start new episodes, in all environments or in those of a mask.

        Parameters
        ----------
        seed : int, sequence of int or None, or None
            An int s seeds environment i with s + i (s + i // group_size in groups).
            A sequence has one entry an environment.  None lets a stream go on with
            its next episode; an environment's first unseeded reset draws entropy.
        options : dict or None
            ``reset_mask``, (num_envs,) bool with at least one True: the environments
            to reset, in any autoreset mode.  Array environments ignore other keys,
            pooled ones get them.  The dict is left as it is.

        Returns
        -------
        observations, infos
            Of the whole batch; infos of the environments that were reset.

        Raises
        ------
        InvalidSeedError, TypeError, ValueError
            Bad arguments; nothing has moved then.
        ResetNeededError
            If a mask leaves out environments that were never reset.
        LevelGenerationError
            If the configuration has no levels; nothing has moved then.
        KeyboardInterrupt
            While levels are drawn, too; nothing has moved then.
        ClosedError
        """
        self._check_open()
        mask = parse_reset_mask(options, self.num_envs)
        seeds = expand_seeds(seed, self.num_envs, self.group_size)
        rows = self._all_rows
        if mask is not None:
            rows = np.flatnonzero(mask)
            never = np.flatnonzero(self._unstarted & ~mask)
            if len(never):
                message = (
                    f"environments {describe_rows(never)} were never reset: the first "
                    "reset cannot leave any out by reset_mask"
                )
                raise ResetNeededError(message)
        chosen = [seeds[row] for row in rows]
        if self._any_unstarted:
            chosen = self._draw_missing(chosen)
        rest = options
        if mask is not None and options is not None:
            rest = {key: options[key] for key in options if key != "reset_mask"}
        # Made before and taken over after: an interrupt may come in between.
        next_seeds = self._seeds
        if any(started is not None for started in chosen):
            next_seeds = next_seeds.copy()
            for row, started in zip(rows.tolist(), chosen, strict=True):
                if started is not None:
                    next_seeds[row] = started
        restore = None
        if mask is None and isinstance(self.engine, SupportsUnroll):
            restore = self.engine.checkpoint()
        try:
            self.engine.reset(rows, chosen, rest)
        except BaseException:
            # Ctrl-C may strike while the drawn levels are taken over.
            if restore is not None:
                restore()
            raise

        self._seeds = next_seeds
        self._unstarted[rows] = False
        self._any_unstarted = False
        # Not in place: the array may be the one that stands for no row.
        self._finished = self._finished.copy()
        self._finished[rows] = False
        infos = self._add_resets(None, rows)
        observations = self._observe()
        self._show()
        return observations, infos

    def _draw_missing(self, seeds: list[int | None]) -> list[int | None]:
        """Fill the Nones of a first reset, which is of all rows, with entropy."""
        return draw_missing_seeds(seeds, self.group_size)

    # -------------------------------------------------------------- step

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Step every environment once.

        Parameters
        ----------
        actions : (num_envs,) integers, or a sequence of num_envs actions
            Of the action space: for an agent that counts from 0, action +
            ``single_action_space.start``.  Ignored for an environment that this step
            resets.

        Returns
        -------
        observations
            A batch of the observation space.
        rewards : (num_envs,) float64
        terminations, truncations : (num_envs,) bool
        infos : dict
            In Gymnasium's layout of arrays and masks.

        Raises
        ------
        InvalidActionError
            Nothing has moved then.
        ResetNeededError
            Before the first reset, or for environments that have ended and were not
            reset, as in DISABLED mode; nothing has moved then.
        ClosedError
        """
        self._check_open()
        self._check_started("the first step")
        mode = self.autoreset_mode
        skip_mask = self._skip_none
        resetting = None
        if mode == AutoresetMode.NEXT_STEP:
            skip_mask = self._finished
            resetting = skip_mask.nonzero()[0]
        elif self._finished.any():
            raise ResetNeededError(ended_message(np.flatnonzero(self._finished)))
        actions = self.engine.check_actions(actions, skip_mask)

        if resetting is not None and len(resetting):
            self.engine.advance(resetting)
        rewards, terminations, truncations, infos = self.engine.step(actions, skip_mask)
        finished = terminations | truncations
        if resetting is not None and len(resetting):
            infos = self._add_resets(infos, resetting)
        self._finished = finished
        if mode == AutoresetMode.SAME_STEP:
            rows = finished.nonzero()[0]
            if len(rows):
                # If there is no next level this raises, and the rows stay finished.
                infos = self._reset_at_once(rows, finished, infos)
            self._finished = self._skip_none
        if isinstance(infos, list):
            infos = stack_infos(infos, None, self.num_envs)
        observations = self._observe()
        self._show()
        return observations, rewards, terminations, truncations, infos

    def unroll(
        self,
        actions: Any,
        num_steps: int | None = None,
        *,
        out: Rollout | None = None,
    ) -> Rollout:
        """Take T steps in one call; what they give is that of T calls of `step`.

        Parameters
        ----------
        actions : (T, num_envs) integers, a sequence of T batches, or a function
            A function is given the batch of observations that the last `reset`, `step`
            or `unroll`, or the step before, returned, and returns the actions of all
            environments.
        num_steps : int or None
            T, with a function.
        out : Rollout or None
            What an earlier call of T steps returned: its observations, rewards,
            terminations, truncations and ``final_obs`` are written again and returned.

        Returns
        -------
        observations : (T, num_envs, ...)
            After each step; texts are a tuple of T tuples.
        rewards : (T, num_envs) float64
        terminations, truncations : (T, num_envs) bool
        infos : dict
            The layout of `step` with arrays and masks of (T, num_envs); a key that
            some steps lack has a False mask there.  In SAME_STEP mode
            ``infos["final_obs"]`` is dense instead: the true next observations of
            every step, in the form of ``observations``.  None of this is shared with
            the environment.

        Raises
        ------
        InvalidActionError
        ResetNeededError
            Before the first reset, or for environments that have ended and were not
            reset, as in DISABLED mode.
        LevelGenerationError
            If an episode would begin and there is no level.
        InvalidOptionError
            If ``num_steps`` or ``out`` do not fit.
        ClosedError

        Notes
        -----
        A message names the step, from 0.  Whatever is raised, by the function as well,
        nothing has moved then: environments and streams are as they were before the
        call.  A pool's environments alone stay where they were when it was raised.

        With integer actions array environments take all steps in compiled code, which
        saves most with few environments; with thousands `step` is about as fast.  Acted
        in by texts, with a function or with a window, and in pools, `step` is called.
        """
        self._check_idle("unroll")
        self._check_started("the first step")
        return unroll(self, actions, num_steps, out)

    def _reset_at_once(
        self,
        rows: NDArray[np.int64],
        finished: NDArray[np.bool_],
        infos: Infos | RowInfos,
    ) -> Infos:
        """Reset the rows that this step ended, and return the infos of SAME_STEP."""
        finals = np.full(self.num_envs, None, dtype=object)
        for row, observation in zip(rows, self.engine.observe_rows(rows), strict=True):
            finals[row] = observation
        final_info = final_infos(infos, finished)
        self.engine.advance(rows)
        layout = self._add_resets(infos, rows)
        layout["final_obs"] = finals
        layout["_final_obs"] = finished.copy()
        layout["final_info"] = final_info
        layout["_final_info"] = finished.copy()
        return layout

    def _add_resets(
        self, infos: Infos | RowInfos | None, rows: NDArray[np.int64]
    ) -> Infos:
        """Return the layout of infos with those of the resets of some rows."""
        values = self.engine.reset_infos(rows)
        if self.group_id_info:
            groups = rows // self.group_size
            if isinstance(values, dict):
                values = {**values, "group_id": groups}
            else:
                # In place of one of the environment's own, whatever that is.
                values = [
                    {**value, "group_id": group}
                    for value, group in zip(values, groups.tolist(), strict=True)
                ]
        if infos is None:
            infos = {} if isinstance(values, dict) else [{}] * self.num_envs
        merged = merge_rows(infos, rows, values, self.num_envs)
        if isinstance(merged, list):
            merged = stack_infos(merged, None, self.num_envs)
        return merged

    def _observe(self) -> Any:
        if self.copy:
            return self.engine.observe()
        self._observations = self.engine.observe(self._observations)
        return self._observations

    def final_obs(self, observations: Any, infos: Infos) -> Any:
        """Return the batch of true next observations; see the function `final_obs`."""
        return final_obs(observations, infos)

    # ---------------------------------------------------- render, close

    def render(self) -> tuple[Any, ...] | None:
        """Return a frame of each environment, as ``render_mode`` says.

        Returns
        -------
        tuple of num_envs, or None
            (H, W, 3) uint8 arrays, or strings; None in ``human`` mode, which shows
            the first environments in a window, and without a render mode.
        """
        if self.render_mode != "human":
            return self.render_envs(range(self.num_envs))
        self.render_envs(range(0))  # raises where there is nothing to show
        self._show()
        return None

    def render_envs(self, indices: Sequence[int] | range) -> tuple[Any, ...] | None:
        """Return a frame of some environments, as `render` does of all."""
        self._check_open()
        self._check_started("they are rendered")
        if self.render_mode is None:
            return None
        # A window has no frames to return, but its boards can be had.
        mode = "rgb_array" if self.render_mode == "human" else self.render_mode
        return self.engine.frames(np.asarray(indices, np.int64), mode)

    def _show(self) -> None:
        """In human mode, show the first environments in a window."""
        if self.render_mode != "human":
            return
        from roll_vec.render.mosaic import mosaic
        from roll_vec.render.window import Window

        shown = self._all_rows[:_BOARDS_IN_WINDOW]
        if self._window is None:
            title = "roll_vec"
            if len(shown) < self.num_envs:
                title += f": {len(shown)} of {self.num_envs:,}"
            self._window = Window(title)
        frames = self.engine.frames(shown, "rgb_array")
        self._window.show(mosaic(frames), self.metadata["render_fps"])

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _check_open(self) -> None:
        if self.closed:
            message = f"{self!r} is closed"
            raise ClosedError(message)

    def _check_idle(self, name: str) -> None:
        self._check_open()

    def _check_started(self, what: str) -> None:
        if self._any_unstarted:
            message = f"the environments must be reset before {what}"
            raise ResetNeededError(message)

    def __getstate__(self) -> dict[str, Any]:
        # A window belongs to its process.
        return {**self.__dict__, "_window": None}
