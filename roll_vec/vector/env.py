"""The vector environment, over any engine, and the keywords of every batch.

`RollVectorEnv` follows Gymnasium 1.4's `VectorEnv` and behaves as `SyncVectorEnv`.  It
handles seeds, observations, rendering and errors; `Autoreset` steps the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from threading import get_ident
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, InvalidOptionTypeError, RollVecError
from roll_vec.options import (
    accepts_keywords_of,
    check_bool,
    check_fields,
    check_int,
    option,
    parse_options,
)
from roll_vec.seeding import draw_missing_seeds, expand_seeds
from roll_vec.vector.autoreset import (
    NEXT_STEP,
    Autoreset,
    check_autoreset_mode,
    final_obs,
    parse_reset_mask,
)
from roll_vec.vector.batch import one_at_a_time, raise_in_use
from roll_vec.vector.batch_snapshots import BatchSnapshots
from roll_vec.vector.engine import Engine
from roll_vec.vector.infos import Infos
from roll_vec.vector.masks import list_rows
from roll_vec.vector.rollout import Rollout
from roll_vec.vector.unroll import unroll


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """The keywords of every batch, with their defaults and their checks.

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

    Raises
    ------
    InvalidOptionError
    """

    autoreset_mode: AutoresetMode = option(NEXT_STEP, check_autoreset_mode)
    copy: bool = option(True, check_bool)
    group_size: int = option(1, check_int, 1)

    def __post_init__(self) -> None:
        check_fields(self)


# skrl looks for VectorEnv among the direct bases.
class RollVectorEnv(BatchSnapshots, VectorEnv[Any, Any, Any]):
    """N environments behind `gymnasium.vector.VectorEnv`.

    `gymnasium.make_vec` and `roll_vec.make_vec` make it.

    Parameters
    ----------
    engine : Engine
        Nobody else may use it from now on.
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

    @accepts_keywords_of(BatchOptions)
    def __init__(self, engine: Engine, **keywords: Any) -> None:
        options = parse_options(BatchOptions, keywords)
        self.engine = engine
        try:
            self._set_up(engine, options)
        except BaseException:
            engine.close()
            raise
        self.closed = False

    def _set_up(self, engine: Engine, options: BatchOptions) -> None:
        if engine.render_mode == "human" and not self._has_objects:
            accepted = "'rgb_array', which wrappers.vector.HumanRendering shows"
            raise InvalidOptionTypeError.expected("render_mode", accepted, "human")
        self.num_envs = engine.num_envs
        if self.num_envs % options.group_size:
            divisor = f"a divisor of num_envs={self.num_envs}"
            raise InvalidOptionError.expected("group_size", divisor, options.group_size)
        self._options = vars(options)
        vars(self).update(self._options)
        self.single_observation_space = engine.single_observation_space
        self.single_action_space = engine.single_action_space
        self.observation_space = batch_space(
            self.single_observation_space, self.num_envs
        )
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.render_mode = engine.render_mode
        self.metadata = {**engine.metadata, "autoreset_mode": self.autoreset_mode}
        self.spec = None
        group_ids = np.arange(self.num_envs) // options.group_size
        self._group_ids = group_ids
        self._autoreset = Autoreset(engine, options.autoreset_mode)
        self._observe = engine.observe
        if not options.copy:
            self._observe = partial(engine.observe, copy=False)
        self._seeds = [None] * self.num_envs
        self._is_started = False

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
            to reset, in any autoreset mode.  Array environments accept
            the ``reset_options`` of their class, as ``low`` and ``high`` of CartPole;
            pooled ones get the other keys.  Of a key that a game of this package
            ignores there is a warning.  The dict is not changed.

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
        PendingResultsError
            If results of `send` were not received.
        BatchInUseError
            If another thread is in a call.
        ClosedError

        Notes
        -----
        These errors are known before anything moves.  After any other exception, as a
        KeyboardInterrupt, or after one of a pool, all environments must be reset: until
        then calls raise a ResetNeededError.  After an interrupted reset or `set_state`
        of environments in arrays a reset without seeds draws new ones.
        """
        self._check_idle("reset")
        mask = parse_reset_mask(options, self.num_envs)
        if mask is None:
            env_ids = np.arange(self.num_envs)
        else:
            env_ids = list_rows(mask)
            options = {k: v for k, v in (options or {}).items() if k != "reset_mask"}
        seeds, stream_seeds = None, self._seeds
        # Environments in arrays begin next episodes without a list of seeds.
        if seed is not None or options or self._has_objects or not self._is_started:
            seeds = expand_seeds(seed, self.num_envs, self.group_size)
            seeds = [seeds[env_id] for env_id in env_ids.tolist()]
        self._check_others(env_ids, "the first reset", "reset_mask")
        if seeds is not None:
            if not self._is_started:
                seeds = self._draw_missing_seeds(seeds)
            stream_seeds = self._next_seeds(env_ids, seeds)
        self._drop_leftovers()
        autoreset = self._autoreset
        before = self._begin_seeds("reset")
        try:
            infos = autoreset.reset(env_ids, seeds, options)
        except RollVecError:
            # Environments in arrays know of it before they move.
            if not self._has_objects:
                self._is_started, autoreset.unfinished_call = before
            raise
        self._seeds, self._is_started = stream_seeds, True
        observations = self._observe()
        self._warn()
        autoreset.unfinished_call = ""
        return observations, infos

    def _draw_missing_seeds(self, seeds: list[int | None]) -> list[int | None]:
        """Replace each None, of the first reset, by a seed of the operating system."""
        return draw_missing_seeds(seeds, self._group_ids.tolist())

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
            In Gymnasium's layout of arrays and masks, see `roll_vec.vector.infos`.

        Raises
        ------
        InvalidActionError
            No environment has moved then.
        ResetNeededError
            Before the first reset, or in DISABLED mode if an environment has ended and
            was not reset.  No environment has moved then.
        LevelGenerationError
            If a next episode has no level.  In SAME_STEP mode all environments must be
            reset then; otherwise no environment has moved.
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
            raise_in_use(self)
        try:
            autoreset = self._autoreset
            # Calls of the checks alone would take 5 % of a step of one environment.
            engine = self.engine
            if self.closed or autoreset.unfinished_call or engine.needs_full_reset:
                self._check_started("the first step")
            if self._has_objects:
                self._check_idle("step")
            rewards, terminations, truncations, infos = autoreset.step(actions)
            observations = self._observe()
            if self._has_objects:
                self._warn()
            autoreset.unfinished_call = ""
            return observations, rewards, terminations, truncations, infos
        finally:
            self._caller = outer

    @one_at_a_time
    def _step_some(
        self, actions: Any, mask: NDArray[np.bool_]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Step the environments of a mask, in DISABLED mode; for this package alone.

        The others stay as they are, and may have ended: their rewards are 0, they end
        nothing, have no infos and no entry in `successes`.

        Parameters
        ----------
        actions : batch
            As for `step`; those outside the mask need the form of an action.
        mask : (num_envs,) bool
        """
        self._check_started("the first step")
        self._check_idle("step")
        arrays = self._autoreset.step(actions, mask)
        observations = self._observe()
        self._warn()
        self._autoreset.unfinished_call = ""
        return (observations, *arrays)

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
        A message names the step, from 0.  If this raises, or the function does, after
        the first step has moved environments, all must be reset.  Bad actions are known
        before, in NEXT_STEP mode their form alone: there a step ignores some.

        With numbers as actions array environments take all steps in compiled code,
        which saves most with few environments.  With thousands it saves time if their
        levels are in memory and ``out`` is passed, most on several threads.  With
        texts, a function, and in pools, `step` is called.
        """
        self._check_idle("unroll")
        self._check_started("the first step")
        return unroll(self, actions, num_steps, out)

    def final_obs(self, observations: Any, infos: Infos) -> Any:
        """Return the batch of true next observations; see the function `final_obs`."""
        return final_obs(observations, infos)

    # ------------------------------------------------------------- close

    def close_extras(self, **kwargs: Any) -> None:
        """Close the engine; workers that stay busy are killed or abandoned."""
        self.engine.close()

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        if self._has_objects:
            self._check_idle("pickle")
            self._check_ready()
        # A call belongs to its thread.
        return {**self.__dict__, "_caller": 0}
