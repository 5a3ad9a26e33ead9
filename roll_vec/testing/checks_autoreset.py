"""Checks of what happens after an end, in each of the three autoreset modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.testing.comparison import data_keys, mask_of, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.disturbance import Disturbance, disturb
from roll_vec.testing.findings import CallFailed, Problem, check, skip
from roll_vec.testing.histories import history_difference
from roll_vec.testing.player import IGNORED_ACTIONS, Call

Problems = Iterator[Problem]

NEXT_STEP = AutoresetMode.NEXT_STEP
SAME_STEP = AutoresetMode.SAME_STEP
DISABLED = AutoresetMode.DISABLED


def _ends(ctx: Context, mode: AutoresetMode) -> list[Call]:
    """Return the steps of the long run in which an episode ended."""
    calls = [call for call in ctx.played(mode).calls if call.done.any()]
    if not calls:
        skip(f"no episode ended within {ctx.steps} steps")
    return calls


@check("next-step-outcome", modes=NEXT_STEP)
def next_step_outcome(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the step after an end has reward 0 and no flags."""
    _ends(ctx, mode)
    for call in ctx.played(mode).calls:
        if not call.is_step:
            continue
        rewards = np.asarray(call.rewards, np.float64)
        for env in np.flatnonzero(call.starts & ((rewards != 0) | call.done)):
            yield Problem(
                f"{call.told}; environment {env} had ended in the step before",
                f"reward {show(rewards[env])}, terminated "
                f"{show(call.terminations[env])}, truncated "
                f"{show(call.truncations[env])}",
                "reward 0 and no flag: the step only begins the next episode",
            )


