"""Checks of an instance: spaces, metadata, spec; closing, attributes, rendering."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import DependencyNotInstalled
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from roll_vec.testing.check import Found, Group
from roll_vec.testing.comparison import difference, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error, skip
from roll_vec.testing.recorder import Probe, replay

CONSTRUCTION = Group("Construction")
LIFECYCLE = Group("Lifecycle and rendering")

_SPACES = (
    "single_observation_space",
    "single_action_space",
    "observation_space",
    "action_space",
)
_UNKNOWN = "no_such_render_mode"
_CALLS_RENDERED = 10


@CONSTRUCTION.check("construct", vital=True)
def construct(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that it can be constructed."""
    if not ctx.modes:
        # A wrong result tells the user more than an error.
        attempt = min(ctx.all_attempts(), key=lambda attempt: attempt.env_type is None)
        yield attempt.call, attempt.outcome, "a gymnasium.vector.VectorEnv"
        return
    rule = (
        f"batches of any size: the other checks compare batches of 1, 2 and {NUM_ENVS}"
    )
    for num_envs in (1, 2):
        try:
            with ctx.open(mode, num_envs):
                pass
        except CallFailed as failure:
            yield failure.did, failure.text, rule


@CONSTRUCTION.check("spaces", "a gymnasium.spaces.Space", vital=True)
def spaces_exist(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the four spaces and num_envs are there, and of the right type."""
    with ctx.open(mode) as probe:
        for name in _SPACES:
            value = getattr(probe.env, name, None)
            if not isinstance(value, spaces.Space):
                yield f"{probe.origin}.{name}", show(value)
        count = getattr(probe.env, "num_envs", None)
        if count != NUM_ENVS:
            yield f"{probe.origin}.num_envs", show(count), str(NUM_ENVS)


@CONSTRUCTION.check("autoreset-keyword", most=1)
def autoreset_keyword(ctx: Context, _: AutoresetMode) -> Found:
    """Check that the keyword autoreset_mode is taken, in all three modes."""
    failures = [each for each in ctx.attempts.values() if not each.is_vector_env]
    also, rule = len(failures) - 1, "an environment in that mode"
    likewise = f"; {also} other mode{'s' * (also > 1)} likewise" if also else ""
    if not ctx.accepts_autoreset_mode:
        rule += "; only the default mode is checked now"
    for attempt in failures:
        yield attempt.call, attempt.outcome + likewise, rule


@CONSTRUCTION.check("autoreset-string")
def autoreset_string(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the modes can also be passed by their value, as a string."""
    if not ctx.maker.is_id:
        skip("only asked of ids")
    if not ctx.accepts_autoreset_mode:
        skip("autoreset_mode is refused")
    for mode in ctx.modes:
        rule = f"an environment in mode {mode}"
        try:
            with ctx.open(None, autoreset_mode=mode.value) as probe:
                declared = probe.env.metadata.get("autoreset_mode")
        except CallFailed as failure:
            yield failure.did, failure.text, rule
        else:
            if declared is not mode:
                at = f"{probe.origin}.metadata['autoreset_mode']"
                yield at, show(declared), rule


@CONSTRUCTION.check("autoreset-metadata", "a member of gymnasium.vector.AutoresetMode")
def autoreset_metadata(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the mode is in metadata['autoreset_mode'], as the enum."""
    at = ".metadata['autoreset_mode']"
    default = ctx.default
    if default and not isinstance(default.declared_mode, AutoresetMode):
        yield default.call + at, show(default.declared_mode)
    for mode, attempt in ctx.attempts.items():
        if attempt.is_vector_env and attempt.declared_mode is not mode:
            yield (
                attempt.call + at,
                show(attempt.declared_mode),
                f"{mode}; gymnasium's wrappers raise when it is no enum member, and "
                "count episodes wrongly when it is another",
            )


@CONSTRUCTION.check(
    "metadata-shared",
    "a dict for each: the autoreset mode in it is that of the instance",
)
def metadata_shared(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the metadata belong to the instance."""
    with ctx.open(mode) as one, ctx.open(mode) as other:
        if one.env.metadata is other.env.metadata:
            did = f"the metadata of two instances of {one.origin}"
            yield did, "one and the same dict"


@CONSTRUCTION.check("batched-spaces", modes="each")
def batched_spaces(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the batched spaces are those of batch_space."""
    with ctx.open(mode) as probe:
        for kind in ("observation_space", "action_space"):
            batched: spaces.Space[Any] = getattr(probe.env, kind)
            expected = batch_space(getattr(probe.env, f"single_{kind}"), NUM_ENVS)
            if batched != expected:
                yield (
                    f"{probe.origin}.{kind}",
                    show(batched),
                    f"{show(expected)}, as gymnasium.vector.utils.batch_space makes "
                    f"of single_{kind}",
                )


@CONSTRUCTION.check("attributes")
def attributes(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that render_mode, closed and unwrapped are as in VectorEnv."""
    innermost = "the innermost VectorEnv, whose own unwrapped is itself"
    with ctx.open(mode) as probe:
        env = probe.env
        render_mode, closed, inner = env.render_mode, env.closed, env.unwrapped
        is_text = isinstance(render_mode, (str, type(None)))
        is_inner = isinstance(inner, VectorEnv) and inner.unwrapped is inner
        for name, value, is_right, rule in (
            ("render_mode", render_mode, is_text, "None or a string"),
            ("closed", closed, closed is False, "False"),
            ("unwrapped", inner, is_inner, innermost),
        ):
            if not is_right:
                yield f"{probe.origin}.{name}", show(value), rule


@CONSTRUCTION.check("spec-settable", "that spec")
def spec_settable(ctx: Context, mode: AutoresetMode) -> Found:
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
        yield f"{probe.origin}.unwrapped.spec = spec", outcome


@CONSTRUCTION.check("spec-rebuild", "the same class, num_envs, mode and first episode")
def spec_rebuild(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that make_vec(env.spec) makes the same environment again."""
    if not ctx.maker.is_id:
        skip("only asked of ids")
    with ctx.open(mode) as probe:
        did = f"make_vec({probe.origin}.unwrapped.spec)"
        spec: Any = probe.env.unwrapped.spec
        try:
            again: Any = gymnasium.make_vec(spec)
        except Exception as error:
            yield did, describe_error(error), "an environment"
            return
        try:
            first, second = (
                [
                    *(type(env), env.num_envs, env.metadata.get("autoreset_mode")),
                    env.reset(seed=ctx.seed),
                ]
                for env in (probe.env, again)
            )
        finally:
            again.close()
        diff = difference(first, second)
        if diff is not None:
            yield did, diff


# ------------------------------------------------------------- lifecycle and rendering


@LIFECYCLE.check("closed-flag", "True", most=1)
def closed_flag(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that closed is True after close()."""
    for after_reset in (False, True):
        with ctx.open(mode) as probe:
            if after_reset:
                probe.reset(seed=ctx.seed)
            probe.env.close()
            if probe.env.closed is not True:
                yield probe.describe("close(); closed"), show(probe.env.closed)


@LIFECYCLE.check("close-twice", "no error")
def close_twice(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that a second close() does nothing."""
    with ctx.open(mode) as probe:
        probe.reset(seed=ctx.seed)
        probe.env.close()
        try:
            probe.env.close()
        except Exception as error:
            yield probe.describe("close(); close()"), describe_error(error)


@LIFECYCLE.check("use-after-close", "gymnasium.error.ClosedEnvironmentError")
def use_after_close(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that after close() a call raises, or returns the same as before."""
    reference = ctx.long_run(mode).calls
    for name in ("reset", "step"):
        with ctx.open(mode) as probe:
            probe.reset(seed=ctx.seed)
            probe.env.close()
            try:
                if name == "reset":
                    result: Any = probe.env.reset(seed=ctx.seed)
                else:
                    result = probe.env.step(ctx.plan.batch(range(NUM_ENVS)))
            except Exception:
                continue
        diff = difference(tuple(reference[name == "step"].results().values()), result)
        if diff is not None:
            found = f"no error, and another result: {diff} (left: not closed)"
            yield probe.describe(f"close(); {name}(...)"), found


@LIFECYCLE.check("vector-methods", f"a tuple of {NUM_ENVS}")
def vector_methods(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that call, get_attr and set_attr are there, as in SyncVectorEnv."""
    with ctx.open(mode) as probe:
        inner: Any = probe.env.unwrapped
        names = ("call", "get_attr", "set_attr")
        lacking = [name for name in names if not callable(getattr(inner, name, None))]
        if lacking:
            found = f"it has no {', no '.join(lacking)}"
            yield f"{probe.origin}.unwrapped", found, "all three"
            return
        probe.reset(seed=ctx.seed)
        try:
            value = inner.get_attr("render_mode")
            outcome = show(value)
            if isinstance(value, tuple) and len(value) == NUM_ENVS:
                return
        except Exception as error:
            outcome = describe_error(error)
        yield probe.describe("unwrapped.get_attr('render_mode')"), outcome


@LIFECYCLE.check("render-mode-unknown", "an error")
def render_mode_unknown(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that an unknown render_mode is refused, or warned of."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with ctx.open(mode, render_mode=_UNKNOWN) as probe:
                did = probe.origin
        except CallFailed:
            return
    # gymnasium.make itself does no more than warn.
    if not any(_UNKNOWN in str(warning.message) for warning in warned):
        yield did, "neither an error nor a warning"


@LIFECYCLE.check("render")
def render(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that render() returns a tuple with a frame for each environment."""
    for render_mode in _render_modes(ctx, mode):
        try:
            with ctx.open(mode, render_mode=render_mode) as probe:
                actual = probe.env.render_mode
                if actual != render_mode:
                    at = f"{probe.origin}.render_mode"
                    yield at, show(actual), repr(render_mode)
                probe.reset(seed=ctx.seed)
                yield from _rendered(probe, render_mode)
        except CallFailed as failure:
            if not _is_missing(failure.error):
                yield failure.did, failure.text, "an environment to render"


@LIFECYCLE.check("render-moves", "the same results")
def render_moves(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that rendering changes nothing."""
    for render_mode in _render_modes(ctx, mode):
        try:
            with ctx.open(mode, render_mode=render_mode) as probe:
                calls = ctx.long_run(mode).calls[:_CALLS_RENDERED]
                for _, diff in replay(probe, calls):
                    if diff is not None:
                        did = f"{probe.describe()}, with render() after each call"
                        yield did, f"{diff} (left: without rendering)"
                        break
                    probe.env.render()
        except Exception as error:
            # The check [render] reports errors.
            skip(f"rendering raises {describe_error(error)}")


def _render_modes(ctx: Context, mode: AutoresetMode) -> list[str]:
    with ctx.open(mode) as probe:
        declared = probe.env.metadata.get("render_modes") or []
    modes = [name for name in declared if name != "human"]
    if not modes:
        skip("metadata['render_modes'] names none but human")
    try:
        with ctx.open(mode, render_mode=modes[0]):
            pass
    except CallFailed as failure:
        # A factory need not take the argument.
        if not ctx.maker.is_id and isinstance(failure.error, TypeError):
            skip(f"the factory takes no render_mode: {failure.error}")
    return modes


def _rendered(probe: Probe, render_mode: str) -> Found:
    try:
        frames = probe.env.render()
    except Exception as error:
        if not _is_missing(error):
            yield probe.describe("render()"), describe_error(error), "frames"
        return
    if not isinstance(frames, tuple) or len(frames) != NUM_ENVS:
        found = f"a {type(frames).__name__}: {show(frames)}"
        yield probe.describe("render()"), found, f"a tuple of {NUM_ENVS} frames"
        return
    rule, is_frame = _FRAMES.get(render_mode, ("", lambda _: True))
    for env, frame in enumerate(frames):
        if not is_frame(frame):
            yield probe.describe(f"render()[{env}]"), show(frame), rule


def _is_picture(frame: Any) -> bool:
    is_bytes = isinstance(frame, np.ndarray) and frame.dtype == np.uint8
    return is_bytes and frame.ndim == 3 and frame.shape[2] == 3


_FRAMES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "rgb_array": ("an array of uint8, shape (height, width, 3)", _is_picture),
    "ansi": ("a str", lambda frame: isinstance(frame, str)),
}


def _is_missing(error: BaseException) -> bool:
    """Return whether a package that rendering needs is not installed."""
    return isinstance(error, (DependencyNotInstalled, ImportError))
