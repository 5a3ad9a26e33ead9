"""Checks of `options["reset_mask"]`, which resets some environments only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from roll_vec.testing.comparison import data_keys, difference, mask_of, row, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.findings import CallFailed, Problem, check, describe_error
from roll_vec.testing.histories import Transition, history_difference

Problems = Iterator[Problem]

# The one in the middle keeps going.
_MASK = np.array([True, False, True])
_KEPT = 1
_LATER_STEPS = 20


def _moments(ctx: Context, mode: AutoresetMode) -> list[int]:
    """Return after how many steps to reset: early, and when the kept one has ended."""
    if mode is AutoresetMode.DISABLED:
        # There the one that ended would have to be among those reset.
        return [min(3, ctx.steps)]
    steps = [call for call in ctx.played(mode).calls if call.is_step]
    ends = [k + 1 for k, call in enumerate(steps) if call.done[_KEPT]]
    return [min(3, ctx.steps), *ends[:1]]


@check("reset-mask", modes="each")
def reset_mask(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that reset_mask leaves the other environments alone."""
    whole = ctx.histories(ctx.played(mode))[_KEPT]
    space = ctx.observation_space
    for moment in _moments(ctx, mode):
        with ctx.player(mode) as player:
            player.reset(seed=ctx.seed)
            player.run(moment)
            before = player.calls[-1]
            try:
                call = player.reset(options={"reset_mask": _MASK.copy()})
            except CallFailed as failure:
                ctx.lacks.add("reset-mask")
                yield Problem(
                    failure.did,
                    describe_error(failure.error),
                    "a reset of those that the mask names, in every autoreset mode",
                )
                return
            player.run(min(_LATER_STEPS, ctx.steps))
        changed = difference(
            row(space, before.observations, _KEPT),
            row(space, call.observations, _KEPT),
        )
        if changed is not None:
            ctx.lacks.add("reset-mask")
            yield Problem(
                call.told,
                f"observation of environment {_KEPT}: {changed} (left: before the "
                "reset)",
                "its last observation: the mask leaves it out",
            )
            return
        found = history_difference(whole, ctx.histories(player)[_KEPT], ctx.tainted)
        if found is not None:
            yield Problem(
                f"{call.told}; then more steps",
                f"environment {_KEPT} goes on otherwise: {found[1]} (left: without the "
                "reset)",
                "as if nothing had happened to it",
            )
            return


@check("reset-mask-masked", modes="each")
def reset_mask_masked(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that reset_mask resets the environments it names."""
    ctx.needs("reset-mask")
    told: dict[str, str] = {}
    ways: dict[str, list[list[Transition]]] = {}
    for way, options in (("masked", {"reset_mask": _MASK.copy()}), ("all", None)):
        with ctx.player(mode) as player:
            player.reset(seed=ctx.seed)
            player.run(min(3, ctx.steps))
            told[way] = player.reset(options=options).told
            player.run(min(_LATER_STEPS, ctx.steps))
        ways[way] = ctx.histories(player)
    for env in np.flatnonzero(_MASK):
        found = history_difference(ways["all"][env], ways["masked"][env], ctx.tainted)
        if found is not None:
            yield Problem(
                told["masked"],
                f"environment {env}: {found[1]} (left: after reset() of all)",
                "the episode that reset() begins: its stream goes on",
            )
            return


@check("reset-mask-seeds")
def reset_mask_seeds(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that with reset_mask seeds go to the environments it names."""
    ctx.needs("reset-mask")
    ctx.needs("seed-list")
    seeds = [ctx.seed + 70 + env for env in range(NUM_ENVS)]
    with ctx.player(mode) as player:
        player.reset(seed=ctx.seed)
        player.run(min(3, ctx.steps))
        call = player.reset(seed=seeds, options={"reset_mask": _MASK.copy()})
    with ctx.player(mode) as fresh:
        fresh.reset(seed=seeds)
    for env in np.flatnonzero(_MASK):
        theirs = row(ctx.observation_space, fresh.calls[0].observations, int(env))
        mine = row(ctx.observation_space, call.observations, int(env))
        found = difference(theirs, mine)
        if found is not None:
            yield Problem(
                call.told,
                f"environment {env}: {found} (left: reset(seed={seeds}) of all)",
                f"the first observation of seed {seeds[env]}",
            )
            return


@check("reset-mask-infos", modes="each")
def reset_mask_infos(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that reset_mask gives infos of the environments it names only."""
    ctx.needs("reset-mask")
    with ctx.player(mode) as player:
        player.reset(seed=ctx.seed)
        player.run(min(3, ctx.steps))
        call = player.reset(options={"reset_mask": _MASK.copy()})
    for key in data_keys(call.infos):
        if f"_{key}" not in call.infos:
            continue  # what has no mask is another check's finding
        given = mask_of(call.infos, key, NUM_ENVS)
        if (given & ~_MASK).any():
            yield Problem(
                f"{call.told}; infos['_{key}']",
                show(given),
                f"no environment but those of the mask, {show(_MASK)}",
            )


@check("reset-mask-refused")
def reset_mask_refused(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that a mask that makes no sense is refused."""
    ctx.needs("reset-mask")
    bad: list[tuple[str, Any]] = [
        ("a list", _MASK.tolist()),
        (f"shape ({NUM_ENVS + 1},)", np.ones(NUM_ENVS + 1, dtype=np.bool_)),
        ("dtype int8", _MASK.astype(np.int8)),
        ("no environment to reset", np.zeros(NUM_ENVS, dtype=np.bool_)),
    ]
    for name, mask in bad:
        with ctx.open(mode) as probe:
            probe.reset(seed=ctx.seed)
            told = probe.told(f"reset(options={{'reset_mask': {show(mask)}}})")
            try:
                probe.env.reset(options={"reset_mask": mask})
            except Exception:
                continue
        yield Problem(
            told,
            "no error",
            f"a TypeError or a ValueError ({name}): gymnasium's own environments take "
            f"an array of bool, shape ({NUM_ENVS},), with at least one True",
        )


@check("options-mutated", modes="each")
def options_mutated(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the caller's options are left alone."""
    for given in ({"reset_mask": _MASK.copy()}, {}):
        if given and "reset-mask" in ctx.lacks:
            continue
        options: dict[str, Any] = dict(given)
        with ctx.open(mode) as probe:
            probe.reset(seed=ctx.seed)
            told = probe.told(f"reset(options={show(options)})")
            probe.env.reset(options=options)
        found = difference(given, options, "options")
        if found is not None:
            yield Problem(
                told,
                f"{found} (left: before)",
                "the same dict: wrappers such as RecordEpisodeStatistics read "
                "reset_mask from it afterwards",
            )
