"""Checks of seeds, of the streams of episodes that they begin, and of determinism."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import (
    Pair,
    Pairs,
    Problems,
    check,
    must_refuse,
    same_calls,
    same_episodes,
)
from roll_vec.testing.comparison import difference, observation_of, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error, skip
from roll_vec.testing.recorder import Recorder, first_difference
from roll_vec.testing.report import Problem

_SHORT = 60


@same_calls(
    "deterministic",
    "the same calls on two instances of {origin}",
    "equal observations, rewards, flags and infos",
)
def deterministic(ctx: Context, mode: AutoresetMode) -> Pair:
    """Check that the same seed and actions give the same results."""
    return ctx.long_run(mode).calls, ctx.run(mode, ctx.steps)


@same_calls(
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


@check("unseeded-first")
def unseeded_first(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the first reset works without a seed."""
    with ctx.open(mode) as probe:
        space = probe.env.observation_space
        observations, _ = probe.reset()
        if not space.contains(observations):
            yield Problem(
                probe.describe(), show(observations), f"an element of {show(space)}"
            )


@check("seed-list", modes="each")
def seed_list(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that seed=s is seed=[s, s + 1, ...]."""
    seeds = [ctx.seed + env for env in range(NUM_ENVS)]
    reference = ctx.long_run(mode).calls
    with ctx.recorder(mode) as recorder:
        try:
            recorder.reset(seed=seeds)
        except CallFailed as failure:
            ctx.unsupported.add("seed-list")
            error = describe_error(failure.error)
            yield Problem(failure.did, error, "a seed for each environment")
            return
        recorder.run(min(_SHORT, ctx.steps))
    diff = first_difference(reference, recorder.calls)
    if diff is not None:
        yield Problem(
            f"{recorder.probe.origin}: reset(seed={ctx.seed}) against "
            f"reset(seed={seeds}), and the same steps",
            f"after {diff[0].did}: {diff[1]}",
            "the same results",
        )


@same_episodes(
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


@same_episodes(
    "seed-none",
    "environment {env} after reset(seed={seed}), 5 steps and reset(seed={mixed})",
    "the episode of {of}",
    " (left: after {call})",
    modes="once",
    all_problems=True,
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


@check("seed-length")
def seed_length(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a list of seeds of the wrong length is refused."""
    rule = f"an error: there are {NUM_ENVS} environments"
    for length in (NUM_ENVS - 1, NUM_ENVS + 1):
        yield from must_refuse(ctx, mode, rule, seed=list(range(length)))


@check("seed-negative")
def seed_negative(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a negative seed is refused."""
    # Low enough that seed + i is negative for the last environment too.
    rule = "gymnasium.error.Error"
    yield from must_refuse(ctx, mode, rule, seed=-NUM_ENVS - 1)


@same_calls(
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


@check("stream-restarts")
def stream_restarts(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that resets without a seed do not repeat the first episode."""
    with ctx.open(mode) as probe:
        seeded = [
            observation_of(ctx.observation_space, batched, env)
            for start in (ctx.seed + NUM_ENVS, ctx.seed)
            for batched in [probe.reset(seed=start)[0]]
            for env in range(NUM_ENVS)
        ]
        distinct = [
            one
            for position, one in enumerate(seeded)
            if all(difference(one, other) for other in seeded[:position])
        ]
        if len(distinct) < 4:
            skip("most seeds begin with the same observation anyway")
        first = seeded[NUM_ENVS:]
        for _ in range(4):
            batched, _ = probe.reset()
            for env, observation in enumerate(first):
                again = observation_of(ctx.observation_space, batched, env)
                if difference(observation, again) is not None:
                    return
        yield Problem(
            probe.describe(),
            "four times the observations of the seeded reset",
            "new episodes: the stream goes on",
        )


@check("np-random-seed")
def np_random_seed(ctx: Context, mode: AutoresetMode) -> Problems:
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
            yield Problem(
                probe.describe("np_random_seed"),
                show(seeds),
                f"{tuple(each)}, or {ctx.seed} for the batch",
            )
