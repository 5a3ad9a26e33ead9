"""Checks of resets: of seeds and the streams they begin, and of `reset_mask`."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import Found, Group, Pair, Pairs
from roll_vec.testing.comparison import (
    data_keys,
    difference,
    mask_of,
    observation_of,
    show,
)
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error, skip
from roll_vec.testing.recorder import Call, Recorder, first_difference

SEEDS = Group("Seeds and streams")
PARTIAL_RESET = Group("Partial reset")

_SHORT = 60


@SEEDS.same_calls(
    "deterministic",
    "the same calls on two instances of {origin}",
    "equal observations, rewards, flags and infos",
)
def deterministic(ctx: Context, mode: AutoresetMode) -> Pair:
    """Check that the same seed and actions give the same results."""
    return ctx.long_run(mode).calls, ctx.run(mode, ctx.steps)


@SEEDS.same_calls(
    "reseed",
    "a used instance of {origin} was reset with the seed of a new one, and both took "
    "the same steps",
    "the same results: nothing of earlier episodes remains",
    " (left: the new one)",
)
def reseed(ctx: Context, mode: AutoresetMode) -> Pair:
    """Check that a seeded reset gives the same results at any time."""
    reference = ctx.long_run(mode).calls
    with ctx.recorder(mode) as first:
        first.reset(seed=ctx.seed + 1000)
        # Right after an end, if there is one: then the most state is left over.
        for _ in range(ctx.steps):
            if first.step().dones.any():
                break
        recorder = Recorder(first.probe, mode, ctx.plan, range(NUM_ENVS))
        recorder.reset(seed=ctx.seed)
        return reference, recorder.run(min(_SHORT, ctx.steps))


@SEEDS.check("unseeded-first")
def unseeded_first(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the first reset works without a seed."""
    with ctx.open(mode) as probe:
        space = probe.env.observation_space
        observations, _ = probe.reset()
        if not space.contains(observations):
            rule = f"an element of {show(space)}"
            yield probe.describe(), show(observations), rule


