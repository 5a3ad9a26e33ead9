"""Checks that bad actions are refused, and refused as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import Problems, check
from roll_vec.testing.comparison import show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import skip
from roll_vec.testing.misuse import MisuseResult, misuse
from roll_vec.testing.report import Problem

# Functions that turn proper actions into wrong ones, by name.
Misuses = dict[str, Callable[[Any], Any]]

# Number of calls with a misuse after each: a state that moved need not show at once.
_CALLS = 24


def _counts(ctx: Context) -> Misuses:
    """Return actions for too few and for too many environments."""
    misuses = {
        f"step(actions for {count} environments)": _instead(
            ctx.plan.batch(range(count), k=1)
        )
        for count in (NUM_ENVS - 1, NUM_ENVS + 1)
    }
    if isinstance(ctx.action_space, spaces.Text):
        # As long as the batch, so that a loop over it finds an action for each.
        text = "a" * NUM_ENVS
        misuses[f"step({text!r}), one str instead of a tuple of them"] = _instead(text)
    return misuses


def _invalid(ctx: Context) -> Misuses:
    """Return actions outside the action space, in the last environment."""
    space = ctx.action_space
    if isinstance(space, spaces.Discrete):
        start, limits = int(space.start), np.iinfo(space.dtype)
        # Just below the first action there may be one that stands for no valid action.
        misuses = {
            f"step(actions with {value} in the last place)": _with_last(value)
            for value in (start + int(space.n), min(start - 1, -1))
            if limits.min <= value <= limits.max
        }
        misuses[f"step(actions of shape ({NUM_ENVS}, 1))"] = lambda a: a[:, None]
        misuses["step(actions + 0.5)"] = lambda a: a + 0.5
        return misuses
    if isinstance(space, spaces.MultiDiscrete):
        beyond = space.nvec + space.start
        return {f"step(actions with {show(beyond)} at the end)": _with_last(beyond)}
    if isinstance(space, spaces.MultiBinary):
        return {"step(actions with 2 in the last place)": _with_last(2)}
    if isinstance(space, spaces.Text):
        return {
            f"step(actions with {name} in the last place)": _with_last_text(value)
            for name, value in (("the number 7", 7), ("None", None), ("bytes", b"a"))
        }
    return skip(f"it is not clear which {type(space).__name__} actions must be refused")


def _with_last(value: Any) -> Callable[[Any], Any]:
    def change(actions: Any) -> Any:
        actions[-1] = value
        return actions

    return change


def _with_last_text(value: Any) -> Callable[[Any], Any]:
    return lambda actions: (*actions[:-1], value)


def _instead(value: Any) -> Callable[[Any], Any]:
    return lambda actions: value  # noqa: ARG005


def _outcomes(
    ctx: Context, mode: AutoresetMode, misuses: Misuses, key: str
) -> dict[str, MisuseResult]:
    def make() -> dict[str, MisuseResult]:
        return {
            name: misuse(
                ctx,
                mode,
                when=lambda call: not call.dones.any(),
                actions=change,
                text=name,
                calls=_CALLS,
            )
            for name, change in misuses.items()
        }

    outcomes: dict[str, MisuseResult] = ctx.compute_once((key, mode), make)
    return outcomes


def _accepted(outcomes: dict[str, MisuseResult], rule: str) -> Problems:
    for outcome in outcomes.values():
        if outcome.accepted is not None:
            yield Problem(outcome.accepted, "no error", rule)


def _divergences(outcomes: dict[str, MisuseResult]) -> Problems:
    if all(outcome.accepted is not None for outcome in outcomes.values()):
        skip("they are not refused")
    for outcome in outcomes.values():
        if outcome.divergence is not None:
            yield outcome.divergence


@check("action-count")
def action_count(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that too few or too many actions, or one str for all, are refused."""
    outcomes = _outcomes(ctx, mode, _counts(ctx), "count")
    yield from _accepted(outcomes, f"an error: there are {NUM_ENVS} environments")


@check("action-count-moves")
def action_count_moves(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a step refused for the number of actions changes nothing."""
    yield from _divergences(_outcomes(ctx, mode, _counts(ctx), "count"))


@check("action-invalid")
def action_invalid(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that actions outside the action space are refused."""
    outcomes = _outcomes(ctx, mode, _invalid(ctx), "invalid")
    yield from _accepted(outcomes, "an error: they are not in the action space")


@check("action-invalid-moves")
def action_invalid_moves(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a step refused for an invalid action changes nothing."""
    yield from _divergences(_outcomes(ctx, mode, _invalid(ctx), "invalid"))


@check("step-before-reset")
def step_before_reset(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a step before the first reset is refused."""
    with ctx.open(mode) as probe:
        did = probe.describe("step(actions)")
        if not probe.refuses(ctx.plan.batch(range(NUM_ENVS))):
            yield Problem(did, "no error", "an error, such as gymnasium's ResetNeeded")
