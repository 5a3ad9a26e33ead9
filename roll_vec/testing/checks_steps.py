"""Checks of steps after an end, in each autoreset mode, and with bad actions."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import Problems, check, mismatch, repeat, unequal
from roll_vec.testing.comparison import (
    UNKNOWN,
    batch,
    data_keys,
    difference,
    mask_of,
    observation_of,
    show,
)
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, error_of
from roll_vec.testing.recorder import FINAL_KEYS, Call
from roll_vec.testing.report import Problem

NEXT_STEP = AutoresetMode.NEXT_STEP
SAME_STEP = AutoresetMode.SAME_STEP
DISABLED = AutoresetMode.DISABLED

# Number of the first sequence of actions that are to be ignored.
_OTHERS = 1_000


@check("next-step-outcome", modes=NEXT_STEP)
def next_step_outcome(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look at the outcomes of the steps that begin episodes."""
    ctx.require_ends(mode)
    for call in ctx.long_run(mode)[1:]:
        rewards = np.asarray(call.results["rewards"], np.float64)
        for env in np.flatnonzero(call.starts & ((rewards != 0) | call.dones)):
            actual = f"reward {show(rewards[env])}, ended: {call.dones[env]}"
            yield Problem(call.did, actual, place=f"environment {env}")


@check("next-step-action", modes=NEXT_STEP)
def next_step_action(ctx: Context, mode: AutoresetMode) -> Problems:
    """Take other actions where they are ignored."""
    ctx.require_ends(mode)
    space = ctx.action_space

    def with_other_actions(call: Call) -> Call:
        actions = [
            ctx.plan.action(_OTHERS + env, 0)
            if call.starts[env]
            else observation_of(space, call.arguments["actions"], env)
            for env in range(NUM_ENVS)
        ]
        return replace(call, arguments={"actions": batch(space, actions)})

    first, *steps = ctx.long_run(mode)
    with ctx.open(mode) as run:
        calls = [first, *map(with_other_actions, steps)]
        note = ", with other actions for environments that had ended"
        yield from repeat(run, calls, "with the same actions", note)


@check("next-step-reset", modes=NEXT_STEP)
def next_step_reset(ctx: Context, mode: AutoresetMode) -> Problems:
    """Call reset in the place of the step after an end."""
    ctx.require_ends(mode)
    stepping = ctx.run(mode, ctx.steps, [0])
    with ctx.open(mode, [0]) as resetting:
        resetting.reset(seed=ctx.seed)
        while len(resetting.calls) < len(stepping.calls):
            if resetting.step().dones.any():
                resetting.reset()
    [left], [right] = ctx.episodes(resetting.calls), ctx.episodes(stepping.calls)
    did = f"{stepping.describe()}, against reset() at each end"
    yield from unequal(left, right, did, "reset()")


