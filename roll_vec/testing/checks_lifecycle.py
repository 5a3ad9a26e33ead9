"""Checks of closing, of the methods of batches, and of rendering."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import Problems, check, differ, mismatch, repeat
from roll_vec.testing.comparison import UNKNOWN, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error, error_of
from roll_vec.testing.report import Problem

_UNKNOWN_MODE = "no_such_render_mode"
_CALLS_RENDERED = 10
_ONE_EACH = (UNKNOWN,) * NUM_ENVS


@check("closed-flag", "close-twice")
def closing(ctx: Context, mode: AutoresetMode) -> Problems:
    """Close an instance before and after a reset, and once more."""
    for resets in ([], [{"seed": ctx.seed}]):
        with ctx.open(mode) as run:
            for arguments in resets:
                run.reset(**arguments)
            run.env.close()
            if run.env.closed is not True:
                did, place = run.describe("close()"), "closed"
                yield Problem(did, show(run.env.closed), place=place)
            error = error_of(run.env.close)
            if error is not None:
                did = run.describe("close(); close()")
                yield Problem(did, describe_error(error), code="close-twice")


@check("use-after-close")
def use_after_close(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset and step closed instances."""
    for call in ctx.long_run(mode)[:2]:
        with ctx.open(mode) as run:
            run.reset(seed=ctx.seed)
            did = run.describe("close()", call.text)
            run.env.close()
            try:
                again = run.step() if call.is_step else run.reset(seed=ctx.seed)
            except CallFailed:
                continue
        yield from differ(call.results, again.results, did, "not closed")


@check("vector-methods")
def vector_methods(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look for methods, and get an attribute."""
    with ctx.open(mode) as run:
        inner: Any = run.env.unwrapped
        names = ("call", "get_attr", "set_attr")
        lacking = [name for name in names if not callable(getattr(inner, name, None))]
        if lacking:
            found = f"it has no {', no '.join(lacking)}"
            yield Problem(f"{run.origin}.unwrapped", found, "all three")
            return
        run.reset(seed=ctx.seed)
        did = run.describe("unwrapped.get_attr('render_mode')")
        try:
            value = inner.get_attr("render_mode")
        except Exception as error:
            yield Problem(did, describe_error(error), "a tuple")
            return
        yield from mismatch(did, _ONE_EACH, value, "")


@check("render-mode-unknown")
def render_mode_unknown(ctx: Context, mode: AutoresetMode) -> Problems:
    """Make an instance with an unknown render_mode."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with ctx.open(mode, render_mode=_UNKNOWN_MODE) as run:
                did = run.origin
        except CallFailed:
            return
    # gymnasium.make itself does no more than warn.
    if not any(_UNKNOWN_MODE in str(warning.message) for warning in warned):
        yield Problem(did, "neither an error nor a warning")


@check("render", "render-moves")
def render(ctx: Context, mode: AutoresetMode) -> Problems:
    """Repeat the long run in each render mode, and render after each call."""
    with ctx.open(mode) as run:
        declared = run.env.metadata.get("render_modes") or []
    calls = ctx.long_run(mode)[:_CALLS_RENDERED]
    for render_mode in [name for name in declared if name != "human"]:
        did = f"render_mode={render_mode!r}"
        try:
            with ctx.open(mode, render_mode=render_mode) as run:
                did, actual = run.describe(), run.env.render_mode
                if actual != render_mode:
                    yield Problem(did, show(actual), repr(render_mode), "render_mode")
                run.reset(seed=ctx.seed)
                did = run.describe("render()")
                yield from _wrong_frames(did, run.env.render(), render_mode)
            with ctx.open(mode, render_mode=render_mode) as run:
                yield from repeat(
                    run,
                    calls,
                    "without rendering",
                    ", with render() after each call",
                    lambda call: call.recorder.env.render(),
                    "render-moves",
                )
        except Exception as error:
            cause: BaseException = error
            if isinstance(error, CallFailed):
                did, cause = error.did, error.error
            # A factory need not accept the argument, nor need packages be installed.
            is_refused = not ctx.is_id and "argument 'render_mode'" in str(cause)
            if not (
                is_refused or isinstance(cause, (DependencyNotInstalled, ImportError))
            ):
                yield Problem(did, describe_error(cause), "frames")


def _wrong_frames(did: str, frames: Any, render_mode: str) -> Problems:
    form = ("",) * NUM_ENVS if render_mode == "ansi" else _ONE_EACH
    problems = [*mismatch(did, form, frames, "frames")]
    yield from problems
    if not problems and render_mode == "rgb_array":
        for env, frame in enumerate(frames):
            is_bytes = isinstance(frame, np.ndarray) and frame.dtype == np.uint8
            if not (is_bytes and frame.ndim == 3 and frame.shape[2] == 3):
                expected = "an array of uint8, shape (height, width, 3)"
                yield Problem(did, show(frame), expected, f"frames[{env}]")
