"""Checks of the calls after an end, in each of the three autoreset modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.testing.check import (
    Pair,
    Pairs,
    Problems,
    check,
    same_calls,
    same_episodes,
)
from roll_vec.testing.comparison import data_keys, is_array, mask_of, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, skip
from roll_vec.testing.misuse import MisuseResult, misuse
from roll_vec.testing.recorder import IGNORED_OFFSET, Call
from roll_vec.testing.report import Problem

NEXT_STEP = AutoresetMode.NEXT_STEP
SAME_STEP = AutoresetMode.SAME_STEP
DISABLED = AutoresetMode.DISABLED


def _ends(ctx: Context, mode: AutoresetMode) -> list[Call]:
    """Return the steps of the long run in which an episode ended."""
    calls = [call for call in ctx.long_run(mode).calls if call.dones.any()]
    if not calls:
        skip(f"no episode ended within {ctx.steps} steps")
    return calls


@check("next-step-outcome", modes=NEXT_STEP)
def next_step_outcome(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the step after an end has reward 0 and no flags."""
    _ends(ctx, mode)
    for call in ctx.long_run(mode).calls:
        if not call.is_step:
            continue
        rewards = np.asarray(call.rewards, np.float64)
        for env in np.flatnonzero(call.starts & ((rewards != 0) | call.dones)):
            yield Problem(
                f"{call.did}; environment {env} had ended in the step before",
                f"reward {show(rewards[env])}, terminated "
                f"{show(call.terminations[env])}, truncated "
                f"{show(call.truncations[env])}",
                "reward 0 and no flag: the step only begins the next episode",
            )


@same_calls(
    "next-step-action",
    "{at}, with other actions for environments that had ended in the step before",
    "the same results: those actions are ignored",
    modes=NEXT_STEP,
)
def next_step_action(ctx: Context, mode: AutoresetMode) -> Pair:
    """Check that the action of the step after an end is ignored."""
    _ends(ctx, mode)
    reference = ctx.long_run(mode).calls
    return reference, ctx.run(mode, ctx.steps, ignored_offset=IGNORED_OFFSET)


@same_episodes(
    "next-step-reset",
    "two instances of {origin} after reset(seed={seed}): at each end one steps, the "
    "other calls reset()",
    "the same observation and info, and the same episode after it",
    " (left: reset())",
    modes=NEXT_STEP,
)
def next_step_reset(ctx: Context, mode: AutoresetMode) -> Pairs:
    """Check that the step after an end returns the same as reset()."""
    stepping = ctx.run(mode, ctx.steps, [0])
    if not any(call.dones.any() for call in stepping.calls):
        skip(f"no episode ended within {ctx.steps} steps")
    with ctx.recorder(mode, [0]) as resetting:
        resetting.reset(seed=ctx.seed)
        while len(resetting.calls) < len(stepping.calls):
            if resetting.step().dones.any():
                resetting.reset()
    left, right = ctx.trajectories(resetting)[0], ctx.trajectories(stepping)[0]
    yield left, right, {"origin": stepping.probe.origin}


@same_episodes(
    "next-step-explicit",
    "{at}; after each end environments were reset with reset_mask; environment {env}",
    "the same episodes; the step after the reset is an ordinary one",
    " (left: when the next step does it)",
    modes=NEXT_STEP,
)
def next_step_explicit(ctx: Context, mode: AutoresetMode) -> Pairs:
    """Check that a reset after an end replaces the autoreset."""
    _ends(ctx, mode)
    ctx.require("reset-mask")
    recorder = ctx.run(mode, ctx.steps, explicit=True)
    whole, explicit = ctx.trajectories(ctx.long_run(mode)), ctx.trajectories(recorder)
    for env in range(NUM_ENVS):
        yield whole[env], explicit[env], {"env": env}


