"""Checks of seeds, of the streams of episodes that they begin, and of determinism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import Problems, check
from roll_vec.testing.comparison import difference, observation_of, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error, skip
from roll_vec.testing.recorder import Call, Recorder, first_difference
from roll_vec.testing.report import Problem

_SHORT = 60


def _differences(left: Sequence[Call], right: Sequence[Call]) -> Iterator[str]:
    """Yield the first difference between two runs, if there is one."""
    diff = first_difference(left, right)
    if diff is not None:
        yield f"after {diff[0].did}: {diff[1]}"


@check("deterministic", modes="each")
def deterministic(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the same seed and actions give the same results."""
    reference = ctx.long_run(mode)
    recorder = ctx.run(mode, ctx.steps)
    for diff in _differences(reference.calls, recorder.calls):
        yield Problem(
            f"the same calls on two instances of {recorder.probe.origin}",
            diff,
            "equal observations, rewards, flags and infos",
        )


@check("reseed", modes="each")
def reseed(ctx: Context, mode: AutoresetMode) -> Problems:
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
        recorder.run(min(_SHORT, ctx.steps))
    for diff in _differences(reference, recorder.calls):
        yield Problem(
            f"a used instance of {recorder.probe.origin} was reset with the seed of "
            "a new one, and both took the same steps",
            diff + " (left: the new one)",
            "the same results: nothing of earlier episodes remains",
        )


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
            yield Problem(
                failure.did,
                describe_error(failure.error),
                "a seed for each environment",
            )
            return
        recorder.run(min(_SHORT, ctx.steps))
    for diff in _differences(reference, recorder.calls):
        yield Problem(
            f"{recorder.probe.origin}: reset(seed={ctx.seed}) against "
            f"reset(seed={seeds}), and the same steps",
            diff,
            "the same results",
        )


@check("seed-batch", modes="each")
def seed_batch(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that an environment does not depend on the size of its batch."""
    whole = ctx.trajectories(ctx.long_run(mode))
    for sequences in ([0], [1], [2], [1, 2]):
        recorder = ctx.run(mode, ctx.steps, sequences)
        for env, part in zip(sequences, ctx.trajectories(recorder), strict=True):
            diff = ctx.trajectory_difference(whole[env], part)
            if diff is not None:
                position, text = diff
                yield Problem(
                    f"environment {env} of {NUM_ENVS} after reset(seed={ctx.seed}), "
                    f"against environment {env - sequences[0]} of {len(sequences)} "
                    f"after reset(seed={ctx.seed + sequences[0]}), with the same "
                    "actions",
                    f"they part at transition {position} ({part[position].did}): "
                    f"{text}",
                    f"equal: environment i of a batch has seed {ctx.seed} + i and a "
                    "stream of its own, from which autoresets go on",
                )
                return


@check("seed-none")
def seed_none(ctx: Context, mode: AutoresetMode) -> Problems:
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
    for env, other in ((0, "seeded"), (1, "unseeded"), (2, "seeded")):
        diff = ctx.trajectory_difference(runs[other][env], runs["mixed"][env])
        if diff is not None:
            yield Problem(
                f"environment {env} after reset(seed={ctx.seed}), 5 steps and "
                f"reset(seed={mixed})",
                f"{diff[1]} (left: after "
                + ("reset())" if other == "unseeded" else f"reset(seed={new}))"),
                "the episode that an unseeded reset would have begun"
                if other == "unseeded"
                else f"the episode of seed {mixed[env]}",
            )


@check("seed-length")
def seed_length(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a list of seeds of the wrong length is refused."""
    for length in (NUM_ENVS - 1, NUM_ENVS + 1):
        yield from _must_refuse(
            ctx,
            mode,
            list(range(length)),
            f"an error: there are {NUM_ENVS} environments",
        )


@check("seed-negative")
def seed_negative(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a negative seed is refused."""
    # Low enough that seed + i is negative for the last environment too.
    yield from _must_refuse(ctx, mode, -NUM_ENVS - 1, "gymnasium.error.Error")


def _must_refuse(ctx: Context, mode: AutoresetMode, seed: Any, rule: str) -> Problems:
    with ctx.open(mode) as probe:
        try:
            probe.env.reset(seed=seed)
        except Exception:
            return
        yield Problem(probe.describe(f"reset(seed={seed})"), "no error", rule)


@check("unseeded-reset", modes="each")
def unseeded_reset(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that resets without a seed go on from the last seed."""
    runs: list[list[Call]] = []
    for _ in range(2):
        with ctx.recorder(mode) as recorder:
            recorder.reset(seed=ctx.seed)
            for _ in range(4):
                recorder.run(min(5, ctx.steps))
                recorder.reset()
            runs.append(recorder.calls)
    for diff in _differences(*runs):
        yield Problem(
            f"two instances of {recorder.probe.origin}: reset(seed={ctx.seed}), then "
            "four times 5 steps and reset()",
            diff,
            "the same: a reset without a seed draws from the stream that the last "
            "seed began",
        )


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
