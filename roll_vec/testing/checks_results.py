"""Checks of the results of reset and step, of their infos, and of their memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import FaultMessage
from roll_vec.testing.check import Problems, check, differ, mismatch, repeat
from roll_vec.testing.comparison import (
    data_keys,
    difference,
    form_of,
    mask_of,
    overwrite,
    parts_of,
    show,
    walk,
)
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import TRACEBACK, CallFailed
from roll_vec.testing.recorder import Call
from roll_vec.testing.report import Problem

_MASK = np.zeros(NUM_ENVS, np.bool_)
_FORMS = {
    "rewards": np.zeros(NUM_ENVS),
    "terminations": _MASK,
    "truncations": _MASK,
}


@check("reset-result", "step-result", is_vital=True)
def results(ctx: Context, mode: AutoresetMode) -> Problems:
    """Reset and step once."""
    with ctx.open(mode) as run:
        result = run.env.reset(seed=ctx.seed)
        did, code = run.describe(f"reset(seed={ctx.seed})"), "step-result"
        if not _ends_with_dict(result, 2):
            yield Problem(did, show(result))
            return
        result = run.env.step(ctx.plan.batch(range(NUM_ENVS)))
        did += "; step(actions)"
        if not _ends_with_dict(result, 5):
            expected = "a tuple of five values, the last one a dict"
            yield Problem(did, show(result), expected, code=code)
            return
        for name, value in zip(_FORMS, result[1:4], strict=True):
            if np.shape(value) != (NUM_ENVS,):
                yield Problem(did, show(value), f"shape ({NUM_ENVS},)", name, code)


def _ends_with_dict(result: Any, length: int) -> bool:
    is_tuple = isinstance(result, tuple) and len(result) == length
    return is_tuple and isinstance(result[-1], dict)


@check("environment-error", "observation-space", "observation-layout", modes="each")
def observations(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look at the observations of each call, and at faults of pools of roll_vec."""
    with ctx.open(mode) as run:
        space = run.env.observation_space
    form, name = form_of(space), "observations"
    for call in ctx.long_run(mode):
        for at, error in _faults(call):
            texts = (str(warning.message) for warning in ctx.warned)
            warning = next((text for text in texts if error in text), "")
            _, head, trace = warning.partition(TRACEBACK)
            yield Problem(call.did, error, place=at, details=head + trace)
        value = call.observations
        try:
            is_inside = space.contains(value)
        except Exception:
            is_inside = False  # a space may raise for values that are far outside
        if not is_inside:
            expected = f"an element of {show(space)}"
            yield Problem(call.did, show(value), expected, name, "observation-space")
        yield from mismatch(call.did, form, value, name, "observation-layout")


def _faults(call: Call) -> Iterator[tuple[str, str]]:
    """Yield the places and texts of faults of environments."""
    for infos in (call.infos, call.infos.get("final_info")):
        errors = infos.get("error") if isinstance(infos, dict) else None
        for place, error in parts_of(errors, "environment ").items():
            if type(error) is FaultMessage:
                yield place, error