@check("next-step-action", modes=NEXT_STEP)
def next_step_action(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the action of the step after an end is ignored."""
    _ends(ctx, mode)
    reference = ctx.played(mode).calls
    with ctx.player(mode, ignored=IGNORED_ACTIONS) as player:
        player.reset(seed=ctx.seed)
        player.run(ctx.steps)
    for one, other in zip(reference, player.calls, strict=False):
        found = one.differs(other)
        if found is not None:
            yield Problem(
                f"{other.told}, with other actions for environments that had ended in "
                "the step before",
                found,
                "the same results: those actions are ignored",
            )
            return


@check("next-step-reset", modes=NEXT_STEP)
def next_step_reset(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the step after an end gives what reset() would."""
    with ctx.player(mode, [0]) as stepped:
        stepped.reset(seed=ctx.seed)
        stepped.run(ctx.steps)
    if not any(call.done.any() for call in stepped.calls):
        skip(f"no episode ended within {ctx.steps} steps")
    with ctx.player(mode, [0]) as reset:
        reset.reset(seed=ctx.seed)
        while len(reset.calls) < len(stepped.calls):
            if reset.step().done.any():
                reset.reset()
    found = history_difference(
        ctx.histories(reset)[0], ctx.histories(stepped)[0], ctx.tainted
    )
    if found is not None:
        position, text = found
        yield Problem(
            f"two instances of {stepped.probe.made} after reset(seed={ctx.seed}): at "
            "each end one steps, the other calls reset()",
            f"they part at transition {position}: {text} (left: reset())",
            "the same observation and info, and the same episode after it",
        )


@check("next-step-explicit", modes=NEXT_STEP)
def next_step_explicit(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a reset after an end replaces the autoreset."""
    _ends(ctx, mode)
    ctx.needs("reset-mask")
    with ctx.player(mode) as player:
        player.reset(seed=ctx.seed)
        player.run(ctx.steps, explicit=True)
    whole, explicit = ctx.histories(ctx.played(mode)), ctx.histories(player)
    for env in range(NUM_ENVS):
        found = history_difference(whole[env], explicit[env], ctx.tainted)
        if found is not None:
            position, text = found
            yield Problem(
                f"{explicit[env][position].told}; after each end environments were "
                "reset with reset_mask",
                f"environment {env}, transition {position}: {text} (left: when the "
                "next step does it)",
                "the same episodes; the step after the reset is an ordinary one",
            )
            return


@check("final-obs", modes=SAME_STEP)
def final_obs(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that final_obs holds the last observations of episodes that ended."""
    space = ctx.observation_space
    for call in _ends(ctx, mode):
        value: Any = call.infos.get("final_obs")
        if not _is_array(value, np.dtype(object)):
            found = "no such key" if value is None else show(value)
            yield Problem(
                f"{call.told}; infos['final_obs']",
                found,
                f"an array of objects, shape ({NUM_ENVS},)",
            )
            return
        yield from _wrong_mask(call, "_final_obs", call.done)
        for env in range(NUM_ENVS):
            if not call.done[env]:
                if value[env] is None:
                    continue
                expected = "None: it did not end"
            elif value[env] is not None and space.contains(value[env]):
                continue
            else:
                expected = f"an element of {show(space)}"
            told = f"{call.told}; infos['final_obs'][{env}]"
            yield Problem(told, show(value[env]), expected)


@check("final-info", modes=SAME_STEP)
def final_info(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that final_info holds the infos of the last steps, with masks."""
    for call in _ends(ctx, mode):
        value = call.infos.get("final_info")
        told = f"{call.told}; infos['final_info']"
        if not isinstance(value, dict):
            found = "no such key" if value is None else show(value)
            yield Problem(told, found, "a dict of arrays with their masks")
            return
        yield from _wrong_mask(call, "_final_info", call.done)
        for key in data_keys(value):
            given = mask_of(value, key, NUM_ENVS)
            if f"_{key}" in value and (given & ~call.done).any():
                yield Problem(
                    f"{told}['_{key}']",
                    show(given),
                    f"no environment but those that ended, {show(call.done)}",
                )


@check("final-absent", modes=SAME_STEP)
def final_absent(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that steps without an end have neither final_obs nor final_info."""
    for call in ctx.played(mode).calls:
        there = [
            key
            for key in ("final_obs", "_final_obs", "final_info", "_final_info")
            if key in call.infos
        ]
        if there and not call.done.any():
            yield Problem(
                call.told, f"no episode ended, infos has {there}", "no such keys"
            )


def _wrong_mask(call: Call, name: str, expected: NDArray[np.bool_]) -> Problems:
    mask: Any = call.infos.get(name)
    if not _is_array(mask, np.dtype(np.bool_)) or (mask != expected).any():
        yield Problem(
            f"{call.told}; infos[{name!r}]",
            "no such key" if mask is None else show(mask),
            f"{show(expected)}, the environments that ended",
        )


def _is_array(value: Any, dtype: np.dtype[Any]) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype == dtype
        and value.shape == (NUM_ENVS,)
    )


@check("disabled-raises", modes=DISABLED)
def disabled_raises(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a step of an environment that ended raises."""
    _ends(ctx, mode)
    outcome = _step_ended(ctx, lambda call: bool(call.done.any()))
    if outcome.accepted is not None:
        yield Problem(
            outcome.accepted,
            "no error",
            "an error: the caller forgot reset(options={'reset_mask': ended})",
        )


@check("disabled-moves", modes=DISABLED)
def disabled_moves(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a step of an environment that ended moves no other one."""

    # Where the first one ended, an engine that goes through them raises at once.
    def later_one_ended(call: Call) -> bool:
        return bool(call.done.any() and not call.done[0])

    if not any(later_one_ended(call) for call in _ends(ctx, mode)):
        skip("no environment but the first ended by itself")
    outcome = _step_ended(ctx, later_one_ended)
    if outcome.accepted is not None:
        skip("such a step is not refused, see [disabled-raises]")
    if outcome.moved is not None:
        yield Problem(
            outcome.moved.did,
            outcome.moved.found,
            "the same results: the step is refused before anything has moved",
        )


def _step_ended(ctx: Context, when: Callable[[Call], bool]) -> Disturbance:
    return disturb(
        ctx,
        DISABLED,
        when=when,
        actions=lambda actions: actions,
        what="step(actions) while an environment had ended",
    )


@check("modes-agree")
def modes_agree(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that every mode tells the same episodes."""
    if len(ctx.modes) < 2:
        skip("there is only one mode")
    first = ctx.histories(ctx.played(mode))
    for other_mode in ctx.modes[1:]:
        try:
            others = ctx.histories(ctx.played(other_mode))
        except CallFailed:
            continue  # every check in that mode tells of it
        for env in range(NUM_ENVS):
            found = history_difference(first[env], others[env], ctx.tainted)
            if found is not None:
                position, text = found
                yield Problem(
                    f"reset(seed={ctx.seed}) and the same actions in {mode.name} and "
                    f"{other_mode.name}",
                    f"the episodes of environment {env} part at transition {position} "
                    f"({first[env][position].told}): {text}",
                    "the same observations, rewards, flags and infos: the modes differ "
                    "only in the calls that tell them",
                )
                break
