"""The vector environment, over any engine, and the keywords of every batch.

`RollVectorEnv` follows Gymnasium 1.4's `VectorEnv` and behaves as `SyncVectorEnv`.  It
handles seeds, observations, rendering and errors; `Autoreset` steps the engine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Text
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    ClosedError,
    InvalidOptionError,
    ResetNeededError,
    RollVecError,
    list_env_ids,
)
from roll_vec.options import check_bool, check_int, parse_options, takes_keywords_of
from roll_vec.seeding import draw_missing_seeds, expand_seeds
from roll_vec.vector.action_sampling import BatchActionSampling
from roll_vec.vector.attributes import BatchAttributes
from roll_vec.vector.autoreset import (
    Autoreset,
    final_obs,
    parse_autoreset_mode,
    parse_reset_mask,
)
from roll_vec.vector.calls import ALL_NEED_RESET, check_caller, one_at_a_time
from roll_vec.vector.engine import Engine, SupportsUnroll
from roll_vec.vector.idle_actions import drop_idle_integers
from roll_vec.vector.infos import Infos
from roll_vec.vector.levels import BatchLevels
from roll_vec.vector.masks import parse_mask
from roll_vec.vector.rollout import Rollout
from roll_vec.vector.send_recv import BatchSendRecv, PendingActions
from roll_vec.vector.snapshots import BatchSnapshots
from roll_vec.vector.stream_seeds import StreamSeeds
from roll_vec.vector.unroll import Unroller

__all__ = ["BatchOptions", "RollVectorEnv"]

# The window of human mode shows so many environments, the first ones.
_BOARDS_IN_WINDOW = 16


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """The keywords that every batch takes, with their defaults and their checks.

    Parameters
    ----------
    autoreset_mode : AutoresetMode or str
        Reset after the end of an episode: ``NextStep``, ``SameStep`` or ``Disabled``.
        ``NextStep``: by the next step, which ignores its action.  ``SameStep``: by the
        same step; the last observation goes to ``infos["final_obs"]``.  ``Disabled``:
        never; call `reset` with ``options={"reset_mask": mask}``.
    copy : bool
        False: every step writes its observations into the same array.  This saves an
        allocation.  The array that was returned before then changes.
    group_size : int
        Environments in a group, which share a seed: same levels, same randomness.  The
        group j has the environments ``j * group_size`` to ``(j + 1) * group_size - 1``.
        They get the same seed from an int, or from the operating system.
    group_id_info : bool
        True: infos of resets have ``group_id``, the number of the group.
    episode_info : bool
        True: infos of the end of an episode have ``episode``, its return and length.
        They are ``r``, the return, and ``l``, the number of steps, in the layout of
        Gymnasium's vector wrapper `RecordEpisodeStatistics`, but without its time
        ``t``.  In SAME_STEP mode they are in ``final_info``.

    Raises
    ------
    InvalidOptionError
    """

    autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP
    copy: bool = True
    group_size: int = 1
    group_id_info: bool = False
    episode_info: bool = False

    def __post_init__(self) -> None:
        self.__dict__.update(  # a frozen dataclass refuses assignments
            autoreset_mode=parse_autoreset_mode(self.autoreset_mode),
            copy=check_bool("copy", self.copy),
            group_size=check_int("group_size", self.group_size, 1),
            group_id_info=check_bool("group_id_info", self.group_id_info),
            episode_info=check_bool("episode_info", self.episode_info),
        )


# skrl looks for VectorEnv among the direct bases.
class RollVectorEnv(
    BatchSendRecv,
    BatchAttributes,
    BatchLevels,
    BatchSnapshots,
    BatchActionSampling,
    VectorEnv[Any, Any, Any],
):
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

    # Until the constructor has ended, so that `close` does nothing before.
    closed = True
    # The thread that is in a call, see `one_at_a_time`.
    _caller = 0

    @takes_keywords_of(BatchOptions)
    def __init__(self, engine: Engine, **keywords: Any) -> None:
        options = parse_options(BatchOptions, keywords)
        self._process_id = os.getpid()
        self.engine = engine
        self.num_envs = engine.num_envs
        if self.num_envs % options.group_size:
            divisor = f"a divisor of num_envs={self.num_envs}"
            raise InvalidOptionError.expected("group_size", divisor, options.group_size)
        self.autoreset_mode = options.autoreset_mode
        self.copy = options.copy
        self.group_size = options.group_size
        self.group_id_info = options.group_id_info
        self.episode_info = options.episode_info
        self.single_observation_space = engine.single_observation_space
        self.single_action_space = engine.single_action_space
        self.observation_space = engine.observation_space
        self.action_space = engine.action_space
        self.render_mode = engine.render_mode
        self.metadata = {**engine.metadata, "autoreset_mode": self.autoreset_mode}
        self.spec = None
        self._autoreset = Autoreset(
            engine,
            options.autoreset_mode,
            options.group_size if options.group_id_info else None,
            options.episode_info,
        )
        self._pending_actions = PendingActions(
            self.num_envs, isinstance(engine.single_action_space, Text)
        )
        self._seeds = StreamSeeds([None] * self.num_envs)
        self._is_started = False
        self._observations: Any = None
        self._window: Any = None
        self.closed = False

    def __del__(self) -> None:
        """Close nothing, as in Gymnasium from 1.3 on.

        The older `VectorEnv.__del__` closes: garbage collection would wait for busy
        workers.  Workers end without it.
        """

    # ------------------------------------------------------------- reset

    @one_at_a_time
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
            A sequence has one entry per environment.  None begins the next episode of
            an environment's stream; before its first reset the seed is drawn from the
            operating system.
        options : dict or None
            ``reset_mask``, (num_envs,) bool with at least one True: the environments
            to reset, in any autoreset mode.  Array environments ignore other keys,
            pooled ones get them.  The dict is not changed.

        Returns
        -------
        observations, infos
            Of the whole batch; infos of the environments that were reset.

        Raises
        ------
        InvalidSeedError, InvalidOptionError
            Bad arguments.
        ResetNeededError
            If a mask leaves out environments that were never reset, or must be.
        LevelGenerationError
            If the configuration has no levels.
        KeyboardInterrupt
            Also while levels are drawn.
        PendingResultsError
            If results of `send` were not received.
        BatchInUseError
            If another thread is in a call.
        ClosedError

        Notes
        -----
        If this raises, array environments have not moved.  After a KeyboardInterrupt
        this holds for a reset of the whole batch while its levels are drawn; at another
        moment all environments must be reset.
        """
        self._check_idle("reset")
        mask = parse_reset_mask(options, self.num_envs)
        seeds = self._expand_seeds(seed)
        env_ids = np.arange(self.num_envs)
        if mask is not None:
            env_ids = np.flatnonzero(mask)
            seeds = [seeds[env_id] for env_id in env_ids]
            options = {k: v for k, v in (options or {}).items() if k != "reset_mask"}
        self._check_others(env_ids, "the first reset", "reset_mask")
        if not self._is_started:
            seeds = self._draw_missing_seeds(seeds)
        stream_seeds = self._seeds.replace(env_ids.tolist(), seeds)
        autoreset, point = self._autoreset, None
        was_ready = autoreset.is_ready
        self._drop_leftovers()
        if mask is None and isinstance(self.engine, SupportsUnroll):
            point = autoreset.save_point(self.engine)
        try:
            autoreset.is_ready = False
            infos = autoreset.reset(env_ids, seeds, options)
        except BaseException as error:
            if point is not None:
                point.go_back()
            if point is not None or isinstance(error, RollVecError):
                autoreset.is_ready = was_ready
            raise
        # Observations need the memory.
        del point

        self._seeds, self._is_started = stream_seeds, True
        observations = self._observe()
        self._show_window()
        autoreset.is_ready = True
        return observations, infos

    def _expand_seeds(self, seed: Any) -> list[int | None]:
        """Return the seed of each environment; see `expand_seeds`."""
        return expand_seeds(seed, self.num_envs, self.group_size)

    def _draw_missing_seeds(self, seeds: list[int | None]) -> list[int | None]:
        """Replace each None, of the first reset, by a seed of the operating system."""
        return draw_missing_seeds(seeds, self.group_size)

    # -------------------------------------------------------------- step

    def step(
        self, actions: Any, *, mask: NDArray[np.bool_] | None = None
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Step every environment once, or those of a mask.

        Parameters
        ----------
        actions : (num_envs,) integers, or a sequence of num_envs actions
            Of the action space: for an agent that counts from 0, action +
            ``single_action_space.start``.  Ignored for an environment that this step
            resets, and for those outside the mask: their actions may be anything.
        mask : (num_envs,) bool, or None
            The environments to step; None: all.  The others stay as they are, and may
            have ended.  Their rewards are 0, they end nothing and have no infos.

        Returns
        -------
        observations
            A batch of the observation space; of an environment outside the mask the
            observation that it had before.
        rewards : (num_envs,) float64
        terminations, truncations : (num_envs,) bool
        infos : dict
            In Gymnasium's layout of arrays and masks, see `roll_vec.vector.infos`.

        Raises
        ------
        InvalidActionError
            No environment has moved then.
        ResetNeededError
            Before the first reset, or in DISABLED mode if an environment of the mask
            has ended and was not reset.  No environment has moved then.
        InvalidOptionError
            For a bad mask.
        LevelGenerationError
            If a next episode has no level; see `Autoreset.step`.
        PendingResultsError
            If results of `send` were not received.
        BatchInUseError
            If another thread is in a call.
        ClosedError

        Notes
        -----
        After any other exception, such as a KeyboardInterrupt, the batch is as before,
        or all environments must be reset: until then calls raise a ResetNeededError.
        """
        # The lines of `one_at_a_time`.  The interpreter lets no other thread run
        # between the question for the caller and the answer.
        caller, outer = get_ident(), self._caller
        if not outer:
            self._caller = caller
        elif outer != caller:
            check_caller(self, outer)
            outer, self._caller = 0, caller
        try:
            autoreset = self._autoreset
            # Calls of the checks alone would take 5 % of a step of one environment.
            if self.closed or not autoreset.is_ready:
                self._check_started("the first step")
            if self._pending_actions.count:
                self._check_idle("step")
            if mask is not None:
                mask = parse_mask(mask, self.num_envs)
                if mask is not None and isinstance(self.single_action_space, Discrete):
                    actions = drop_idle_integers(actions, mask)
            rewards, terminations, truncations, infos = autoreset.step(actions, mask)
            observations = self._observe()
            self._show_window()
            autoreset.is_ready = True
            return observations, rewards, terminations, truncations, infos
        finally:
            self._caller = outer

    @one_at_a_time
    def unroll(
        self,
        actions: Any,
        num_steps: int | None = None,
        *,
        out: Rollout | None = None,
    ) -> Rollout:
        """Take T steps in one call; the results are those of T calls of `step`.

        Parameters
        ----------
        actions : (T, num_envs) integers, a sequence of T batches, or a function
            A function gets the last batch of observations, and returns the actions of
            all environments.
        num_steps : int or None
            T, with a function.
        out : Rollout or None
            The result of an earlier call of T steps.  Its observations, rewards,
            terminations, truncations and ``final_obs`` are overwritten and returned.

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
            every step, in the form of ``observations``.  The environment shares none
            of these arrays.

        Raises
        ------
        InvalidActionError
        ResetNeededError
            Before the first reset, or if an environment has ended and was not reset,
            as in DISABLED mode.
        LevelGenerationError
            If an episode would begin and there is no level.
        InvalidOptionError
            If ``num_steps`` or ``out`` do not fit.
        ClosedError

        Notes
        -----
        A message names the step, from 0.  If this raises, or the function does, array
        environments are as they were before the call; pooled environments stay at the
        step that raised, and after a KeyboardInterrupt all must be reset.

        With integer actions array environments take all steps in compiled code, which
        saves most with few environments.  With thousands it saves time if their levels
        are in memory and ``out`` is passed, most on several threads.  With texts, a
        function or a window, and in pools, `step` is called.
        """
        self._check_idle("unroll")
        self._check_started("the first step")
        unroller = Unroller(self._autoreset, self.step, self._observe, not self.copy)
        # A window shows every step.
        step_by_step = self.render_mode == "human"
        return unroller.run(actions, num_steps, out, step_by_step)

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
        self.render_envs(range(0))  # raises if there is nothing to show
        self._show_window()
        return None

    @one_at_a_time
    def render_envs(self, indices: Sequence[int] | range) -> tuple[Any, ...] | None:
        """Return a frame of some environments, as `render` does of all."""
        self._check_started("they are rendered")
        if self.render_mode is None:
            return None
        # `render` returns None in human mode; this method returns the window's boards.
        mode = "rgb_array" if self.render_mode == "human" else self.render_mode
        return self.engine.frames(np.asarray(indices, np.int64), mode)

    def _show_window(self) -> None:
        """Show the first environments in a window, in human mode."""
        if self.render_mode != "human":
            return
        from roll_vec.render.mosaic import mosaic
        from roll_vec.render.window import Window

        count = min(self.num_envs, _BOARDS_IN_WINDOW)
        if self._window is None:
            title = "roll_vec"
            if count < self.num_envs:
                title += f": {count} of {self.num_envs:,}"
            self._window = Window(title)
        frames = self.engine.frames(np.arange(count), "rgb_array")
        self._window.show(mosaic(frames), self.metadata["render_fps"])

    def close_extras(self, **kwargs: Any) -> None:
        """Close the engine, and the window if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None
        self.engine.close()

    def _check_open(self) -> None:
        if self.closed:
            message = f"{self!r} is closed"
            raise ClosedError(message)

    def _check_started(self, use: str) -> None:
        """Check that the batch is open, was reset before this use, and is ready."""
        self._check_open()
        if not self._is_started:
            message = f"the environments must be reset before {use}"
            raise ResetNeededError(message)
        self._check_ready()

    def _check_others(
        self, env_ids: NDArray[np.int64], call: str, mask_name: str
    ) -> None:
        """Check that a call may leave out all but some environments by its mask."""
        if len(env_ids) == self.num_envs:
            return
        if not self._is_started:
            others = np.setdiff1d(np.arange(self.num_envs), env_ids)
            message = (
                f"environments {list_env_ids(others)} were never reset: {call} cannot "
                f"leave any out by {mask_name}"
            )
            raise ResetNeededError(message)
        self._check_ready()

    def _check_ready(self) -> None:
        """Check that no interrupted call, and no fault, demands a full reset."""
        if self._needs_full_reset():
            raise ResetNeededError(ALL_NEED_RESET)

    def _needs_full_reset(self) -> bool:
        """Return whether an interrupted call, or a fault, demands a full reset."""
        return self._is_started and not self._autoreset.is_ready

    def _drop_leftovers(self) -> None:
        """Drop what a call may have left behind that was interrupted, or had a fault.

        Ctrl-C may have come again before that call could drop it.
        """
        if not self._autoreset.is_ready or self._needs_full_reset():
            self._drop_pending()

    def _drop_pending(self) -> None:
        """Drop all actions and tasks whose results were not received."""
        self._pending_actions.clear()

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        # A window belongs to its process, a call to its thread.
        return {**self.__dict__, "_window": None, "_caller": 0}
