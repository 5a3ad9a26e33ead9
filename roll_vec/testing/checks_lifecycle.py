"""Checks of closing, of the environments' attributes, and of rendering."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import Problems, check
from roll_vec.testing.comparison import difference, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error, skip
from roll_vec.testing.recorder import Probe, replay
from roll_vec.testing.report import Problem

_UNKNOWN = "no_such_render_mode"
_CALLS_RENDERED = 10


@check("closed-flag")
def closed_flag(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that closed is True after close()."""
    for after_reset in (False, True):
        with ctx.open(mode) as probe:
            if after_reset:
                probe.reset(seed=ctx.seed)
            probe.env.close()
            if probe.env.closed is not True:
                yield Problem(
                    probe.describe("close(); closed"), show(probe.env.closed), "True"
                )
                return


@check("close-twice")
def close_twice(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a second close() does nothing."""
    with ctx.open(mode) as probe:
        probe.reset(seed=ctx.seed)
        probe.env.close()
        try:
            probe.env.close()
        except Exception as error:
            yield Problem(
                probe.describe("close(); close()"), describe_error(error), "no error"
            )


@check("use-after-close")
def use_after_close(ctx: Context, mode: AutoresetMode) -> Problems:
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
            yield Problem(
                probe.describe(f"close(); {name}(...)"),
                f"no error, and another result: {diff} (left: not closed)",
                "gymnasium.error.ClosedEnvironmentError",
            )


@check("vector-methods")
def vector_methods(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that call, get_attr and set_attr are there, as in SyncVectorEnv."""
    with ctx.open(mode) as probe:
        inner: Any = probe.env.unwrapped
        lacking = [
            name
            for name in ("call", "get_attr", "set_attr")
            if not callable(getattr(inner, name, None))
        ]
        if lacking:
            yield Problem(
                f"{probe.origin}.unwrapped",
                f"it has no {', no '.join(lacking)}",
                "all three",
            )
            return
        probe.reset(seed=ctx.seed)
        try:
            value = inner.get_attr("render_mode")
            outcome = show(value)
            good = isinstance(value, tuple) and len(value) == NUM_ENVS
        except Exception as error:
            outcome, good = describe_error(error), False
        if not good:
            yield Problem(
                probe.describe("unwrapped.get_attr('render_mode')"),
                outcome,
                f"a tuple of {NUM_ENVS}",
            )


@check("render-mode-unknown")
def render_mode_unknown(ctx: Context, mode: AutoresetMode) -> Problems:
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
        yield Problem(did, "neither an error nor a warning", "an error")


@check("render")
def render(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that render() returns a tuple with a frame for each environment."""
    for render_mode in _render_modes(ctx, mode):
        try:
            with ctx.open(mode, render_mode=render_mode) as probe:
                if probe.env.render_mode != render_mode:
                    yield Problem(
                        f"{probe.origin}.render_mode",
                        show(probe.env.render_mode),
                        repr(render_mode),
                    )
                probe.reset(seed=ctx.seed)
                yield from _rendered(probe, render_mode)
        except CallFailed as failure:
            if _is_missing(failure.error):
                continue
            yield Problem(
                failure.did, describe_error(failure.error), "an environment to render"
            )


@check("render-moves")
def render_moves(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that rendering changes nothing."""
    for render_mode in _render_modes(ctx, mode):
        try:
            with ctx.open(mode, render_mode=render_mode) as probe:
                for _, diff in replay(
                    probe, ctx.long_run(mode).calls[:_CALLS_RENDERED]
                ):
                    if diff is not None:
                        yield Problem(
                            f"{probe.describe()}, with render() after each call",
                            f"{diff} (left: without rendering)",
                            "the same results",
                        )
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


def _rendered(probe: Probe, render_mode: str) -> Problems:
    try:
        frames = probe.env.render()
    except Exception as error:
        if not _is_missing(error):
            yield Problem(probe.describe("render()"), describe_error(error), "frames")
        return
    if not isinstance(frames, tuple) or len(frames) != NUM_ENVS:
        yield Problem(
            probe.describe("render()"),
            f"a {type(frames).__name__}: {show(frames)}",
            f"a tuple of {NUM_ENVS} frames",
        )
        return
    for env, frame in enumerate(frames):
        if not _is_frame(frame, render_mode):
            yield Problem(
                probe.describe(f"render()[{env}]"), show(frame), _FRAMES[render_mode]
            )


_FRAMES = {
    "rgb_array": "an array of uint8, shape (height, width, 3)",
    "ansi": "a str",
}


def _is_frame(frame: Any, render_mode: str) -> bool:
    if render_mode == "rgb_array":
        return (
            isinstance(frame, np.ndarray)
            and frame.dtype == np.uint8
            and frame.ndim == 3
            and frame.shape[2] == 3
        )
    return isinstance(frame, str) if render_mode == "ansi" else True


def _is_missing(error: BaseException) -> bool:
    """Return whether a package that rendering needs is not installed."""
    return isinstance(error, (DependencyNotInstalled, ImportError))
