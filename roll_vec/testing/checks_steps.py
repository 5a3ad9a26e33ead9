"""Checks of steps after an end, in each autoreset mode, and with bad actions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import Found, Group, Pair, Pairs
from roll_vec.testing.comparison import data_keys, is_array, mask_of, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, skip
from roll_vec.testing.recorder import FINAL_KEYS, IGNORED_OFFSET, Call, replay

AUTORESET = Group("Autoreset")
MISUSE = Group("Misuse")

NEXT_STEP = AutoresetMode.NEXT_STEP
SAME_STEP = AutoresetMode.SAME_STEP
DISABLED = AutoresetMode.DISABLED


def _ends(ctx: Context, mode: AutoresetMode) -> list[Call]:
    """Return the steps of the long run in which an episode ended."""
    calls = [call for call in ctx.long_run(mode).calls if call.dones.any()]
    if not calls:
        skip(f"no episode ended within {ctx.steps} steps")
    return calls


@AUTORESET.check(
    "next-step-outcome",
    "reward 0 and no flag: the step only begins the next episode",
    modes=NEXT_STEP,
)
def next_step_outcome(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the step after an end has reward 0 and no flags."""
    _ends(ctx, mode)
    for call in ctx.long_run(mode).calls:
        if not call.is_step:
            continue
        rewards = np.asarray(call.rewards, np.float64)
        for env in np.flatnonzero(call.starts & ((rewards != 0) | call.dones)):
            yield (
                f"{call.did}; environment {env} had ended in the step before",
                f"reward {show(rewards[env])}, terminated "
                f"{show(call.terminations[env])}, truncated "
                f"{show(call.truncations[env])}",
            )


