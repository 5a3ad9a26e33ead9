"""Checks of `options["reset_mask"]`, which resets some environments only."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from roll_vec.testing.check import (
    Pairs,
    Problems,
    check,
    must_refuse,
    same_episodes,
)
from roll_vec.testing.comparison import (
    data_keys,
    difference,
    mask_of,
    observation_of,
    show,
)
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error
from roll_vec.testing.report import Problem

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


@check("reset-mask", modes="each")
def reset_mask(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that reset_mask does not change the other environments."""
    whole = ctx.trajectories(ctx.long_run(mode))[_OTHER]
    space = ctx.observation_space
    for moment in _moments(ctx, mode):
        with ctx.recorder(mode) as recorder:
            recorder.reset(seed=ctx.seed)
            recorder.run(moment)
            before = recorder.calls[-1]
            try:
                call = recorder.reset(options={"reset_mask": _MASK.copy()})
            except CallFailed as failure:
                ctx.unsupported.add("reset-mask")
                yield Problem(
                    failure.did,
                    describe_error(failure.error),
                    "a reset of those that the mask names, in every autoreset mode",
                )
                return
            recorder.run(min(_LATER_STEPS, ctx.steps))
        change = difference(
            observation_of(space, before.observations, _OTHER),
            observation_of(space, call.observations, _OTHER),
        )
        if change is not None:
            ctx.unsupported.add("reset-mask")
            yield Problem(
                call.did,
                f"observation of environment {_OTHER}: {change} (left: before the "
                "reset)",
                "its last observation: the mask leaves it out",
            )
            return
        diff = ctx.trajectory_difference(whole, ctx.trajectories(recorder)[_OTHER])
        if diff is not None:
            yield Problem(
                f"{call.did}; then more steps",
                f"environment {_OTHER} goes on otherwise: {diff[1]} (left: without the "
                "reset)",
                "as if nothing had happened to it",
            )
            return


@same_episodes(
    "reset-mask-masked",
    "{masked}; environment {env}",
    "the episode that reset() begins: its stream goes on",
    " (left: after reset() of all)",
)
def reset_mask_masked(ctx: Context, mode: AutoresetMode) -> Pairs:
    """Check that reset_mask resets the environments it names."""
    ctx.require("reset-mask")
    for way in (None, {"reset_mask": _MASK.copy()}):
        with ctx.recorder(mode) as recorder:
            recorder.reset(seed=ctx.seed)
            recorder.run(min(3, ctx.steps))
            did = recorder.reset(options=way).did
            recorder.run(min(_LATER_STEPS, ctx.steps))
        if way is None:
            whole = ctx.trajectories(recorder)
    masked = ctx.trajectories(recorder)
    for env in np.flatnonzero(_MASK).tolist():
        yield whole[env], masked[env], {"masked": did, "env": env}


@check("reset-mask-seeds")
def reset_mask_seeds(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that with reset_mask seeds go to the environments it names."""
    ctx.require("reset-mask")
    ctx.require("seed-list")
    seeds = [ctx.seed + 70 + env for env in range(NUM_ENVS)]
    with ctx.recorder(mode) as recorder:
        recorder.reset(seed=ctx.seed)
        recorder.run(min(3, ctx.steps))
        call = recorder.reset(seed=seeds, options={"reset_mask": _MASK.copy()})
    with ctx.recorder(mode) as fresh:
        fresh.reset(seed=seeds)
    for env in np.flatnonzero(_MASK):
        first = observation_of(
            ctx.observation_space, fresh.calls[0].observations, int(env)
        )
        masked = observation_of(ctx.observation_space, call.observations, int(env))
        diff = difference(first, masked)
        if diff is not None:
            yield Problem(
                call.did,
                f"environment {env}: {diff} (left: reset(seed={seeds}) of all)",
                f"the first observation of seed {seeds[env]}",
            )
            return


@check("reset-mask-infos", modes="each")
def reset_mask_infos(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that reset_mask gives infos of the environments it names only."""
    ctx.require("reset-mask")
    with ctx.recorder(mode) as recorder:
        recorder.reset(seed=ctx.seed)
        recorder.run(min(3, ctx.steps))
        call = recorder.reset(options={"reset_mask": _MASK.copy()})
    for key in data_keys(call.infos):
        if f"_{key}" not in call.infos:
            continue  # without a mask: another check reports it
        mask = mask_of(call.infos, key, NUM_ENVS)
        if (mask & ~_MASK).any():
            yield Problem(
                f"{call.did}; infos['_{key}']",
                show(mask),
                f"no environment but those of the mask, {show(_MASK)}",
            )


@check("reset-mask-refused")
def reset_mask_refused(ctx: Context, mode: AutoresetMode) -> Problems:
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
        yield from must_refuse(ctx, mode, rule, after=ctx.seed, options=options)


@check("options-mutated", modes="each")
def options_mutated(ctx: Context, mode: AutoresetMode) -> Problems:
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
            yield Problem(
                did,
                f"{diff} (left: before)",
                "the same dict: wrappers such as RecordEpisodeStatistics read "
                "reset_mask from it afterwards",
            )
