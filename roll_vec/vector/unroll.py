"""Many steps in one call: what `RollVectorEnv.unroll` does.

An engine that can takes all steps at once; else they are taken one by one and stacked.
Both give the same.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    LevelGenerationError,
    ResetNeededError,
    describe_rows,
    shorten,
)
from roll_vec.options import MAX_INT
from roll_vec.vector.engine import Rollout, SupportsUnroll, UnrollResult
from roll_vec.vector.infos import Infos, final_infos, masked_infos, merge_rows
from roll_vec.vector.rollout import (
    check_out,
    put_rows,
    stack_batches,
    stack_infos_in_time,
)

if TYPE_CHECKING:
    from roll_vec.vector.env import RollVectorEnv

__all__ = ["Rollout", "ended_message", "unroll"]


def unroll(
    env: RollVectorEnv, actions: Any, num_steps: int | None, out: Rollout | None
) -> Rollout:
    """Take many steps; see `RollVectorEnv.unroll`."""
    num_steps = _count_steps(actions, num_steps)
    if out is not None:
        check_out(out, env, num_steps)
    if not isinstance(env.engine, SupportsUnroll):
        return _step_by_step(env, actions, num_steps, out)
    restore, finished = env.engine.checkpoint(), env._finished
    try:
        # A window shows every step.
        if not callable(actions) and env.render_mode != "human":
            done = _at_once(env, env.engine, actions, out)
            if done is not None:
                return done
        return _step_by_step(env, actions, num_steps, out)
    except BaseException:
        restore()
        env._finished = finished
        if not env.copy:
            env._observe()
        raise


def ended_message(rows: NDArray[np.int64]) -> str:
    """Return what is to be told where ended environments are stepped."""
    return (
        f"environments {describe_rows(rows)} have ended and were not reset: do so "
        "with options={'reset_mask': mask}"
    )


def _count_steps(actions: Any, num_steps: Any) -> int:
    """Return T, from the actions or beside a policy from what was asked for."""
    try:
        asked = 0 if isinstance(num_steps, bool) else operator.index(num_steps)
    except TypeError:
        asked = 0
    if callable(actions):
        if not 1 <= asked <= MAX_INT:
            message = (
                f"num_steps: expected a positive integer up to {MAX_INT} beside a "
                f"policy, got {shorten(num_steps)}"
            )
            raise InvalidOptionError(message)
        return asked
    try:
        found = len(actions)
    except TypeError:
        found = 0
    is_sequence = hasattr(actions, "__getitem__") and not isinstance(
        actions, (str, bytes, Mapping)
    )
    if found == 0 or not is_sequence:
        message = (
            "actions: expected those of one step or more, a (T, num_envs) array or a "
            f"sequence of T batches, or a function, got {shorten(actions)}"
        )
        raise InvalidActionError(message)
    if num_steps is not None and asked != found:
        message = (
            f"num_steps: expected None or {found}, the steps that there are actions "
            f"for, got {shorten(num_steps)}"
        )
        raise InvalidOptionError(message)
    return found


# ------------------------------------------------------------- step by step


def _step_by_step(
    env: RollVectorEnv, actions: Any, num_steps: int, out: Rollout | None
) -> Rollout:
    """Take the steps by calls of `step`; what fails is told with its number."""
    asks = callable(actions)
    seen = env._observe() if asks else None
    space = env.single_observation_space
    results, finals = [], []
    same_step = env.autoreset_mode is AutoresetMode.SAME_STEP
    for t in range(num_steps):
        chosen = actions(seen) if asks else actions[t]
        try:
            seen, *rest, infos = env.step(chosen)
        except (InvalidActionError, LevelGenerationError, ResetNeededError) as error:
            message = f"step {t}: {error}"
            raise type(error)(message) from error
        kept = seen
        if not env.copy:
            kept = copy.deepcopy(seen)
        elif asks:
            # The function may write into what it is given.
            kept = put_rows(space, seen, [], [])
        if same_step:
            infos = dict(infos)
            finals.append(_true_next(env, kept, infos))
        results.append((kept, *rest, infos))
    observations, rewards, terminations, truncations, all_infos = zip(
        *results, strict=True
    )
    rollout = Rollout(
        stack_batches(space, observations, out and out.observations),
        np.stack(rewards, out=out and out.rewards),
        np.stack(terminations, out=out and out.terminations),
        np.stack(truncations, out=out and out.truncations),
        stack_infos_in_time(all_infos, env.num_envs),
    )
    if same_step:
        into = out and out.infos.get("final_obs")
        rollout.infos["final_obs"] = stack_batches(space, finals, into)
        rollout.infos["_final_obs"] = rollout.terminations | rollout.truncations
    return rollout


def _true_next(env: RollVectorEnv, observations: Any, infos: Infos) -> Any:
    """Return the true next observations of a step; take the final ones from infos."""
    finals = infos.pop("final_obs", None)
    ended = infos.pop("_final_obs", None)
    rows = [] if finals is None else np.flatnonzero(ended).tolist()
    values = [finals[row] for row in rows]
    return put_rows(env.single_observation_space, observations, rows, values)


# ------------------------------------------------------------------ at once


def _at_once(
    env: RollVectorEnv, engine: SupportsUnroll, actions: Any, out: Rollout | None
) -> Rollout | None:
    """Take the steps in one call of the engine; None where it leaves them to `step`."""
    mode, finished = env.autoreset_mode, env._finished
    if mode is not AutoresetMode.NEXT_STEP and finished.any():
        message = f"step 0: {ended_message(np.flatnonzero(finished))}"
        raise ResetNeededError(message)
    done = engine.unroll(actions, finished, mode, out)
    if done is None:
        return None
    first_stop = done.times.min()
    if first_stop < len(done.rewards):
        rows = np.flatnonzero(done.times == first_stop)
        message = f"step {first_stop}: {ended_message(rows)}"
        raise ResetNeededError(message)
    ended = done.terminations | done.truncations
    infos = _layout(env, done, ended)
    if mode is not AutoresetMode.SAME_STEP:
        env._finished = ended[-1].copy()
    return Rollout(
        done.observations, done.rewards, done.terminations, done.truncations, infos
    )


def _layout(env: RollVectorEnv, done: UnrollResult, ended: NDArray[np.bool_]) -> Infos:
    """Return the infos of a rollout, put together as those of one step of T * N rows.

    Parameters
    ----------
    ended : (T, N) bool
    """
    mode, num_envs = env.autoreset_mode, env.num_envs
    resets = np.zeros_like(ended)
    if mode is AutoresetMode.SAME_STEP:
        resets = ended
    elif mode is AutoresetMode.NEXT_STEP:
        resets[0] = env._finished
        resets[1:] = ended[:-1]
    values = {key: value.reshape(-1) for key, value in done.infos.items()}
    began = resets.reshape(-1)
    rows = began.nonzero()[0]
    infos: Infos
    if mode is AutoresetMode.SAME_STEP:
        infos = masked_infos(values, np.ones_like(began))
        final_info = final_infos(infos, began) if len(rows) else {}
    else:
        infos = masked_infos(values, ~began)
    if len(rows):
        envs = rows % num_envs
        merge_rows(infos, rows, env.engine.reset_infos(envs), ended.size)
        if env.group_id_info:
            groups = {"group_id": envs // env.group_size}
            merge_rows(infos, rows, groups, ended.size)
    infos = _reshape(infos, ended.shape)
    if mode is AutoresetMode.SAME_STEP:
        infos["final_obs"] = done.final_observations
        infos["_final_obs"] = ended
        if len(rows):
            infos["final_info"] = _reshape(final_info, ended.shape)
            infos["_final_info"] = ended.copy()
    return infos


def _reshape(infos: Infos, shape: tuple[int, ...]) -> Infos:
    return {key: value.reshape(shape) for key, value in infos.items()}
