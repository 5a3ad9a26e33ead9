"""Unrolls: many steps in one call of `RollVectorEnv.unroll`.

Engines of arrays make all steps in one call where they can.  Otherwise the steps are
made one by one and stacked.  The results are the same.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    LevelGenerationError,
    ResetNeededError,
    RollVecError,
    RollVecWarning,
)
from roll_vec.options import MAX_INT
from roll_vec.vector.autoreset import (
    NEXT_STEP,
    SAME_STEP,
    Autoreset,
    describe_ended,
)
from roll_vec.vector.engine import NO_IDS, UnrollResult
from roll_vec.vector.infos import (
    Infos,
    add_infos,
    cut_final_infos,
    reshape_infos,
    stack_infos_in_time,
)
from roll_vec.vector.rollout import Rollout, check_out
from roll_vec.vector.space_batches import replace_items, stack_batches

_STEP_ERRORS = (InvalidActionError, LevelGenerationError, ResetNeededError)


def unroll(
    envs: Any, actions: Any, num_steps: int | None, out: Rollout | None
) -> Rollout:
    """Take many steps of a batch; see `RollVectorEnv.unroll`.

    Parameters
    ----------
    envs : RollVectorEnv
    actions, num_steps, out
        Those of the method.
    """
    num_steps = count_steps(actions, num_steps)
    if out is not None:
        check_out(out, envs.single_observation_space, envs.num_envs, num_steps)
    if not callable(actions):
        rollout = _unroll_at_once(envs._autoreset, actions, out)
        if rollout is not None:
            return rollout
    return _unroll_by_steps(envs, actions, num_steps, out)


def _unroll_by_steps(
    envs: Any, actions: Any, num_steps: int, out: Rollout | None
) -> Rollout:
    """Take the steps by calls of `step`, also of a subclass; see `run_steps`."""
    autoreset, num_begun = envs._autoreset, 0
    if not callable(actions):
        check = autoreset.engine.check_actions
        check_plan(actions, check, autoreset.has_ended, autoreset.mode)

    def step(batch: Any) -> Any:
        nonlocal num_begun
        num_begun += 1
        return envs.step(batch)

    try:
        # In another function: Ctrl-C may strike where a loop jumps back, which no
        # `try` around it covers.
        observations = envs._observe() if callable(actions) else None
        return run_steps(envs, step, observations, actions, num_steps, out)
    except BaseException as error:
        # Of what the first step refuses `step` knows whether anything has moved.
        is_known = isinstance(error, (RollVecError, RollVecWarning))
        if num_begun > 1 or (num_begun and not is_known):
            autoreset.unfinished_call = "unroll"
        raise


def _unroll_at_once(
    autoreset: Autoreset, actions: Any, out: Rollout | None
) -> Rollout | None:
    """Take the steps in one call; None where the engine leaves them to `step`."""
    mode, has_ended = autoreset.mode, autoreset.has_ended
    if mode is not NEXT_STEP and has_ended.any():
        message = f"step 0: {describe_ended(np.flatnonzero(has_ended))}"
        raise ResetNeededError(message)
    autoreset.unfinished_call = "unroll"
    result = autoreset.engine.unroll(actions, has_ended, mode, out)
    if result is None:
        autoreset.unfinished_call = ""
        return None
    first_stop = result.times.min()
    if first_stop < len(result.rewards):
        env_ids = np.flatnonzero(result.times == first_stop)
        message = f"step {first_stop}: {describe_ended(env_ids)}"
        raise ResetNeededError(message)
    observations, _, rewards, terminations, truncations, *_ = result
    ends = terminations | truncations
    infos = _layout(autoreset, result, ends)
    if mode is not SAME_STEP:
        autoreset.has_ended = ends[-1].copy()
    autoreset.unfinished_call = ""
    return Rollout(observations, rewards, terminations, truncations, infos)


def _layout(
    autoreset: Autoreset, result: UnrollResult, ends: NDArray[np.bool_]
) -> Infos:
    """Return the infos of a rollout: those of one step of T * N environments.

    Parameters
    ----------
    ends : (T, N) bool
        Steps that ended an episode.
    """
    mode = autoreset.mode
    resets = np.zeros_like(ends)
    if mode is SAME_STEP:
        resets = ends
    elif mode is NEXT_STEP:
        resets[0] = autoreset.has_ended
        resets[1:] = ends[:-1]
    values = {
        key: value.reshape(ends.size, *value.shape[2:])
        for key, value in result.infos.items()
    }
    has_reset = resets.reshape(-1)
    any_resets = np.count_nonzero(has_reset) > 0
    infos: Infos = {}
    for key, value in values.items():
        has_info = np.ones_like(has_reset)
        if mode is not SAME_STEP and key not in result.begin_infos:
            has_info = ~has_reset
        if np.count_nonzero(has_info):
            infos[key], infos[f"_{key}"] = value, has_info
    final_info: Infos = {}
    if any_resets and mode is SAME_STEP:
        final_info = cut_final_infos(infos, has_reset)
        indices = has_reset.nonzero()[0] if result.begin_infos else NO_IDS
        for key, value in result.begin_infos.items():
            value = value.reshape(ends.size, *value.shape[2:])[indices]
            add_infos(infos, indices, {key: value}, ends.size)
    infos = reshape_infos(infos, ends.shape)
    if mode is SAME_STEP:
        infos["final_obs"] = result.final_observations
        infos["_final_obs"] = ends
        if any_resets:
            infos["final_info"] = reshape_infos(final_info, ends.shape)
            infos["_final_info"] = ends.copy()
    return infos


def check_plan(
    actions: Any,
    check: Callable[[Any, NDArray[np.bool_]], Any],
    has_ended: NDArray[np.bool_],
    mode: AutoresetMode,
) -> list[Any]:
    """Return all actions of a plan, checked before anything moves.

    In NEXT_STEP mode only the form of actions after the first step: a step ignores
    some, and nobody knows which.

    Parameters
    ----------
    actions : sequence of T batches
    check : callable
        `Engine.check_actions`.
    has_ended : (n,) bool
        Environments that the first step resets.
    mode : AutoresetMode

    Raises
    ------
    InvalidActionError
        Names the step.
    """
    plan, skip_mask = [], has_ended
    for t in range(len(actions)):
        if t and mode is NEXT_STEP:
            skip_mask = np.ones_like(has_ended)
        try:
            plan.append(check(actions[t], skip_mask))
        except InvalidActionError as error:
            message = f"step {t}: {error}"
            raise type(error)(message) from error
    return plan


def run_steps(
    envs: Any,
    step: Callable[[Any], tuple[Any, Any, Any, Any, Infos]],
    observations: Any,
    actions: Any,
    num_steps: int,
    out: Rollout | None,
) -> Rollout:
    """Take steps one by one, and stack their results; an error names the step.

    Parameters
    ----------
    envs : RollVectorEnv or JoinedVectorEnv
    step : callable
        Its method `step`.
    observations : batch
        The present ones, for a policy.
    actions, num_steps, out
        As of `RollVectorEnv.unroll`, checked.
    """
    space, is_same_step = (
        envs.single_observation_space,
        envs.autoreset_mode is SAME_STEP,
    )
    is_policy, results, finals = callable(actions), [], []
    for t in range(num_steps):
        batch = actions(observations) if is_policy else actions[t]
        try:
            observations, *arrays, infos = step(batch)
        except _STEP_ERRORS as error:
            message = f"step {t}: {error}"
            raise type(error)(message) from error
        result = observations
        if not envs.copy:
            result = copy.deepcopy(observations)
        elif is_policy:
            # The function may write into its argument.
            result = replace_items(space, observations, [], [])
        if is_same_step:
            infos = dict(infos)
            finals.append(_pop_true_next(space, result, infos))
        results.append((result, *arrays, infos))
    batches, rewards, terminations, truncations, all_infos = zip(*results, strict=True)
    rollout = Rollout(
        stack_batches(space, batches, out and out.observations),
        np.stack(rewards, out=out and out.rewards),
        np.stack(terminations, out=out and out.terminations),
        np.stack(truncations, out=out and out.truncations),
        stack_infos_in_time(all_infos, envs.num_envs),
    )
    if is_same_step:
        arrays_of_out = out and out.infos.get("final_obs")
        final_obs = stack_batches(space, finals, arrays_of_out)
        rollout.infos["final_obs"] = final_obs
        rollout.infos["_final_obs"] = rollout.terminations | rollout.truncations
    return rollout


def _pop_true_next(space: Space[Any], observations: Any, infos: Infos) -> Any:
    """Return a step's true next observations; remove the final ones from infos."""
    finals = infos.pop("final_obs", None)
    mask = infos.pop("_final_obs", None)
    env_ids = [] if finals is None else np.flatnonzero(mask).tolist()
    last = [finals[env_id] for env_id in env_ids]
    return replace_items(space, observations, env_ids, last)


def count_steps(actions: Any, num_steps: Any) -> int:
    """Return T: the number of batches of actions, or ``num_steps`` with a policy."""
    try:
        number = 0 if isinstance(num_steps, bool) else operator.index(num_steps)
    except TypeError:
        number = 0
    if callable(actions):
        if not 1 <= number <= MAX_INT:
            accepted = f"a positive integer up to {MAX_INT} beside a policy"
            raise InvalidOptionError.expected("num_steps", accepted, num_steps)
        return number
    try:
        count = len(actions)
    except TypeError:
        count = 0
    is_sequence = hasattr(actions, "__getitem__") and not isinstance(
        actions, (str, bytes, Mapping)
    )
    if count == 0 or not is_sequence:
        accepted = (
            "those of one step or more, a (T, num_envs) array or a sequence of T "
            "batches, or a function"
        )
        raise InvalidActionError.expected("actions", accepted, actions)
    if num_steps is not None and number != count:
        accepted = f"None or {count}, the number of steps in actions"
        raise InvalidOptionError.expected("num_steps", accepted, num_steps)
    return count