@SEEDS.check("seed-list", "the same results", modes="each")
def seed_list(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that seed=s is seed=[s, s + 1, ...]."""
    seeds = [ctx.seed + env for env in range(NUM_ENVS)]
    reference = ctx.long_run(mode).calls
    with ctx.recorder(mode) as recorder:
        try:
            recorder.reset(seed=seeds)
        except CallFailed as failure:
            ctx.unsupported.add("seed-list")
            yield failure.did, failure.text, "a seed for each environment"
            return
        recorder.run(min(_SHORT, ctx.steps))
    diff = first_difference(reference, recorder.calls)
    if diff is not None:
        yield (
            f"{recorder.probe.origin}: reset(seed={ctx.seed}) against "
            f"reset(seed={seeds}), and the same steps",
            f"after {diff[0].did}: {diff[1]}",
        )


@SEEDS.same_episodes(
    "seed-batch",
    f"environment {{env}} of {NUM_ENVS} after reset(seed={{seed}}), against "
    "environment {place} of {count} after reset(seed={own}), with the same actions",
    "equal: environment i of a batch has seed {seed} + i and a stream of its own, from "
    "which autoresets go on",
)
def seed_batch(ctx: Context, mode: AutoresetMode) -> Pairs:
    """Check that an environment does not depend on the size of its batch."""
    whole = ctx.trajectories(ctx.long_run(mode))
    for sequences in ([0], [1], [2], [1, 2]):
        own = {"count": len(sequences), "own": ctx.seed + sequences[0]}
        parts = ctx.trajectories(ctx.run(mode, ctx.steps, sequences))
        for place, (env, part) in enumerate(zip(sequences, parts, strict=True)):
            yield whole[env], part, {**own, "env": env, "place": place}


@SEEDS.same_episodes(
    "seed-none",
    "environment {env} after reset(seed={seed}), 5 steps and reset(seed={mixed})",
    "the episode of {of}",
    " (left: after {call})",
    modes="once",
    most=3,
)
def seed_none(ctx: Context, mode: AutoresetMode) -> Pairs:
    """Check that None in a list of seeds lets that environment's stream go on."""
    ctx.require("seed-list")
    new: list[int | None] = [ctx.seed + 50 + env for env in range(NUM_ENVS)]
    mixed = [new[0], None, new[2]]
    runs: dict[str, list[Any]] = {}
    for name, seeds in (("mixed", mixed), ("unseeded", None), ("seeded", new)):
        with ctx.recorder(mode) as recorder:
            recorder.reset(seed=ctx.seed)
            recorder.run(min(5, ctx.steps))
            recorder.calls.clear()
            recorder.reset(**({} if seeds is None else {"seed": seeds}))
            recorder.run(min(20, ctx.steps))
            runs[name] = ctx.trajectories(recorder)
    for env, seed in enumerate(mixed):
        other, call, of = "seeded", f"reset(seed={new})", f"seed {seed}"
        if seed is None:
            other, call, of = "unseeded", "reset()", "the stream, as after reset()"
        words = {"env": env, "mixed": mixed, "call": call, "of": of}
        yield runs[other][env], runs["mixed"][env], words


@SEEDS.check("seed-length", f"an error: there are {NUM_ENVS} environments")
def seed_length(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that a list of seeds of the wrong length is refused."""
    for length in (NUM_ENVS - 1, NUM_ENVS + 1):
        yield from _accepted(ctx, mode, seed=list(range(length)))


@SEEDS.check("seed-negative", "gymnasium.error.Error")
def seed_negative(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that a negative seed is refused."""
    # Low enough that seed + i is negative for the last environment too.
    yield from _accepted(ctx, mode, seed=-NUM_ENVS - 1)


def _accepted(
    ctx: Context, mode: AutoresetMode, after: int | None = None, **arguments: Any
) -> Found:
    """Yield a problem if a reset raises no error, maybe after one with a seed."""
    with ctx.open(mode) as probe:
        if after is not None:
            probe.reset(seed=after)
        call = ", ".join(f"{name}={show(each)}" for name, each in arguments.items())
        did = probe.describe(f"reset({call})")
        try:
            probe.env.reset(**arguments)
        except Exception:
            return
    yield did, "no error"


@SEEDS.same_calls(
    "unseeded-reset",
    "two instances of {origin}: reset(seed={seed}), four times 5 steps and reset()",
    "the same: a reset without a seed draws from the stream that the last seed began",
)
def unseeded_reset(ctx: Context, mode: AutoresetMode) -> Pair:
    """Check that resets without a seed go on from the last seed."""
    recorders = []
    for _ in range(2):
        with ctx.recorder(mode) as recorder:
            recorder.reset(seed=ctx.seed)
            for _ in range(4):
                recorder.run(min(5, ctx.steps))
                recorder.reset()
            recorders.append(recorder)
    return recorders[0].calls, recorders[1]


@SEEDS.check("stream-restarts", "new episodes: the stream goes on")
def stream_restarts(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that resets without a seed do not repeat the first episode."""
    with ctx.open(mode) as probe:

        def reset(**keywords: Any) -> list[Any]:
            batched, _ = probe.reset(**keywords)
            space, envs = ctx.observation_space, range(NUM_ENVS)
            return [observation_of(space, batched, env) for env in envs]

        others, first = reset(seed=ctx.seed + NUM_ENVS), reset(seed=ctx.seed)
        distinct: list[Any] = []
        for one in [*others, *first]:
            if all(difference(one, other) for other in distinct):
                distinct.append(one)
        if len(distinct) < 4:
            skip("most seeds begin with the same observation anyway")
        if all(difference(first, reset()) is None for _ in range(4)):
            yield probe.describe(), "four times the observations of the seeded reset"


@SEEDS.check("np-random-seed")
def np_random_seed(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that np_random_seed is the seed, or the seeds, of the last reset."""
    with ctx.open(mode) as probe:
        probe.reset(seed=ctx.seed)
        try:
            seeds = probe.env.unwrapped.np_random_seed
        except Exception as error:
            skip(f"it is not available: {describe_error(error)}")
        each = [ctx.seed + env for env in range(NUM_ENVS)]
        value: Any = list(seeds) if isinstance(seeds, (tuple, list)) else seeds
        if value not in (each, ctx.seed):
            rule = f"{tuple(each)}, or {ctx.seed} for the batch"
            yield probe.describe("np_random_seed"), show(seeds), rule


# --------------------------------------------------------------------- partial resets

# The environment in the middle, `_OTHER`, is not reset.
_MASK = np.array([True, False, True])
_OTHER = 1
_LATER_STEPS = 20


def _moments(ctx: Context, mode: AutoresetMode) -> list[int]:
    """Return numbers of steps before the reset: few, and up to an end of `_OTHER`."""
    if mode is AutoresetMode.DISABLED:
        # In this mode an environment that ended must be reset as well.
        return [min(3, ctx.steps)]
    steps = [call for call in ctx.long_run(mode).calls if call.is_step]
    ends = [k + 1 for k, call in enumerate(steps) if call.dones[_OTHER]]
    return [min(3, ctx.steps), *ends[:1]]


@PARTIAL_RESET.check("reset-mask", modes="each", most=1)
def reset_mask(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that reset_mask does not change the other environments."""
    whole = ctx.trajectories(ctx.long_run(mode))[_OTHER]
    for moment in _moments(ctx, mode):
        with ctx.recorder(mode) as recorder:
            recorder.reset(seed=ctx.seed)
            recorder.run(moment)
            before = recorder.calls[-1]
            try:
                call = recorder.reset(options={"reset_mask": _MASK.copy()})
            except CallFailed as failure:
                ctx.unsupported.add("reset-mask")
                rule = "a reset of those that the mask names, in every autoreset mode"
                yield failure.did, failure.text, rule
                return
            recorder.run(min(_LATER_STEPS, ctx.steps))
        old, new = (
            observation_of(ctx.observation_space, each.observations, _OTHER)
            for each in (before, call)
        )
        change = difference(old, new)
        if change is not None:
            ctx.unsupported.add("reset-mask")
            found = f"observation of environment {_OTHER}: {change}"
            rule = "its last observation: the mask leaves it out"
            yield call.did, f"{found} (left: before the reset)", rule
        diff = ctx.trajectory_difference(whole, ctx.trajectories(recorder)[_OTHER])
        if diff is not None:
            did = f"{call.did}; then more steps"
            found = f"environment {_OTHER} goes on otherwise: {diff[1]}"
            rule = "as if nothing had happened to it"
            yield did, f"{found} (left: without the reset)", rule


def _reset_later(
    ctx: Context, mode: AutoresetMode, later_steps: int = 0, **arguments: Any
) -> tuple[Recorder, Call]:
    """Take 3 steps, reset with these arguments, and take some more steps."""
    with ctx.recorder(mode) as recorder:
        recorder.reset(seed=ctx.seed)
        recorder.run(min(3, ctx.steps))
        call = recorder.reset(**arguments)
        return recorder.run(min(later_steps, ctx.steps)), call


@PARTIAL_RESET.same_episodes(
    "reset-mask-masked",
    "{masked}; environment {env}",
    "the episode that reset() begins: its stream goes on",
    " (left: after reset() of all)",
)
def reset_mask_masked(ctx: Context, mode: AutoresetMode) -> Pairs:
    """Check that reset_mask resets the environments it names."""
    ctx.require("reset-mask")
    runs = []
    for way in (None, {"reset_mask": _MASK.copy()}):
        recorder, call = _reset_later(ctx, mode, _LATER_STEPS, options=way)
        runs.append(ctx.trajectories(recorder))
    for env in np.flatnonzero(_MASK).tolist():
        yield runs[0][env], runs[1][env], {"masked": call.did, "env": env}


@PARTIAL_RESET.check("reset-mask-seeds", most=1)
def reset_mask_seeds(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that with reset_mask seeds go to the environments it names."""
    ctx.require("reset-mask")
    ctx.require("seed-list")
    seeds = [ctx.seed + 70 + env for env in range(NUM_ENVS)]
    options = {"reset_mask": _MASK.copy()}
    _, call = _reset_later(ctx, mode, seed=seeds, options=options)
    with ctx.recorder(mode) as fresh:
        whole = fresh.reset(seed=seeds)
    for env in np.flatnonzero(_MASK).tolist():
        first, masked = (
            observation_of(ctx.observation_space, each.observations, env)
            for each in (whole, call)
        )
        diff = difference(first, masked)
        if diff is not None:
            found = f"environment {env}: {diff} (left: reset(seed={seeds}) of all)"
            yield call.did, found, f"the first observation of seed {seeds[env]}"


@PARTIAL_RESET.check(
    "reset-mask-infos",
    f"no environment but those of the mask, {show(_MASK)}",
    modes="each",
)
def reset_mask_infos(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that reset_mask gives infos of the environments it names only."""
    ctx.require("reset-mask")
    _, call = _reset_later(ctx, mode, options={"reset_mask": _MASK.copy()})
    for key in data_keys(call.infos):
        mask = mask_of(call.infos, key, NUM_ENVS)
        # Without a mask another check reports it.
        if f"_{key}" in call.infos and (mask & ~_MASK).any():
            yield f"{call.did}; infos['_{key}']", show(mask)


@PARTIAL_RESET.check("reset-mask-refused")
def reset_mask_refused(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that an invalid mask is refused."""
    ctx.require("reset-mask")
    bad: dict[str, Any] = {
        "a list": _MASK.tolist(),
        f"shape ({NUM_ENVS + 1},)": np.ones(NUM_ENVS + 1, dtype=np.bool_),
        "dtype int8": _MASK.astype(np.int8),
        "no environment to reset": np.zeros(NUM_ENVS, dtype=np.bool_),
    }
    for name, mask in bad.items():
        rule = (
            f"a TypeError or a ValueError ({name}): gymnasium's own environments take "
            f"an array of bool, shape ({NUM_ENVS},), with at least one True"
        )
        options = {"reset_mask": mask}
        for did, found in _accepted(ctx, mode, ctx.seed, options=options):
            yield did, found, rule


@PARTIAL_RESET.check(
    "options-mutated",
    "the same dict: wrappers such as RecordEpisodeStatistics read reset_mask from it "
    "afterwards",
    modes="each",
)
def options_mutated(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the caller's options are not changed."""
    for before in ({"reset_mask": _MASK.copy()}, {}):
        if before and "reset-mask" in ctx.unsupported:
            continue
        options: dict[str, Any] = dict(before)
        with ctx.open(mode) as probe:
            probe.reset(seed=ctx.seed)
            did = probe.describe(f"reset(options={show(options)})")
            probe.env.reset(options=options)
        diff = difference(before, options, "options")
        if diff is not None:
            yield did, f"{diff} (left: before)"
