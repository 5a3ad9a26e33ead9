"""Checks of resets: of seeds and the streams they begin, and of `reset_mask`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import Problems, check, differ, repeat, unequal
from roll_vec.testing.comparison import data_keys, difference, mask_of, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, error_of
from roll_vec.testing.recorder import Call
from roll_vec.testing.report import Problem

_SHORT = 60


@check("deterministic", modes="each")
def deterministic(ctx: Context, mode: AutoresetMode) -> Problems:
    """Make the calls of the long run again."""
    with ctx.open(mode) as run:
        yield from repeat(run, ctx.long_run(mode), "the first time")


@check("reseed", modes="each")
def reseed(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset a used instance with the seed of the long run, and repeat it."""
    with ctx.open(mode) as run:
        run.reset(seed=ctx.seed + 1000)
        # Right after an end, if there is one: then the most state is left over.
        for _ in range(ctx.steps):
            if run.step().dones.any():
                break
        yield from repeat(run, ctx.long_run(mode)[:_SHORT], "a new instance")


@check("unseeded-first")
def unseeded_first(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset a new instance without a seed."""
    with ctx.open(mode) as run:
        space, call = run.env.observation_space, run.reset()
        if not space.contains(call.observations):
            expected = f"an element of {show(space)}"
            yield Problem(call.did, show(call.observations), expected)


@check("seed-list", modes="each")
def seed_list(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset with a list in the place of the int of the long run."""
    seeds = [ctx.seed + env for env in range(NUM_ENVS)]
    first, *others = ctx.long_run(mode)[:_SHORT]
    with ctx.open(mode) as run:
        calls = [replace(first, arguments={"seed": seeds}), *others]
        yield from repeat(run, calls, f"reset(seed={ctx.seed})")
    if not run.calls:
        ctx.unsupported.add("seed-list")


@check("seed-batch", modes="each")
def seed_batch(ctx: Context, mode: AutoresetMode) -> Problems:
    """Play each environment of the long run in smaller batches."""
    whole = ctx.episodes(ctx.long_run(mode))
    for sequences in ([0], [1], [2], [1, 2]):
        run = ctx.run(mode, ctx.steps, sequences)
        for place, part in enumerate(ctx.episodes(run.calls)):
            env = sequences[place]
            did = (
                f"environment {env} of {NUM_ENVS} after reset(seed={ctx.seed}), "
                f"against environment {place} of {len(sequences)} after "
                f"reset(seed={ctx.seed + sequences[0]}), with the same actions"
            )
            yield from unequal(whole[env], part, did, f"of {NUM_ENVS}")


@check("seed-none")
def seed_none(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset with seeds of which one is None."""
    ctx.require("seed-list")
    new: list[int | None] = [ctx.seed + 50 + env for env in range(NUM_ENVS)]
    mixed = [new[0], None, new[2]]
    after = {}
    for name, arguments in (
        ("all", {"seed": new}),
        ("mixed", {"seed": mixed}),
        ("none", {}),
    ):
        with ctx.open(mode) as run:
            run.reset(seed=ctx.seed)
            since = len(run.run(min(5, ctx.steps)).calls)
            run.reset(**arguments)
            run.run(min(20, ctx.steps))
            after[name] = ctx.episodes(run.calls[since:])
    for env, seed in enumerate(mixed):
        other, call = ("all", f"reset(seed={new})") if seed else ("none", "reset()")
        did = (
            f"environment {env} after reset(seed={ctx.seed}), 5 steps and "
            f"reset(seed={mixed})"
        )
        left_is = f"after {call}"
        yield from unequal(after[other][env], after["mixed"][env], did, left_is)


@check("seed-length", "seed-negative")
def bad_seeds(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset with seeds that must be refused."""
    for length in (NUM_ENVS - 1, NUM_ENVS + 1):
        yield from _accepted(ctx, mode, seed=list(range(length)))
    # Low enough that seed + i is negative for the last environment too.
    yield from _accepted(ctx, mode, "seed-negative", seed=-NUM_ENVS - 1)


def _accepted(
    ctx: Context, mode: AutoresetMode, code: str = "", **arguments: Any
) -> Problems:
    """Yield a problem if a reset with these arguments raises no error."""
    with ctx.open(mode) as run:
        if "seed" not in arguments:
            run.reset(seed=ctx.seed)
        texts = (f"{name}={show(value)}" for name, value in arguments.items())
        did = run.describe(f"reset({', '.join(texts)})")
        if error_of(run.env.reset, **arguments) is None:
            yield Problem(did, "no error", code=code)


@check("unseeded-reset", modes="each")
def unseeded_reset(ctx: Context, mode: AutoresetMode) -> Problems:
    """Seed two instances, and reset both without a seed again and again."""
    with ctx.open(mode) as first, ctx.open(mode) as second:
        first.reset(seed=ctx.seed)
        for _ in range(4):
            first.run(min(5, ctx.steps)).reset()
        yield from repeat(second, first.calls, "another instance")


@check("stream-restarts")
def stream_restarts(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset without a seed until another episode begins."""
    with ctx.open(mode) as run:

        def reset(**keywords: Any) -> list[Any]:
            call = run.reset(**keywords)
            return [ctx.observation(call, env) for env in range(NUM_ENVS)]

        others, first = reset(seed=ctx.seed + NUM_ENVS), reset(seed=ctx.seed)
        distinct: list[Any] = []
        for one in [*others, *first]:
            if all(difference(one, other) for other in distinct):
                distinct.append(one)
        # Otherwise most seeds begin with the same observation anyway.
        if len(distinct) >= 4 and all(
            difference(first, reset()) is None for _ in range(4)
        ):
            actual = "four times the observations of the seeded reset"
            yield Problem(run.describe(), actual)


@check("np-random-seed")
def np_random_seed(ctx: Context, mode: AutoresetMode) -> Problems:
    """Ask for the seed after a reset."""
    with ctx.open(mode) as run:
        run.reset(seed=ctx.seed)
        try:
            seeds = run.env.unwrapped.np_random_seed
        except Exception:
            return  # it may be missing
        each = [ctx.seed + env for env in range(NUM_ENVS)]
        value: Any = list(seeds) if isinstance(seeds, (tuple, list)) else seeds
        if value not in (each, ctx.seed):
            expected = f"{tuple(each)}, or {ctx.seed} for the batch"
            yield Problem(run.describe("np_random_seed"), show(seeds), expected)


# --------------------------------------------------------------------- partial resets

# The environment in the middle, `_OTHER`, is not reset.
_MASK = np.array([True, False, True])
_OTHER = 1
_RESET = [0, 2]


def _reset_later(
    ctx: Context, mode: AutoresetMode, moment: int = 3, **arguments: Any
) -> Call:
    """Reset with these arguments after some steps, and take some more."""
    with ctx.open(mode) as run:
        run.reset(seed=ctx.seed)
        run.run(min(moment, ctx.steps))
        call = run.reset(**arguments)
        run.run(min(20, ctx.steps))
        return call


def _reset_some(ctx: Context, mode: AutoresetMode, **arguments: Any) -> Call:
    """Do the same with a mask."""
    options = {"reset_mask": _MASK.copy()}
    return _reset_later(ctx, mode, **arguments, options=options)


@check("reset-mask", modes="each")
def reset_mask(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset the others at two moments of the long run."""
    reference = ctx.long_run(mode)
    steps = [call for call in reference if call.is_step]
    ends = [k + 1 for k, call in enumerate(steps) if call.dones[_OTHER]]
    # In DISABLED mode an environment that ended must be reset as well.
    later = [] if mode is AutoresetMode.DISABLED else ends[:1]
    for moment in (3, *later):
        try:
            call = _reset_some(ctx, mode, moment=moment)
        except CallFailed as failure:
            ctx.unsupported.add("reset-mask")
            expected = "a reset of those that the mask names"
            yield Problem(failure.did, failure.text, expected)
            return
        calls, place = call.recorder.calls, f"observation of environment {_OTHER}"
        before = calls[calls.index(call) - 1]
        old, new = (ctx.observation(each, _OTHER) for each in (before, call))
        changes = [*differ(old, new, call.did, "before the reset", place=place)]
        if changes:
            ctx.unsupported.add("reset-mask")
        yield from changes
        did = f"{call.did}; then more steps; environment {_OTHER}"
        left, right = ctx.episodes(reference)[_OTHER], ctx.episodes(calls)[_OTHER]
        yield from unequal(left, right, did, "without the reset")


@check("reset-mask-masked", modes="each")
def reset_mask_masked(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset some environments, and compare them with a reset of all."""
    ctx.require("reset-mask")
    some = _reset_some(ctx, mode)
    pair = [
        ctx.episodes(call.recorder.calls) for call in (_reset_later(ctx, mode), some)
    ]
    for env in _RESET:
        left, right = (episodes[env] for episodes in pair)
        did = f"{some.did}; environment {env}"
        yield from unequal(left, right, did, "after reset() of all")


@check("reset-mask-seeds")
def reset_mask_seeds(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset some environments with seeds, and compare them with a reset of all."""
    ctx.require("reset-mask")
    ctx.require("seed-list")
    seeds = [ctx.seed + 70 + env for env in range(NUM_ENVS)]
    with ctx.open(mode) as run:
        pair = run.reset(seed=seeds), _reset_some(ctx, mode, seed=seeds)
    for env in _RESET:
        left, right = (ctx.observation(call, env) for call in pair)
        place = f"observation of environment {env}"
        yield from differ(left, right, pair[1].did, "a reset of all", place=place)


@check("reset-mask-infos", modes="each")
def reset_mask_infos(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look at the infos of a reset of some environments."""
    ctx.require("reset-mask")
    call = _reset_some(ctx, mode)
    for key in data_keys(call.infos):
        mask = mask_of(call.infos, key, NUM_ENVS)
        # Without a mask another check reports it.
        if f"_{key}" in call.infos and (mask & ~_MASK).any():
            yield Problem(call.did, show(mask), show(_MASK), f"infos['_{key}']")


@check("reset-mask-refused")
def reset_mask_refused(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset with masks that must be refused."""
    ctx.require("reset-mask")
    wrong_shape = np.ones(NUM_ENVS + 1, dtype=np.bool_)
    for mask in (_MASK.tolist(), wrong_shape, _MASK.astype(np.int8), _MASK & False):
        yield from _accepted(ctx, mode, options={"reset_mask": mask})


@check("options-mutated", modes="each")
def options_mutated(ctx: Context, mode: AutoresetMode) -> Problems:
    """Compare the options with those before a reset."""
    masks = [] if "reset-mask" in ctx.unsupported else [{"reset_mask": _MASK}]
    for options in (*masks, {}):
        call = _reset_later(ctx, mode, options=dict(options))
        expected = (
            "the same dict: wrappers such as RecordEpisodeStatistics read reset_mask "
            "from it afterwards"
        )
        passed = call.passed["options"]
        yield from differ(options, passed, call.did, "before", expected=expected)