@check("reward-dtype", "flag-dtype", "reward-finite", modes="each")
def rewards_and_flags(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look at the rewards and flags of each step."""
    for call in ctx.long_run(mode):
        if not call.is_step:
            continue
        for name, form in _FORMS.items():
            code = "reward-dtype" if name == "rewards" else "flag-dtype"
            yield from mismatch(call.did, form, call.results[name], name, code)
        rewards = call.results["rewards"]
        if not np.isfinite(np.asarray(rewards, dtype=np.float64)).all():
            yield Problem(call.did, show(rewards), "", "rewards", "reward-finite")


@check("action-sample")
def action_sample(ctx: Context, mode: AutoresetMode) -> Problems:
    """Sample actions in both spaces, and step with some."""
    with ctx.open(mode) as run:
        planned = ctx.plan.batch(range(NUM_ENVS))
        space, name = run.env.action_space, f"{run.origin}.action_space"
        if not space.contains(planned):
            did = f"{name}.contains(samples of single_action_space put together)"
            yield Problem(did, f"False for {show(planned)}", "True")
        samples = []
        for _ in range(2):
            space.seed(ctx.seed)
            samples.append(space.sample())
        did = f"{name}.seed({ctx.seed}), sample()"
        if not space.contains(samples[0]):
            yield Problem(did, show(samples[0]), f"an element of {show(space)}")
        diff = difference(*samples)
        if diff is not None:
            yield Problem(f"{did}, twice", diff, "the same sample")
        run.reset(seed=ctx.seed)
        run.step(samples[1])


@check("text-stale")
def text_stale(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look for texts that are always an empty buffer."""
    with ctx.open(mode) as run:
        parts = walk(run.env.observation_space, "observations")
    texts = {at: space for at, space in parts if isinstance(space, spaces.Text)}
    calls = ctx.long_run(mode)
    values: dict[str, set[str]] = {place: set() for place in texts}
    for call in calls:
        for place, value in walk(call.observations, "observations"):
            if place in texts:
                values[place].add(str(value))
    for place, space in texts.items():
        # A constant text can be right.  A buffer of zeros is decoded as one character,
        # repeated over the whole length.
        text = min(values[place], default="")
        is_filler = len(text) == space.max_length > len({*text}) == 1
        if is_filler and len(values[place]) == 1:
            actual = f"always {show(text)}, which is an empty buffer decoded"
            expected = (
                "the texts of the environment (AsyncVectorEnv decodes its shared "
                "memory once, in the constructor: use shared_memory=False)"
            )
            yield Problem(calls[-1].did, actual, expected, place)


# ------------------------------------------------------------------------------ infos

InfoPath = tuple[str, ...]


def _items(
    infos: dict[str, Any], at: InfoPath = ()
) -> Iterator[tuple[InfoPath, Any, dict[str, Any]]]:
    """Yield path, value and containing dict of everything that is data."""
    for key in data_keys(infos):
        path = (*at, key)
        yield path, infos[key], infos
        if isinstance(infos[key], dict):
            yield from _items(infos[key], path)


def _name(*path: str) -> str:
    return "infos" + "".join(f"[{key!r}]" for key in path)


@check("info-layout", "info-mask", "info-outside-mask", modes="each")
def infos(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look at each key of the infos of each call."""
    for call in ctx.long_run(mode):
        for path, value, container in _items(call.infos):
            name, mask_name = _name(*path), f"_{path[-1]}"
            if not isinstance(value, dict) and not _is_batched(value):
                yield Problem(call.did, show(value), place=name)
            at, mask = _name(*path[:-1], mask_name), container.get(mask_name)
            yield from mismatch(call.did, _MASK, mask, at, "info-mask")
            mask = mask_of(container, path[-1], NUM_ENVS)
            for env in np.flatnonzero(~mask).tolist():
                if not _is_blank(value, env):
                    actual = f"{show(value)}, with a mask of {show(mask)}"
                    expected, code = f"nothing at [{env}]", "info-outside-mask"
                    yield Problem(call.did, actual, expected, name, code)


def _is_batched(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.shape[:1] == (NUM_ENVS,)


def _is_blank(value: Any, env: int) -> bool:
    """Return whether an environment's entry is zero or None, or no array is there."""
    if isinstance(value, dict):
        return not any(
            mask_of(value, key, NUM_ENVS)[env] and f"_{key}" in value
            for key in data_keys(value)
        )
    if not _is_batched(value):
        return True  # another check reports it
    if value.dtype == object:
        return all(item is None for item in np.asarray(value[env], object).flat)
    return bool(np.all(value[env] == np.zeros((), value.dtype)))


@check("info-dtype", modes="each")
def info_dtype(ctx: Context, mode: AutoresetMode) -> Problems:
    """Compare the dtypes of each key in all calls."""
    first: dict[InfoPath, tuple[str, Call]] = {}
    for call in ctx.long_run(mode):
        for path, value, _ in _items(call.infos):
            # final_info holds the infos of a last step: the same keys.
            key = path[1:] if path[0] == "final_info" and len(path) > 1 else path
            is_array = isinstance(value, np.ndarray)
            kind = str(value.dtype) if is_array else type(value).__name__
            first_kind, first_call = first.setdefault(key, (kind, call))
            if kind != first_kind:
                ctx.unstable_info_keys.add(key)
                did = f"{first_call.did}, and then: {call.did}"
                actual = f"{first_kind} first, then {kind}"
                expected = (
                    "one dtype: values of other environments are cast to that of the "
                    "first and lose (all comparisons leave the key out)"
                )
                yield Problem(did, actual, expected, _name(*key))


# ----------------------------------------------------------------------------- memory

# Long enough to catch two alternating buffers, and to contain some ends.
_CALLS = 9
# Gymnasium's wrappers do this: VectorizeTransformObservation, ClipReward.
_WHY = "wrappers write into results"


@check("writable", "fresh-arrays", modes="each")
def arrays(ctx: Context, mode: AutoresetMode) -> Problems:
    """Look at the arrays themselves that the first calls of the long run return."""
    earlier: list[tuple[Call, str, NDArray[Any]]] = []
    calls, code = ctx.long_run(mode)[:_CALLS], "fresh-arrays"
    for call in calls:
        results = dict(zip(call.results, call.returned, strict=True))
        change = difference(call.results, results)
        if change is not None:
            did, at = f"{call.did}; then more calls", "the result of the first"
            yield Problem(did, change, "no change by later calls", at, code)
        for name, array in walk(results):
            if not isinstance(array, np.ndarray):
                continue
            if not array.flags.writeable:
                yield Problem(call.did, "read-only", f"an array: {_WHY}", name)
            for old_call, old_name, old in earlier:
                is_same = old_call is call
                # Nobody writes into a mask: several keys may share one array.
                are_masks = "['_" in name and "['_" in old_name
                if not (is_same and are_masks) and np.shares_memory(array, old):
                    did = call.did if is_same else f"{old_call.did}, then: {call.did}"
                    actual = f"the memory of {old_name} of the {old_call.text}"
                    expected = f"memory of its own: {_WHY}, and buffers store it"
                    yield Problem(did, actual, expected, name, code)
            earlier.append((call, name, array))


@check("internal-memory", modes="each")
def internal_memory(ctx: Context, mode: AutoresetMode) -> Problems:
    """Repeat the long run, and overwrite the results and arguments of each call."""
    with ctx.open(mode) as run:
        run.texts_as_list = isinstance(ctx.action_space, spaces.Text)
        yield from repeat(
            run,
            ctx.long_run(mode),
            "when nothing is overwritten",
            ", with the results and arguments of each call overwritten after it",
            lambda call: overwrite((call.returned, call.passed)),
        )


@check("arguments-mutated", modes="each")
def arguments_mutated(ctx: Context, mode: AutoresetMode) -> Problems:
    """Compare the actions, seeds and masks with those before the calls."""
    with ctx.open(mode) as run:
        run.texts_as_list = isinstance(ctx.action_space, spaces.Text)
        try:
            run.reset(seed=[ctx.seed + env for env in range(NUM_ENVS)])
        except CallFailed:
            run.reset(seed=ctx.seed)  # another check reports it
        run.run(min(_CALLS, ctx.steps))
    for call in run.calls:
        before = dict(walk(call.arguments))
        for place, value in walk(call.passed):
            # Another check looks at the dict of options.
            if not isinstance(value, dict):
                old, left_is = before[place], "before the call"
                yield from differ(old, value, call.did, left_is, place=place)
