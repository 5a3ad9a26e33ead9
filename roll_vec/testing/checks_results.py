"""Checks of the results of reset and step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import Problems, check, once_each
from roll_vec.testing.comparison import (
    difference,
    is_array,
    layout_mismatches,
    mask_of,
    observation_of,
    show,
)
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import TRACEBACK, skip
from roll_vec.testing.recorder import Call
from roll_vec.testing.report import Problem

_OUTCOMES = ("rewards", "terminations", "truncations")


@check("reset-result", vital=True)
def reset_result(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that reset returns observations and an infos dict."""
    with ctx.open(mode) as probe:
        result = probe.env.reset(seed=ctx.seed)
        if not isinstance(result, tuple) or len(result) != 2:
            outcome = show(result)
        elif not isinstance(result[1], dict):
            outcome = f"infos that are {show(result[1])}"
        else:
            return
        yield Problem(
            probe.describe(f"reset(seed={ctx.seed})"),
            outcome,
            "a tuple (observations, dict)",
        )


@check("step-result", vital=True)
def step_result(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that step returns five values, with an entry for each environment."""
    with ctx.open(mode) as probe:
        probe.reset(seed=ctx.seed)
        result: Any = probe.env.step(ctx.plan.batch(range(NUM_ENVS)))
        did = probe.describe("step(actions)")
        if not isinstance(result, tuple) or len(result) != 5:
            yield Problem(did, show(result), "a tuple of five values")
            return
        if not isinstance(result[4], dict):
            yield Problem(did, f"infos that are {show(result[4])}", "a dict")
        for name, value in zip(_OUTCOMES, result[1:4], strict=True):
            if np.shape(value) != (NUM_ENVS,):
                yield Problem(did, f"{name}: {show(value)}", f"shape ({NUM_ENVS},)")


@check("environment-error", modes="each")
def environment_error(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that no episode ends, and no reset fails, by an error in the infos."""
    rule = (
        "an environment that does not fail; where infos['error'] is no failure but "
        "part of the task, ignore this code"
    )

    def found() -> Iterator[tuple[str, Problem]]:
        for call in ctx.long_run(mode).calls:
            for env, error in _errors(call):
                warnings = (text for text in ctx.tracebacks if error in text)
                _, head, trace = next(warnings, "").partition(TRACEBACK)
                text = f"environment {env}: {error}"
                yield error, Problem(call.did, text, rule, head + trace)

    yield from once_each(found())


def _errors(call: Call) -> Iterator[tuple[int, str]]:
    """Yield the environments whose reset, or truncated episode, has an error."""
    for infos in (call.infos, call.infos.get("final_info")):
        if not isinstance(infos, dict) or "error" not in infos:
            continue
        for env in np.flatnonzero(mask_of(infos, "error", NUM_ENVS)).tolist():
            error = infos["error"][env]
            is_over = not call.is_step or call.starts[env] or call.truncations[env]
            if isinstance(error, str) and error and is_over:
                yield env, error


@check("observation-space", modes="each")
def observation_space(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that observations are in observation_space."""
    with ctx.open(mode) as probe:
        space = probe.env.observation_space
    for call in ctx.long_run(mode).calls:
        try:
            inside = space.contains(call.observations)
        except Exception:
            inside = False  # a space may raise for values that are far outside
        if not inside:
            yield Problem(
                call.did,
                show(call.observations),
                f"an element of {show(space)}",
            )


@check("observation-layout", modes="each")
def observation_layout(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that observations have the types, dtypes and shapes of the space."""
    with ctx.open(mode) as probe:
        space = probe.env.observation_space
    for call in ctx.long_run(mode).calls:
        for at, value, rule in layout_mismatches(
            space, call.observations, "observations"
        ):
            yield Problem(call.did, f"{at}: {value}", rule)


@check("reward-dtype", modes="each")
def reward_dtype(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that rewards are a float64 array."""
    for call in _steps(ctx, mode):
        if not is_array(call.rewards, np.float64, NUM_ENVS):
            yield Problem(
                call.did,
                f"rewards: {_kind(call.rewards)}",
                f"an array of float64, shape ({NUM_ENVS},), as SyncVectorEnv gives",
            )
            return


@check("reward-finite", modes="each")
def reward_finite(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that rewards are finite."""
    for call in _steps(ctx, mode):
        if not np.isfinite(np.asarray(call.rewards, dtype=np.float64)).all():
            yield Problem(call.did, f"rewards: {show(call.rewards)}", "finite numbers")


@check("flag-dtype", modes="each")
def flag_dtype(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that terminations and truncations are bool arrays."""
    rule = f"an array of bool, shape ({NUM_ENVS},)"
    yield from once_each(
        (name, Problem(call.did, f"{name}: {_kind(getattr(call, name))}", rule))
        for call in _steps(ctx, mode)
        for name in ("terminations", "truncations")
        if not is_array(getattr(call, name), np.bool_, NUM_ENVS)
    )


def _steps(ctx: Context, mode: AutoresetMode) -> list[Call]:
    return [call for call in ctx.long_run(mode).calls if call.is_step]


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    return f"a {type(value).__name__}, {show(value)}"


@check("action-sample")
def action_sample(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that action_space.sample() is an action for step, fixed by the seed."""
    with ctx.open(mode) as probe:
        planned = ctx.plan.batch(range(NUM_ENVS))
        space = probe.env.action_space
        if not space.contains(planned):
            yield Problem(
                f"{probe.origin}.action_space.contains(samples of single_action_space "
                "put together)",
                f"False for {show(planned)}",
                "True",
            )
        samples = []
        for _ in range(2):
            space.seed(ctx.seed)
            samples.append(space.sample())
        did = f"{probe.origin}.action_space.seed({ctx.seed}), sample()"
        if not space.contains(samples[0]):
            yield Problem(did, show(samples[0]), f"an element of {show(space)}")
        diff = difference(*samples)
        if diff is not None:
            yield Problem(f"{did}, twice", diff, "the same sample")
        probe.reset(seed=ctx.seed)
        probe.step(samples[1])


@check("text-stale")
def text_stale(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that observed texts are those of the environments."""
    leaves = list(_text_leaves(ctx.observation_space, ()))
    if not leaves:
        skip("there is no Text in the observation space")
    calls = ctx.long_run(mode).calls
    for path, space in leaves:
        texts = {
            _at(observation_of(ctx.observation_space, call.observations, env), path)
            for call in calls
            for env in range(NUM_ENVS)
        }
        text = next(iter(texts))
        if len(texts) == 1 and _is_filler(text, space):
            where = "".join(f"[{part!r}]" for part in path)
            yield Problem(
                f"{calls[-1].did}; observations{where} of all environments were "
                "looked at",
                f"always {show(text)}, which is an empty Text buffer decoded",
                "the texts of the environments (of AsyncVectorEnv: its shared memory "
                "is decoded once, in the constructor; use shared_memory=False)",
            )


def _text_leaves(
    space: spaces.Space[Any], path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], spaces.Text]]:
    if isinstance(space, spaces.Text):
        yield path, space
    elif isinstance(space, spaces.Dict):
        for key, subspace in space.spaces.items():
            yield from _text_leaves(subspace, (*path, key))
    elif isinstance(space, spaces.Tuple):
        for position, subspace in enumerate(space.spaces):
            yield from _text_leaves(subspace, (*path, position))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def _is_filler(text: Any, space: spaces.Text) -> bool:
    # A constant text can be right.  A buffer of zeros is decoded as one character,
    # repeated over the whole length.
    return isinstance(text, str) and len(text) == space.max_length > len(set(text)) == 1
