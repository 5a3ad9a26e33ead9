"""Checks that results and arguments belong to the caller alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.testing.check import Problems, check, once_each
from roll_vec.testing.comparison import arrays_in, difference, overwrite, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import CallFailed, describe_error
from roll_vec.testing.recorder import Call, first_difference
from roll_vec.testing.report import Problem

# Long enough to catch two alternating buffers, and to contain some ends.
_CALLS = 8
# Limit of work for numpy.shares_memory, which is hard only for exotic strides.
_MAX_WORK: Any = 10_000
# Gymnasium's wrappers do this: VectorizeTransformObservation, ClipReward.
_WHY = "wrappers write into results"


def _raw_results(ctx: Context, mode: AutoresetMode) -> tuple[list[Call], list[Any]]:
    """Return the first calls in `mode`: as copies, and the returned objects."""

    def run() -> tuple[list[Call], list[Any]]:
        raw: list[Any] = []
        run = ctx.run(mode, _CALLS, on_result=lambda results, _: raw.append(results))
        return run.calls, raw

    calls, raw = ctx.compute_once(("raw results", mode), run)
    return calls, raw


def _arrays(call: Call, results: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, value in zip(call.results(), results, strict=True):
        yield from arrays_in(value, name)


@check("writable", modes="each")
def writable(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the arrays returned can be written to."""
    yield from once_each(
        (name, Problem(call.did, f"{name} is read-only", f"an array: {_WHY}"))
        for call, results in zip(*_raw_results(ctx, mode), strict=True)
        for name, array in _arrays(call, results)
        if not array.flags.writeable
    )


@check("fresh-arrays", modes="each")
def fresh_arrays(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that every array returned is new."""
    yield from once_each(_old_arrays(*_raw_results(ctx, mode)))


def _old_arrays(calls: list[Call], raw: list[Any]) -> Iterator[tuple[str, Problem]]:
    """Yield problems of arrays that are not new, by their names."""
    earlier: list[tuple[str, str, NDArray[Any]]] = []
    for call, results in zip(calls, raw, strict=True):
        change = difference(tuple(call.results().values()), results)
        if change is not None:
            yield (
                "changed",
                Problem(
                    f"{call.did}; then {calls[-1].did}",
                    f"the result of the first changed: {change}",
                    "a result that later calls do not change",
                ),
            )
        for name, array in _arrays(call, results):
            for old_did, old_name, old in earlier:
                is_same_call = old_did == call.did
                if is_same_call and _both_masks(name, old_name):
                    continue
                if _overlap(array, old):
                    did = call.did if is_same_call else f"{old_did}, then: {call.did}"
                    of = "" if is_same_call else " of the earlier call"
                    found = f"{name} has memory in common with {old_name}{of}"
                    rule = f"memory of its own: {_WHY}, and buffers store it"
                    yield name, Problem(did, found, rule)
            earlier.append((call.did, name, array))


def _both_masks(name: str, other: str) -> bool:
    # Nobody writes into a mask: several keys may share one array.
    return "['_" in name and "['_" in other


def _overlap(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one is other:
        return True
    if not np.may_share_memory(one, other):
        return False
    try:
        return bool(np.shares_memory(one, other, max_work=_MAX_WORK))
    except Exception:
        return True  # too hard to decide: treat it as shared


@check("internal-memory", modes="each")
def internal_memory(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that overwriting results and actions has no effect."""

    def overwrite_all(results: tuple[Any, ...], actions: Any) -> None:
        overwrite(results)
        overwrite(actions)

    reference = ctx.long_run(mode).calls
    as_list = isinstance(ctx.action_space, spaces.Text)
    with ctx.recorder(mode, on_result=overwrite_all, texts_as_list=as_list) as recorder:
        diff = None
        try:
            recorder.reset(seed=ctx.seed)
            while diff is None and len(recorder.calls) < len(reference):
                recorder.run(1)
                # The step, and the reset that may follow it.
                count, latest = len(recorder.calls), recorder.calls[-2:]
                part = first_difference(reference[count - len(latest) :], latest)
                diff = None if part is None else part[1]
        except CallFailed as failure:
            # The same calls did not raise without the overwriting.
            diff = describe_error(failure.error)
    if diff is not None:
        yield Problem(
            f"{recorder.probe.describe()}, with all results and actions of each call "
            "overwritten after it",
            f"{diff} (left: when nothing is overwritten)",
            "the same results: the caller may change results and arguments",
        )


@check("arguments-mutated", modes="each")
def arguments_mutated(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the caller's actions, seeds and masks are not changed."""
    as_list = isinstance(ctx.action_space, spaces.Text)
    with ctx.recorder(mode, texts_as_list=as_list) as recorder:
        seeds = [ctx.seed + env for env in range(NUM_ENVS)]
        arguments: list[tuple[str, Any, Any]] = []
        if "seed-list" not in ctx.unsupported:
            arguments.append(("seed", seeds, copy.copy(seeds)))
            recorder.reset(seed=seeds)
        else:
            recorder.reset(seed=ctx.seed)
        for _ in range(min(_CALLS, ctx.steps)):
            actions = recorder.next_actions()
            before = copy.deepcopy(actions)
            results = recorder.probe.step(actions)
            arguments.append(("actions", actions, before))
            dones = np.asarray(results[2], bool) | np.asarray(results[3], bool)
            if mode is AutoresetMode.DISABLED and dones.any():
                mask = dones.copy()
                recorder.probe.reset(options={"reset_mask": mask})
                arguments.append(("options['reset_mask']", mask, dones.copy()))
        for name, argument, before in arguments:
            if difference(argument, before) is not None:
                yield Problem(
                    recorder.probe.describe(),
                    f"{name} was {show(before)} and became {show(argument)}",
                    "the caller's objects unchanged",
                )
                return