@AUTORESET.same_calls(
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


@AUTORESET.same_episodes(
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


@AUTORESET.same_episodes(
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


@AUTORESET.check("final-obs", modes=SAME_STEP)
def final_obs(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that final_obs holds the last observations of episodes that ended."""
    space = ctx.observation_space
    for call in _ends(ctx, mode):
        value: Any = call.infos.get("final_obs")
        did = f"{call.did}; infos['final_obs']"
        if not is_array(value, object, NUM_ENVS):
            found = "no such key" if value is None else show(value)
            yield did, found, f"an array of objects, shape ({NUM_ENVS},)"
            return
        yield from _wrong_mask(call, "_final_obs")
        for env, (done, each) in enumerate(zip(call.dones, value, strict=True)):
            if done and not (each is not None and space.contains(each)):
                yield f"{did}[{env}]", show(each), f"an element of {show(space)}"
            elif not done and each is not None:
                yield f"{did}[{env}]", show(each), "None: it did not end"


@AUTORESET.check("final-info", modes=SAME_STEP)
def final_info(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that final_info holds the infos of the last steps, with masks."""
    for call in _ends(ctx, mode):
        value = call.infos.get("final_info")
        did = f"{call.did}; infos['final_info']"
        if not isinstance(value, dict):
            found = "no such key" if value is None else show(value)
            yield did, found, "a dict of arrays with their masks"
            return
        yield from _wrong_mask(call, "_final_info")
        rule = f"no environment but those that ended, {show(call.dones)}"
        for key in data_keys(value):
            mask = mask_of(value, key, NUM_ENVS)
            if f"_{key}" in value and (mask & ~call.dones).any():
                yield f"{did}['_{key}']", show(mask), rule


@AUTORESET.check("final-absent", "no such keys", modes=SAME_STEP)
def final_absent(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that steps without an end have neither final_obs nor final_info."""
    for call in ctx.long_run(mode).calls:
        keys = [key for key in FINAL_KEYS if key in call.infos]
        if keys and not call.dones.any():
            yield call.did, f"no episode ended, infos has {keys}"


def _wrong_mask(call: Call, name: str) -> Found:
    mask: Any = call.infos.get(name)
    if not is_array(mask, np.bool_, NUM_ENVS) or (mask != call.dones).any():
        found = "no such key" if mask is None else show(mask)
        rule = f"{show(call.dones)}, the environments that ended"
        yield f"{call.did}; infos[{name!r}]", found, rule


@AUTORESET.check(
    "disabled-raises",
    "an error: the caller forgot reset(options={'reset_mask': ended})",
    modes=DISABLED,
)
def disabled_raises(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that a step of an environment that ended raises."""
    _ends(ctx, mode)
    outcome = _step_ended(ctx, lambda call: bool(call.dones.any()))
    if outcome.accepted is not None:
        yield outcome.accepted, "no error"


@AUTORESET.check("disabled-moves", modes=DISABLED)
def disabled_moves(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that a step of an environment that ended moves no other one."""

    # If environment 0 had ended, an engine that loops over them would raise at once.
    def later_one_ended(call: Call) -> bool:
        return bool(call.dones.any() and not call.dones[0])

    if not any(later_one_ended(call) for call in _ends(ctx, mode)):
        skip("no environment but the first ended by itself")
    outcome = _step_ended(ctx, later_one_ended)
    if outcome.accepted is not None:
        skip("such a step is not refused, see [disabled-raises]")
    yield from outcome.divergence


def _step_ended(ctx: Context, when: Callable[[Call], bool]) -> _Outcome:
    text = "step(actions) while an environment had ended"
    return _misuse(ctx, DISABLED, when, lambda actions: actions, text)


@AUTORESET.same_episodes(
    "modes-agree",
    "reset(seed={seed}) and the same actions in {mode} and {other}; environment {env}",
    "the same observations, rewards, flags and infos: the modes differ only in the "
    "calls that return them",
    modes="once",
    most=3,
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


# --------------------------------------------------------------- steps to be refused

# Functions that turn proper actions into wrong ones, by name.
_Misuses = dict[str, Callable[[Any], Any]]

# Number of calls with a misuse after each: a state that moved need not show at once.
_CALLS = 24


class _Outcome(NamedTuple):
    """The outcome of steps that should be refused."""

    accepted: str | None = None
    """The calls that were made, when such a step was not refused."""
    divergence: tuple[tuple[str, str, str], ...] = ()
    """The first difference that a refused step made to the run after it, if any."""


def _misuse(
    ctx: Context,
    mode: AutoresetMode,
    when: Callable[[Call], bool],
    actions: Callable[[Any], Any],
    text: str,
    calls: int | None = None,
) -> _Outcome:
    """Repeat the long run with steps in between that should be refused.

    Parameters
    ----------
    ctx : Context
        Its long run in `mode` is repeated.
    mode : AutoresetMode
    when : callable
        Returns whether to misuse the environment after this call.
    actions : callable
        Makes the actions of the misuse from proper ones.
    text : str
        The misuse in words.
    calls : int, optional
        Number of calls of the run to repeat; all by default.
    """
    reference = ctx.long_run(mode).calls[:calls]
    proper = [call.actions for call in reference if call.is_step][-1]
    refusal: str | None = None
    found = ""
    with ctx.open(mode) as probe:
        try:
            for call, difference in replay(probe, reference):
                if difference is not None and refusal is None:
                    break  # not deterministic: another finding
                if difference is not None:
                    found = f"{difference} (left: without the step that was refused)"
                    break
                if when(call):
                    refusal = f"{probe.describe(text)}, which was refused"
                    if not probe.refuses(actions(copy.deepcopy(proper))):
                        return _Outcome(accepted=probe.describe(text))
        except CallFailed as failure:
            if refusal is None:
                raise
            found = f"{failure.text}: the batch is lost"
    if not found:
        return _Outcome()
    rule = "the same results: the batch is checked before anything has moved"
    return _Outcome(divergence=((f"{refusal}; then the next call", found, rule),))


def _counts(ctx: Context) -> _Misuses:
    """Return actions for too few and for too many environments."""
    misuses: dict[str, Any] = {
        f"step(actions for {count} environments)": ctx.plan.batch(range(count), k=1)
        for count in (NUM_ENVS - 1, NUM_ENVS + 1)
    }
    if isinstance(ctx.action_space, spaces.Text):
        # As long as the batch, so that a loop over it finds an action for each.
        text = "a" * NUM_ENVS
        misuses[f"step({text!r}), one str instead of a tuple of them"] = text

    def instead(value: Any) -> Callable[[Any], Any]:
        return lambda _: value

    return {name: instead(value) for name, value in misuses.items()}


def _invalid(ctx: Context) -> _Misuses:
    """Return actions outside the action space, in the last environment."""
    space = ctx.action_space
    values: dict[str, Any] = {}
    more: _Misuses = {}
    if isinstance(space, spaces.Discrete):
        start, limits = int(space.start), np.iinfo(space.dtype)
        # Just below the first action there may be one that stands for no valid action.
        for value in (start + int(space.n), min(start - 1, -1)):
            if limits.min <= value <= limits.max:
                values[f"{value} in the last place"] = value
        more[f"step(actions of shape ({NUM_ENVS}, 1))"] = lambda a: a[:, None]
        more["step(actions + 0.5)"] = lambda a: a + 0.5
    elif isinstance(space, spaces.MultiDiscrete):
        beyond = space.nvec + space.start
        values[f"{show(beyond)} at the end"] = beyond
    elif isinstance(space, spaces.MultiBinary):
        values["2 in the last place"] = 2
    elif isinstance(space, spaces.Text):
        others = {"the number 7": 7, "None": None, "bytes": b"a"}
        values |= {f"{name} in the last place": each for name, each in others.items()}
    else:
        kind = type(space).__name__
        skip(f"it is not clear which {kind} actions must be refused")

    def put_last(actions: Any, value: Any) -> Any:
        if isinstance(actions, tuple):
            return (*actions[:-1], value)
        actions[-1] = value
        return actions

    return {
        f"step(actions with {name})": lambda actions, it=value: put_last(actions, it)
        for name, value in values.items()
    } | more


def _outcomes(
    ctx: Context, mode: AutoresetMode, make_misuses: Callable[[Context], _Misuses]
) -> list[_Outcome]:
    def make() -> list[_Outcome]:
        return [
            _misuse(ctx, mode, lambda call: not call.dones.any(), change, name, _CALLS)
            for name, change in make_misuses(ctx).items()
        ]

    return ctx.compute_once((make_misuses, mode), make)


def _accepted(outcomes: list[_Outcome]) -> Found:
    for outcome in outcomes:
        if outcome.accepted is not None:
            yield outcome.accepted, "no error"


def _divergences(outcomes: list[_Outcome]) -> Found:
    if all(outcome.accepted is not None for outcome in outcomes):
        skip("they are not refused")
    for outcome in outcomes:
        yield from outcome.divergence


@MISUSE.check("action-count", f"an error: there are {NUM_ENVS} environments")
def action_count(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that too few or too many actions, or one str for all, are refused."""
    yield from _accepted(_outcomes(ctx, mode, _counts))


@MISUSE.check("action-count-moves")
def action_count_moves(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that a step refused for the number of actions changes nothing."""
    yield from _divergences(_outcomes(ctx, mode, _counts))


@MISUSE.check("action-invalid", "an error: they are not in the action space")
def action_invalid(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that actions outside the action space are refused."""
    yield from _accepted(_outcomes(ctx, mode, _invalid))


@MISUSE.check("action-invalid-moves")
def action_invalid_moves(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that a step refused for an invalid action changes nothing."""
    yield from _divergences(_outcomes(ctx, mode, _invalid))


@MISUSE.check("step-before-reset", "an error, such as gymnasium's ResetNeeded")
def step_before_reset(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that a step before the first reset is refused."""
    with ctx.open(mode) as probe:
        did = probe.describe("step(actions)")
        if not probe.refuses(ctx.plan.batch(range(NUM_ENVS))):
            yield did, "no error"
