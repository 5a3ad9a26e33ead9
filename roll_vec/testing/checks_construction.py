"""Checks of what an instance is before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from roll_vec.testing.comparison import difference, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.findings import (
    CallFailed,
    DoesNotApply,
    Problem,
    check,
    describe_error,
)

Problems = Iterator[Problem]

_SPACES = (
    "single_observation_space",
    "single_action_space",
    "observation_space",
    "action_space",
)


@check("construct", "it can be made", vital=True)
def construct(ctx: Context, mode: AutoresetMode) -> Problems:
    if not ctx.modes:
        attempts = [ctx.default, *ctx.attempts.values()]
        for attempt in attempts:
            if attempt is not None and attempt.env_type is not None:
                break
        assert attempt is not None  # noqa: S101
        if attempt.error is not None:
            found = describe_error(attempt.error)
        else:
            found = f"a {attempt.env_type.__name__}" if attempt.env_type else "nothing"
        yield Problem(attempt.written, found, "a gymnasium.vector.VectorEnv")
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


@check(
    "spaces", "num_envs and the four spaces are there, and of the right type", vital=True
)
def spaces_exist(ctx: Context, mode: AutoresetMode) -> Problems:
    with ctx.open(mode) as probe:
        for name in _SPACES:
            value = getattr(probe.env, name, None)
            if not isinstance(value, spaces.Space):
                yield Problem(
                    f"{probe.made}.{name}", show(value), "a gymnasium.spaces.Space"
                )
        count = getattr(probe.env, "num_envs", None)
        if count != NUM_ENVS:
            yield Problem(f"{probe.made}.num_envs", show(count), str(NUM_ENVS))


@check("batched-spaces", "the batched spaces are those of batch_space", modes="each")
def batched_spaces(ctx: Context, mode: AutoresetMode) -> Problems:
    with ctx.open(mode) as probe:
        for kind in ("observation_space", "action_space"):
            batched: spaces.Space[Any] = getattr(probe.env, kind)
            expected = batch_space(getattr(probe.env, f"single_{kind}"), NUM_ENVS)
            if batched != expected:
                yield Problem(
                    f"{probe.made}.{kind}",
                    show(batched),
                    f"{show(expected)}, as gymnasium.vector.utils.batch_space makes "
                    f"of single_{kind}",
                )


@check("autoreset-keyword", "autoreset_mode is taken, in all three modes")
def autoreset_keyword(ctx: Context, mode: AutoresetMode) -> Problems:
    refused = [attempt for attempt in ctx.attempts.values() if attempt.error is not None]
    for attempt in refused[:1]:
        also = len(refused) - 1
        yield Problem(
            attempt.written,
            describe_error(attempt.error or ValueError())
            + (f"; {also} other modes are refused as well" if also else ""),
            "an environment in that mode"
            + ("" if ctx.takes_keyword else "; only the default mode is checked now"),
        )


@check("autoreset-string", "the modes can also be given by their value, as a string")
def autoreset_string(ctx: Context, mode: AutoresetMode) -> Problems:
    if not ctx.maker.is_id:
        raise DoesNotApply("only asked of ids")
    if not ctx.takes_keyword:
        raise DoesNotApply("autoreset_mode is refused")
    for wanted in ctx.modes:
        try:
            with ctx.open(None, autoreset_mode=wanted.value) as probe:
                found = probe.env.metadata.get("autoreset_mode")
        except CallFailed as failure:
            did, text = failure.did, describe_error(failure.error)
        else:
            if found is wanted:
                continue
            did, text = f"{probe.made}.metadata['autoreset_mode']", show(found)
        yield Problem(did, text, f"an environment in mode {wanted}")


@check("autoreset-metadata", "metadata['autoreset_mode'] is the mode, as the enum")
def autoreset_metadata(ctx: Context, mode: AutoresetMode) -> Problems:
    if not ctx.takes_keyword and ctx.default is not None:
        if not isinstance(ctx.default.declared, AutoresetMode):
            yield Problem(
                f"{ctx.default.written}.metadata['autoreset_mode']",
                show(ctx.default.declared),
                "a member of gymnasium.vector.AutoresetMode",
            )
        # A mode that is taken and then not used is a finding whichever way it is told.
    for wanted, attempt in ctx.attempts.items():
        if attempt.made and attempt.declared is not wanted:
            yield Problem(
                f"{attempt.written}.metadata['autoreset_mode']",
                show(attempt.declared),
                f"{wanted}; gymnasium's wrappers raise when it is no enum member, and "
                "count episodes wrongly when it is another",
            )


@check("metadata-shared", "the metadata belong to the instance")
def metadata_shared(ctx: Context, mode: AutoresetMode) -> Problems:
    with ctx.open(mode) as one, ctx.open(mode) as other:
        if one.env.metadata is other.env.metadata:
            yield Problem(
                f"the metadata of two instances of {one.made}",
                "one and the same dict",
                "a dict for each: the autoreset mode in it is that of the instance",
            )


@check("attributes", "render_mode, closed and unwrapped are as in VectorEnv")
def attributes(ctx: Context, mode: AutoresetMode) -> Problems:
    with ctx.open(mode) as probe:
        env = probe.env
        render_mode = getattr(env, "render_mode", "(missing)")
        if render_mode is not None and (
            not isinstance(render_mode, str) or render_mode == "(missing)"
        ):
            yield Problem(
                f"{probe.made}.render_mode", show(render_mode), "None or a string"
            )
        if env.closed is not False:
            yield Problem(f"{probe.made}.closed", show(env.closed), "False")
        inner = env.unwrapped
        if not isinstance(inner, VectorEnv) or inner.unwrapped is not inner:
            yield Problem(
                f"{probe.made}.unwrapped",
                show(inner),
                "the innermost VectorEnv, whose own unwrapped is itself",
            )


@check("spec-settable", "spec can be set, as make_vec does")
def spec_settable(ctx: Context, mode: AutoresetMode) -> Problems:
    spec = EnvSpec("SpecSettable-v0", entry_point="nowhere:Nothing")
    with ctx.open(mode) as probe:
        try:
            probe.env.unwrapped.spec = spec
            found = show(probe.env.unwrapped.spec)
            if probe.env.unwrapped.spec is spec:
                return
        except Exception as error:
            found = describe_error(error)
        yield Problem(f"{probe.made}.unwrapped.spec = spec", found, "that spec")


@check("spec-rebuild", "make_vec(env.spec) makes the same environment again")
def spec_rebuild(ctx: Context, mode: AutoresetMode) -> Problems:
    if not ctx.maker.is_id:
        raise DoesNotApply("only asked of ids")
    with ctx.open(mode) as probe:
        did = f"make_vec({probe.made}.spec)"
        try:
            again: Any = gymnasium.make_vec(probe.env.unwrapped.spec)
        except Exception as error:
            yield Problem(did, describe_error(error), "an environment")
            return
        try:
            found = difference(
                [type(probe.env), NUM_ENVS, probe.env.metadata["autoreset_mode"]],
                [type(again), again.num_envs, again.metadata["autoreset_mode"]],
            ) or difference(
                probe.env.reset(seed=ctx.seed), again.reset(seed=ctx.seed)
            )
        finally:
            again.close()
        if found is not None:
            yield Problem(did, found, "the same class, num_envs, mode and first episode")