@check("next-step-explicit", modes=NEXT_STEP)
def next_step_explicit(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset environments that ended by a mask."""
    ctx.require_ends(mode)
    ctx.require("reset-mask")
    run = ctx.run(mode, ctx.steps, explicit=True)
    pairs = zip(ctx.episodes(ctx.long_run(mode)), ctx.episodes(run.calls), strict=True)
    for env, (left, right) in enumerate(pairs):
        did = f"{run.describe()}; environment {env}"
        yield from unequal(left, right, did, "when the next step does it")


@check("final-obs", "final-info", "final-absent", modes=SAME_STEP)
def finals(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look at the last observations and infos of episodes that ended."""
    for call in ctx.long_run(mode):
        if call.dones.any():
            yield from _final_obs(ctx, call)
            yield from _final_info(call)
        elif any(key in call.infos for key in FINAL_KEYS):
            actual = f"no episode ended, infos has {[*call.infos]}"
            yield Problem(call.did, actual, code="final-absent")


def _final_obs(ctx: Context, call: Call) -> Problems:
    at, space = "infos['final_obs']", ctx.observation_space
    value: Any = call.infos.get("final_obs")
    problems = [*mismatch(call.did, np.full(NUM_ENVS, UNKNOWN, object), value, at)]
    yield from [*problems, *_wrong_mask(call, "_final_obs", "final-obs")]
    for env, each in enumerate([] if problems else value):
        is_right, expected = each is None, "None: it did not end"
        if call.dones[env]:
            is_right = each is not None and space.contains(each)
            expected = f"an element of {show(space)}"
        if not is_right:
            yield Problem(call.did, show(each), expected, f"{at}[{env}]")


def _final_info(call: Call) -> Problems:
    at, code, value = "infos['final_info']", "final-info", call.infos.get("final_info")
    if not isinstance(value, dict):
        expected = "a dict of arrays with their masks"
        yield Problem(call.did, show(value), expected, at, code)
        return
    yield from _wrong_mask(call, "_final_info", code)
    for key in data_keys(value):
        mask = mask_of(value, key, NUM_ENVS)
        if f"_{key}" in value and (mask & ~call.dones).any():
            expected = f"no environment but those that ended, {show(call.dones)}"
            yield Problem(call.did, show(mask), expected, f"{at}['_{key}']", code)


def _wrong_mask(call: Call, name: str, code: str) -> Problems:
    """Yield a mask that is not that of the ended episodes."""
    mask, place = call.infos.get(name), f"infos[{name!r}]"
    if difference(call.dones, mask) is not None:
        yield Problem(call.did, show(mask), show(call.dones), place, code)


@check("disabled-raises", "disabled-moves", modes=DISABLED)
def disabled(ctx: Context, mode: AutoresetMode) -> Problems:
    """Step environments that have ended."""
    ctx.require_ends(mode)
    misuses = {"step(actions) while an environment had ended": _proper(ctx, mode)}
    yield from _misuse(ctx, mode, misuses, ("disabled-raises", "disabled-moves"))


@check("modes-agree")
def modes_agree(ctx: Context, mode: AutoresetMode) -> Problems:
    """Compare the episodes of the long runs."""
    first = ctx.episodes(ctx.long_run(mode))
    for other in ctx.modes[1:]:
        try:
            others = ctx.episodes(ctx.long_run(other))
        except CallFailed:
            continue  # every check in that mode reports it
        for env in range(NUM_ENVS):
            did = (
                f"reset(seed={ctx.seed}) and the same actions in {mode.name} and "
                f"{other.name}; environment {env}"
            )
            yield from unequal(first[env], others[env], did, mode.name)


# --------------------------------------------------------------- steps to be refused

# Number of calls with a misuse after each: a state that moved need not show at once.
_CALLS = 24


def _proper(ctx: Context, mode: AutoresetMode) -> Any:
    """Return the actions of a step that was accepted."""
    steps = [call for call in ctx.long_run(mode) if call.is_step]
    return copy.deepcopy(steps[-1].arguments["actions"])


def _misuse(
    ctx: Context, mode: AutoresetMode, misuses: dict[str, Any], codes: tuple[str, str]
) -> Problems:
    """Repeat the long run, for each misuse, with steps in between to be refused.

    Parameters
    ----------
    ctx : Context
        Its long run in `mode` is repeated.
    mode : AutoresetMode
    misuses : dict
        Actions that should be refused, by a description of the call.
    codes : tuple of two str
        Of a misuse that is accepted; of one that is refused and moves something.  The
        misuse "disabled-raises" follows calls that end an episode, others all others.
    """
    after_ends = codes[0] == "disabled-raises"
    reference = ctx.long_run(mode)[: None if after_ends else _CALLS]
    for text, actions in misuses.items():
        refused: list[Call] = []
        accepted: list[Call] = []
        with ctx.open(mode) as run:
            step = run.env.step

            def misuse(call: Call) -> None:
                if call.dones.any() == after_ends:
                    error = error_of(step, copy.deepcopy(actions))  # noqa: B023
                    (accepted if error is None else refused).append(call)  # noqa: B023

            moved = [*repeat(run, reference, "without that step", "", misuse, codes[1])]
        if accepted:
            did = run.describe(text, last=accepted[0])
            yield Problem(did, "no error", code=codes[0])
        elif refused:
            did = run.describe(text, last=refused[-1])
            did += ", which was refused; then the next call"
            yield from (replace(problem, did=did) for problem in moved)


@check("action-count", "action-count-moves")
def action_count(ctx: Context, mode: AutoresetMode) -> Problems:
    """Step with actions for too few and for too many environments."""
    misuses = {
        f"step(actions for {count} environments)": ctx.plan.batch(range(count), k=1)
        for count in (NUM_ENVS - 1, NUM_ENVS + 1)
    }
    if isinstance(ctx.action_space, spaces.Text):
        # As long as the batch, so that a loop over it finds an action for each.
        value = "a" * NUM_ENVS
        misuses[f"step({value!r}), one str instead of a tuple of them"] = value
    yield from _misuse(ctx, mode, misuses, ("action-count", "action-count-moves"))


@check("action-invalid", "action-invalid-moves")
def action_invalid(ctx: Context, mode: AutoresetMode) -> Problems:
    """Step with actions outside the action space, in the last environment."""
    space, proper = ctx.action_space, _proper(ctx, mode)
    values: list[Any] = []
    others: dict[str, Any] = {}
    if isinstance(space, spaces.Discrete):
        start, limits = int(space.start), np.iinfo(space.dtype)
        # Just below the first action there may be one that stands for no valid action.
        for value in (start + int(space.n), min(start - 1, -1)):
            if limits.min <= value <= limits.max:
                values.append(value)
        others[f"step(actions of shape ({NUM_ENVS}, 1))"] = proper[:, None]
        others["step(actions + 0.5)"] = proper + 0.5
    elif isinstance(space, spaces.MultiDiscrete):
        values = [space.nvec + space.start]
    elif isinstance(space, spaces.MultiBinary):
        values = [2]
    elif isinstance(space, spaces.Text):
        values = [7, None, b"a"]
    misuses = {}
    for value in values:
        actions = list(proper) if isinstance(proper, tuple) else proper.copy()
        actions[-1] = value
        if isinstance(proper, tuple):
            actions = tuple(actions)
        misuses[f"step(actions with {show(value)} in the last place)"] = actions
    codes = "action-invalid", "action-invalid-moves"
    yield from _misuse(ctx, mode, {**misuses, **others}, codes)


@check("step-before-reset")
def step_before_reset(ctx: Context, mode: AutoresetMode) -> Problems:
    """Step a new instance."""
    with ctx.open(mode) as run:
        if error_of(run.env.step, ctx.plan.batch(range(NUM_ENVS))) is None:
            yield Problem(run.describe("step(actions)"), "no error")
