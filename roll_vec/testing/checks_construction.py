"""Checks of an instance before its first reset: spaces, metadata, spec."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from roll_vec.testing.check import Problems, check
from roll_vec.testing.comparison import difference, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error, skip
from roll_vec.testing.report import Problem

_SPACES = (
    "single_observation_space",
    "single_action_space",
    "observation_space",
    "action_space",
)


@check("construct", vital=True)
def construct(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that it can be constructed."""
    if not ctx.modes:
        # A wrong result tells the user more than an error.
        attempts = sorted(
            ctx.all_attempts(), key=lambda attempt: attempt.env_type is None
        )
        for attempt in attempts[:1]:
            yield Problem(attempt.call, attempt.outcome, "a gymnasium.vector.VectorEnv")
        return
    for num_envs in (1, 2):
        try:
            with ctx.open(mode, num_envs):
                pass
        except CallFailed as failure:
            yield Problem(
                failure.did,
                describe_error(failure.error),
                "batches of any size: the other checks compare batches of 1, 2 and "
                f"{NUM_ENVS}",
            )


@check("spaces", vital=True)
def spaces_exist(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the four spaces and num_envs are there, and of the right type."""
    with ctx.open(mode) as probe:
        for name in _SPACES:
            value = getattr(probe.env, name, None)
            if not isinstance(value, spaces.Space):
                yield Problem(
                    f"{probe.origin}.{name}",
                    show(value),
                    "a gymnasium.spaces.Space",
                )
        count = getattr(probe.env, "num_envs", None)
        if count != NUM_ENVS:
            yield Problem(f"{probe.origin}.num_envs", show(count), str(NUM_ENVS))


@check("autoreset-keyword")
def autoreset_keyword(ctx: Context, _: AutoresetMode) -> Problems:
    """Check that the keyword autoreset_mode is taken, in all three modes."""
    failures = [
        attempt for attempt in ctx.attempts.values() if not attempt.is_vector_env
    ]
    for attempt in failures[:1]:
        also = len(failures) - 1
        yield Problem(
            attempt.call,
            attempt.outcome
            + (f"; {also} other mode{'s' * (also > 1)} likewise" if also else ""),
            "an environment in that mode"
            + (
                ""
                if ctx.accepts_autoreset_mode
                else "; only the default mode is checked now"
            ),
        )


@check("autoreset-string")
def autoreset_string(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the modes can also be passed by their value, as a string."""
    if not ctx.maker.is_id:
        skip("only asked of ids")
    if not ctx.accepts_autoreset_mode:
        skip("autoreset_mode is refused")
    for mode in ctx.modes:
        try:
            with ctx.open(None, autoreset_mode=mode.value) as probe:
                declared = probe.env.metadata.get("autoreset_mode")
        except CallFailed as failure:
            did, text = failure.did, describe_error(failure.error)
        else:
            if declared is mode:
                continue
            did, text = f"{probe.origin}.metadata['autoreset_mode']", show(declared)
        yield Problem(did, text, f"an environment in mode {mode}")


@check("autoreset-metadata")
def autoreset_metadata(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the mode is in metadata['autoreset_mode'], as the enum."""
    if ctx.default is not None and not isinstance(
        ctx.default.declared_mode, AutoresetMode
    ):
        yield Problem(
            f"{ctx.default.call}.metadata['autoreset_mode']",
            show(ctx.default.declared_mode),
            "a member of gymnasium.vector.AutoresetMode",
        )
    for mode, attempt in ctx.attempts.items():
        if attempt.is_vector_env and attempt.declared_mode is not mode:
            yield Problem(
                f"{attempt.call}.metadata['autoreset_mode']",
                show(attempt.declared_mode),
                f"{mode}; gymnasium's wrappers raise when it is no enum member, and "
                "count episodes wrongly when it is another",
            )


@check("metadata-shared")
def metadata_shared(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the metadata belong to the instance."""
    with ctx.open(mode) as one, ctx.open(mode) as other:
        if one.env.metadata is other.env.metadata:
            yield Problem(
                f"the metadata of two instances of {one.origin}",
                "one and the same dict",
                "a dict for each: the autoreset mode in it is that of the instance",
            )


@check("batched-spaces", modes="each")
def batched_spaces(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the batched spaces are those of batch_space."""
    with ctx.open(mode) as probe:
        for kind in ("observation_space", "action_space"):
            batched: spaces.Space[Any] = getattr(probe.env, kind)
            rule = batch_space(getattr(probe.env, f"single_{kind}"), NUM_ENVS)
            if batched != rule:
                yield Problem(
                    f"{probe.origin}.{kind}",
                    show(batched),
                    f"{show(rule)}, as gymnasium.vector.utils.batch_space makes "
                    f"of single_{kind}",
                )


@check("attributes")
def attributes(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that render_mode, closed and unwrapped are as in VectorEnv."""
    with ctx.open(mode) as probe:
        env = probe.env
        if not isinstance(env.render_mode, (str, type(None))):
            yield Problem(
                f"{probe.origin}.render_mode",
                show(env.render_mode),
                "None or a string",
            )
        if env.closed is not False:
            yield Problem(f"{probe.origin}.closed", show(env.closed), "False")
        inner = env.unwrapped
        if not isinstance(inner, VectorEnv) or inner.unwrapped is not inner:
            yield Problem(
                f"{probe.origin}.unwrapped",
                show(inner),
                "the innermost VectorEnv, whose own unwrapped is itself",
            )


@check("spec-settable")
def spec_settable(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that spec can be set, as make_vec does."""
    spec = EnvSpec("OnlyForThisCheck-v0", entry_point="nowhere:Nothing")
    with ctx.open(mode) as probe:
        try:
            probe.env.unwrapped.spec = spec
            outcome = show(probe.env.unwrapped.spec)
            if probe.env.unwrapped.spec is spec:
                return
        except Exception as error:
            outcome = describe_error(error)
        yield Problem(f"{probe.origin}.unwrapped.spec = spec", outcome, "that spec")


@check("spec-rebuild")
def spec_rebuild(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that make_vec(env.spec) makes the same environment again."""
    if not ctx.maker.is_id:
        skip("only asked of ids")
    with ctx.open(mode) as probe:
        did = f"make_vec({probe.origin}.unwrapped.spec)"
        spec: Any = probe.env.unwrapped.spec
        try:
            again: Any = gymnasium.make_vec(spec)
        except Exception as error:
            yield Problem(did, describe_error(error), "an environment")
            return
        try:
            diff = difference(
                [type(probe.env), NUM_ENVS, probe.env.metadata.get("autoreset_mode")],
                [type(again), again.num_envs, again.metadata.get("autoreset_mode")],
            ) or difference(probe.env.reset(seed=ctx.seed), again.reset(seed=ctx.seed))
        finally:
            again.close()
        if diff is not None:
            yield Problem(did, diff, "the same class, num_envs, mode and first episode")
