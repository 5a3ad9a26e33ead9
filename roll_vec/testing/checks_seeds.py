"""Checks of seeds, streams and determinism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gymnasium.vector import AutoresetMode

from roll_vec.testing.comparison import difference, row, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.findings import (
    CallFailed,
    Problem,
    check,
    describe_error,
    skip,
)
from roll_vec.testing.histories import history_difference
from roll_vec.testing.player import Call, Player

Problems = Iterator[Problem]

_SHORT = 60


def _calls_differ(left: Sequence[Call], right: Sequence[Call]) -> Iterator[str]:
    """Describe the first difference between two runs, as far as both go."""
    for one, other in zip(left, right, strict=False):
        found = one.differs(other)
        if found is not None:
            yield f"after {other.told}: {found}"
            return


@check("deterministic", modes="each")
def deterministic(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the same seed and actions give the same results."""
    reference = ctx.played(mode)
    with ctx.player(mode) as player:
        player.reset(seed=ctx.seed)
        player.run(ctx.steps)
    for found in _calls_differ(reference.calls, player.calls):
        yield Problem(
            f"the same calls on two instances of {player.probe.made}",
            found,
            "equal observations, rewards, flags and infos",
        )


@check("reseed", modes="each")
def reseed(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a seeded reset gives the same results at any time."""
    reference = ctx.played(mode).calls
    with ctx.player(mode) as used:
        used.reset(seed=ctx.seed + 1000)
        # Right after an end, if there is one: that is when the most is left over.
        for _ in range(ctx.steps):
            if used.step().done.any():
                break
        player = Player(used.probe, mode, ctx.plan, range(NUM_ENVS))
        player.reset(seed=ctx.seed)
        player.run(min(_SHORT, ctx.steps))
    for found in _calls_differ(reference, player.calls):
        yield Problem(
            f"an instance of {player.probe.made} that had been used was reset with the "
            "seed of a new one, and both took the same steps",
            found + " (left: the new one)",
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
                probe.told(), show(observations), f"an element of {show(space)}"
            )


@check("seed-list", modes="each")
def seed_list(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that seed=s is seed=[s, s + 1, ...]."""
    seeds = [ctx.seed + env for env in range(NUM_ENVS)]
    reference = ctx.played(mode).calls
    with ctx.player(mode) as player:
        try:
            player.reset(seed=seeds)
        except CallFailed as failure:
            ctx.lacks.add("seed-list")
            yield Problem(
                failure.did,
                describe_error(failure.error),
                "a seed for each environment",
            )
            return
        player.run(min(_SHORT, ctx.steps))
    for found in _calls_differ(reference, player.calls):
        yield Problem(
            f"{player.probe.made}: reset(seed={ctx.seed}) against reset(seed={seeds}), "
            "and the same steps",
            found,
            "the same results",
        )


@check("seed-batch", modes="each")
def seed_batch(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that an environment does not depend on the size of its batch."""
    whole = ctx.histories(ctx.played(mode))
    for streams in ([0], [1], [2], [1, 2]):
        with ctx.player(mode, streams) as player:
            player.reset(seed=ctx.seed + streams[0])
            player.run(ctx.steps)
        for env, part in zip(streams, ctx.histories(player), strict=True):
            found = history_difference(whole[env], part, ctx.tainted)
            if found is not None:
                position, text = found
                yield Problem(
                    f"environment {env} of {NUM_ENVS} after reset(seed={ctx.seed}), "
                    f"against environment {env - streams[0]} of {len(streams)} after "
                    f"reset(seed={ctx.seed + streams[0]}), with the same actions",
                    f"they part at transition {position} ({part[position].told}): "
                    f"{text}",
                    f"equal: environment i of a batch has seed {ctx.seed} + i and a "
                    "stream of its own, from which autoresets go on",
                )
                return


@check("seed-none")
def seed_none(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that None in a list of seeds lets that environment's stream go on."""
    ctx.needs("seed-list")
    new: list[int | None] = [ctx.seed + 50 + env for env in range(NUM_ENVS)]
    mixed = [new[0], None, new[2]]
    told: dict[str, list[Any]] = {}
    for name, seeds in (("mixed", mixed), ("unseeded", None), ("seeded", new)):
        with ctx.player(mode) as player:
            player.reset(seed=ctx.seed)
            player.run(min(5, ctx.steps))
            player.calls.clear()
            player.reset(**({} if seeds is None else {"seed": seeds}))
            player.run(min(20, ctx.steps))
            told[name] = ctx.histories(player)
    for env, other in ((0, "seeded"), (1, "unseeded"), (2, "seeded")):
        found = history_difference(told[other][env], told["mixed"][env], ctx.tainted)
        if found is not None:
            yield Problem(
                f"environment {env} after reset(seed={ctx.seed}), 5 steps and "
                f"reset(seed={mixed})",
                f"{found[1]} (left: after "
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
    # As far down as to be negative for the last environment too.
    yield from _must_refuse(ctx, mode, -NUM_ENVS - 1, "gymnasium.error.Error")


def _must_refuse(
    ctx: Context, mode: AutoresetMode, seed: Any, expected: str
) -> Problems:
    with ctx.open(mode) as probe:
        try:
            probe.env.reset(seed=seed)
        except Exception:
            return
        yield Problem(probe.told(f"reset(seed={seed})"), "no error", expected)


@check("unseeded-reset", modes="each")
def unseeded_reset(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that resets without a seed go on from the last seed."""
    runs: list[list[Call]] = []
    for _ in range(2):
        with ctx.player(mode) as player:
            player.reset(seed=ctx.seed)
            for _ in range(4):
                player.run(min(5, ctx.steps))
                player.reset()
            runs.append(player.calls)
    for found in _calls_differ(*runs):
        yield Problem(
            f"two instances of {player.probe.made}: reset(seed={ctx.seed}), then four "
            "times 5 steps and reset()",
            found,
            "the same: a reset without a seed draws from the stream that the last "
            "seed began",
        )


@check("stream-restarts")
def stream_restarts(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that resets without a seed do not repeat the first episode."""
    with ctx.open(mode) as probe:
        seeded = [
            row(ctx.observation_space, batched, env)
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
                again = row(ctx.observation_space, batched, env)
                if difference(observation, again) is not None:
                    return
        yield Problem(
            probe.told(),
            "four times the observations of the seeded reset",
            "new episodes: the stream goes on",
        )


@check("np-random-seed")
def np_random_seed(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that np_random_seed tells the seeds of the last reset."""
    with ctx.open(mode) as probe:
        probe.reset(seed=ctx.seed)
        try:
            found = probe.env.unwrapped.np_random_seed
        except Exception as error:
            skip(f"it is not available: {describe_error(error)}")
        each = [ctx.seed + env for env in range(NUM_ENVS)]
        told: Any = list(found) if isinstance(found, (tuple, list)) else found
        if told not in (each, ctx.seed):
            yield Problem(
                probe.told("np_random_seed"),
                show(found),
                f"{tuple(each)}, or {ctx.seed} for the batch",
            )