@check("final-obs", modes=SAME_STEP)
def final_obs(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that final_obs holds the last observations of episodes that ended."""
    space = ctx.observation_space
    for call in _ends(ctx, mode):
        value: Any = call.infos.get("final_obs")
        if not is_array(value, object, NUM_ENVS):
            yield Problem(
                f"{call.did}; infos['final_obs']",
                "no such key" if value is None else show(value),
                f"an array of objects, shape ({NUM_ENVS},)",
            )
            return
        yield from _wrong_mask(call, "_final_obs", call.dones)
        for env in range(NUM_ENVS):
            if not call.dones[env]:
                if value[env] is None:
                    continue
                rule = "None: it did not end"
            elif value[env] is not None and space.contains(value[env]):
                continue
            else:
                rule = f"an element of {show(space)}"
            did = f"{call.did}; infos['final_obs'][{env}]"
            yield Problem(did, show(value[env]), rule)


@check("final-info", modes=SAME_STEP)
def final_info(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that final_info holds the infos of the last steps, with masks."""
    for call in _ends(ctx, mode):
        value = call.infos.get("final_info")
        did = f"{call.did}; infos['final_info']"
        if not isinstance(value, dict):
            text = "no such key" if value is None else show(value)
            yield Problem(did, text, "a dict of arrays with their masks")
            return
        yield from _wrong_mask(call, "_final_info", call.dones)
        for key in data_keys(value):
            mask = mask_of(value, key, NUM_ENVS)
            if f"_{key}" in value and (mask & ~call.dones).any():
                yield Problem(
                    f"{did}['_{key}']",
                    show(mask),
                    f"no environment but those that ended, {show(call.dones)}",
                )


@check("final-absent", modes=SAME_STEP)
def final_absent(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that steps without an end have neither final_obs nor final_info."""
    for call in ctx.long_run(mode).calls:
        keys = [
            key
            for key in ("final_obs", "_final_obs", "final_info", "_final_info")
            if key in call.infos
        ]
        if keys and not call.dones.any():
            yield Problem(
                call.did, f"no episode ended, infos has {keys}", "no such keys"
            )


def _wrong_mask(call: Call, name: str, dones: NDArray[np.bool_]) -> Problems:
    mask: Any = call.infos.get(name)
    if not is_array(mask, np.bool_, NUM_ENVS) or (mask != dones).any():
        yield Problem(
            f"{call.did}; infos[{name!r}]",
            "no such key" if mask is None else show(mask),
            f"{show(dones)}, the environments that ended",
        )


@check("disabled-raises", modes=DISABLED)
def disabled_raises(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a step of an environment that ended raises."""
    _ends(ctx, mode)
    outcome = _step_ended(ctx, lambda call: bool(call.dones.any()))
    if outcome.accepted is not None:
        yield Problem(
            outcome.accepted,
            "no error",
            "an error: the caller forgot reset(options={'reset_mask': ended})",
        )


@check("disabled-moves", modes=DISABLED)
def disabled_moves(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a step of an environment that ended moves no other one."""

    # If environment 0 had ended, an engine that loops over them would raise at once.
    def later_one_ended(call: Call) -> bool:
        return bool(call.dones.any() and not call.dones[0])

    if not any(later_one_ended(call) for call in _ends(ctx, mode)):
        skip("no environment but the first ended by itself")
    outcome = _step_ended(ctx, later_one_ended)
    if outcome.accepted is not None:
        skip("such a step is not refused, see [disabled-raises]")
    if outcome.divergence is not None:
        yield outcome.divergence


def _step_ended(ctx: Context, when: Callable[[Call], bool]) -> MisuseResult:
    return misuse(
        ctx,
        DISABLED,
        when=when,
        actions=lambda actions: actions,
        text="step(actions) while an environment had ended",
    )


@same_episodes(
    "modes-agree",
    "reset(seed={seed}) and the same actions in {mode} and {other}; environment {env}",
    "the same observations, rewards, flags and infos: the modes differ only in the "
    "calls that return them",
    modes="once",
    all_problems=True,
)
def modes_agree(ctx: Context, mode: AutoresetMode) -> Pairs:
    """Check that every mode has the same episodes."""
    if len(ctx.modes) < 2:
        skip("there is only one mode")
    first = ctx.trajectories(ctx.long_run(mode))
    for other in ctx.modes[1:]:
        try:
            others = ctx.trajectories(ctx.long_run(other))
        except CallFailed:
            continue  # every check in that mode reports it
        for env in range(NUM_ENVS):
            words = {"mode": mode.name, "other": other.name, "env": env}
            yield first[env], others[env], words
