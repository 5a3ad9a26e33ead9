"""Checks of an instance: its autoreset mode, spaces, attributes and spec."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from roll_vec.testing.check import Problems, check, differ
from roll_vec.testing.comparison import show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error
from roll_vec.testing.report import Problem


@check("construct", is_vital=True)
def construct(ctx: Context, mode: AutoresetMode) -> Problems:
    """Make batches of each size that the other checks need."""
    if not ctx.modes:
        attempts = ctx.attempts.values()
        # A wrong result tells the user more than an error.
        attempt = min(attempts, key=lambda attempt: attempt.env_type is None)
        yield Problem(attempt.call, attempt.outcome, "a gymnasium.vector.VectorEnv")
        return
    for num_envs in (1, 2):
        try:
            with ctx.open(mode, range(num_envs)):
                pass
        except CallFailed as failure:
            yield Problem(failure.did, failure.text, "batches of any size")


@check("spaces", is_vital=True)
def spaces_exist(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look for the attributes that all checks need."""
    with ctx.open(mode) as run:
        for kind in ("observation_space", "action_space"):
            for name in (f"single_{kind}", kind):
                value = getattr(run.env, name, None)
                if not isinstance(value, spaces.Space):
                    yield Problem(f"{run.origin}.{name}", show(value))
        count = getattr(run.env, "num_envs", None)
        if count != NUM_ENVS:
            yield Problem(f"{run.origin}.num_envs", show(count), str(NUM_ENVS))


@check("autoreset-keyword", "autoreset-metadata")
def autoreset_modes(ctx: Context, _: AutoresetMode) -> Problems:
    """Look at the attempts to make an instance in each mode."""
    expected = "an environment in that mode"
    if not ctx.accepts_autoreset_mode:
        expected += "; only the default mode is checked now"
    for mode, attempt in ctx.attempts.items():
        declared, is_right = attempt.mode, attempt.mode is mode
        if mode is None:
            is_right = isinstance(declared, AutoresetMode)
        elif not attempt.is_batch:
            # One is enough: the others mostly have the same error.
            place = "autoreset_mode"
            yield Problem(attempt.call, attempt.outcome, expected, place)
        if attempt.is_batch and not is_right:
            at = f"{attempt.call}.metadata['autoreset_mode']"
            why = (
                f"{mode or 'a member of AutoresetMode'}: gymnasium's wrappers raise "
                "for others, or count episodes wrongly"
            )
            yield Problem(at, show(declared), why, code="autoreset-metadata")


@check("autoreset-string")
def autoreset_string(ctx: Context, _: AutoresetMode) -> Problems:
    """Make an id by the text of each mode."""
    if not (ctx.is_id and ctx.accepts_autoreset_mode):
        return
    for mode in ctx.modes:
        try:
            with ctx.open(mode, autoreset_mode=mode.value) as run:
                declared = run.env.metadata.get("autoreset_mode")
        except CallFailed as failure:
            yield Problem(failure.did, failure.text)
        else:
            if declared is not mode:
                at = f"{run.origin}.metadata['autoreset_mode']"
                yield Problem(at, show(declared), str(mode))


@check("batched-spaces", "attributes", "metadata-shared", "spec-settable", modes="each")
def attributes(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look at the attributes of two instances; set the spec of the first one."""
    with ctx.open(mode) as run, ctx.open(mode) as other:
        env, inner = run.env, run.env.unwrapped
        for kind in ("observation_space", "action_space"):
            batched: Any = getattr(env, kind)
            expected = batch_space(getattr(env, f"single_{kind}"), NUM_ENVS)
            if batched != expected:
                yield Problem(f"{run.origin}.{kind}", show(batched), show(expected))
        is_text = isinstance(env.render_mode, (str, type(None)))
        is_inner = isinstance(inner, VectorEnv) and inner.unwrapped is inner
        for name, is_right, rule in (
            ("render_mode", is_text, "None or a string"),
            ("closed", env.closed is False, "False"),
            ("unwrapped", is_inner, "a VectorEnv, whose own unwrapped is itself"),
        ):
            if not is_right:
                at, value = f"{run.origin}.{name}", show(getattr(env, name))
                yield Problem(at, value, rule, code="attributes")
        if env.metadata is other.env.metadata:
            did, actual = f"two instances of {run.origin}", "one dict: metadata"
            yield Problem(did, actual, code="metadata-shared")
        spec = EnvSpec("OnlyForThisCheck-v0", entry_point="nowhere:Nothing")
        try:
            inner.spec = spec
            outcome, is_right = show(inner.spec), env.unwrapped.spec is spec
        except Exception as error:
            outcome, is_right = describe_error(error), False
        if not is_right:
            did = f"{run.origin}.unwrapped.spec = spec"
            yield Problem(did, outcome, "that spec", code="spec-settable")


@check("spec-rebuild")
def spec_rebuild(ctx: Context, mode: AutoresetMode) -> Problems:
    """Make an id again of the spec of its instance, and reset both."""
    if not ctx.is_id:
        return
    with ctx.open(mode) as run:
        did = f"make_vec({run.origin}.unwrapped.spec)"
        try:
            again = gymnasium.make_vec(run.env.unwrapped.spec)
        except Exception as error:
            yield Problem(did, describe_error(error), "an environment")
            return
        try:
            first, second = (
                {
                    "class": type(env),
                    "num_envs": env.num_envs,
                    "autoreset_mode": env.metadata.get("autoreset_mode"),
                    "reset()": env.reset(seed=ctx.seed),
                }
                for env in (run.env, again)
            )
        finally:
            again.close()
        yield from differ(first, second, did, "the first one")
