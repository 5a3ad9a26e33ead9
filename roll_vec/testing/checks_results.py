"""Checks of the results of reset and step, of their infos, and of their memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import FaultMessage
from roll_vec.testing.check import Found, Group
from roll_vec.testing.comparison import (
    arrays_in,
    data_keys,
    difference,
    is_array,
    layout_mismatches,
    mask_of,
    observation_of,
    overwrite,
    show,
)
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.errors import TRACEBACK, CallFailed, skip
from roll_vec.testing.recorder import Call, first_difference

RESULTS = Group("Results of reset and step")
INFOS = Group("Infos")
MEMORY = Group("Memory")

_BOOLS = f"an array of bool, shape ({NUM_ENVS},)"


@RESULTS.check("reset-result", "a tuple (observations, dict)", vital=True)
def reset_result(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that reset returns observations and an infos dict."""
    with ctx.open(mode) as probe:
        result = probe.env.reset(seed=ctx.seed)
        did = probe.describe(f"reset(seed={ctx.seed})")
        if not isinstance(result, tuple) or len(result) != 2:
            yield did, show(result)
        elif not isinstance(result[1], dict):
            yield did, f"infos that are {show(result[1])}"


@RESULTS.check("step-result", vital=True)
def step_result(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that step returns five values, with an entry for each environment."""
    with ctx.open(mode) as probe:
        probe.reset(seed=ctx.seed)
        result: Any = probe.env.step(ctx.plan.batch(range(NUM_ENVS)))
        did = probe.describe("step(actions)")
        if not isinstance(result, tuple) or len(result) != 5:
            yield did, show(result), "a tuple of five values"
            return
        if not isinstance(result[4], dict):
            yield did, f"infos that are {show(result[4])}", "a dict"
        names = ("rewards", "terminations", "truncations")
        for name, value in zip(names, result[1:4], strict=True):
            if np.shape(value) != (NUM_ENVS,):
                yield did, f"{name}: {show(value)}", f"shape ({NUM_ENVS},)"


@RESULTS.check("environment-error", modes="each", of_things=True)
def environment_error(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that no environment of a pool has a fault."""
    rule = "an environment that does not fail"
    for call in ctx.long_run(mode).calls:
        for env, error in _errors(call):
            warnings = (text for text in ctx.tracebacks if error in text)
            _, head, trace = next(warnings, "").partition(TRACEBACK)
            yield error, call.did, f"environment {env}: {error}", rule, head + trace


def _errors(call: Call) -> Iterator[tuple[int, str]]:
    """Yield the environments that had a fault, and what happened."""
    for infos in (call.infos, call.infos.get("final_info")):
        errors: Any = infos.get("error") if isinstance(infos, dict) else None
        if is_array(errors, object, NUM_ENVS):
            pairs = enumerate(errors.tolist())
            yield from ((env, one) for env, one in pairs if type(one) is FaultMessage)


@RESULTS.check("observation-space", modes="each")
def observation_space(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that observations are in observation_space."""
    with ctx.open(mode) as probe:
        space = probe.env.observation_space
    for call in ctx.long_run(mode).calls:
        try:
            inside = space.contains(call.observations)
        except Exception:
            inside = False  # a space may raise for values that are far outside
        if not inside:
            yield call.did, show(call.observations), f"an element of {show(space)}"


@RESULTS.check("observation-layout", modes="each")
def observation_layout(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that observations have the types, dtypes and shapes of the space."""
    with ctx.open(mode) as probe:
        space = probe.env.observation_space
    for call in ctx.long_run(mode).calls:
        mismatches = layout_mismatches(space, call.observations, "observations")
        for at, value, rule in mismatches:
            yield call.did, f"{at}: {value}", rule


@RESULTS.check(
    "reward-dtype",
    f"an array of float64, shape ({NUM_ENVS},), as SyncVectorEnv gives",
    modes="each",
    most=1,
)
def reward_dtype(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that rewards are a float64 array."""
    for call in _steps(ctx, mode):
        if not is_array(call.rewards, np.float64, NUM_ENVS):
            yield call.did, f"rewards: {_kind(call.rewards)}"


@RESULTS.check("reward-finite", "finite numbers", modes="each")
def reward_finite(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that rewards are finite."""
    for call in _steps(ctx, mode):
        if not np.isfinite(np.asarray(call.rewards, dtype=np.float64)).all():
            yield call.did, f"rewards: {show(call.rewards)}"


@RESULTS.check("flag-dtype", _BOOLS, modes="each", of_things=True)
def flag_dtype(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that terminations and truncations are bool arrays."""
    for call in _steps(ctx, mode):
        for name in ("terminations", "truncations"):
            value = getattr(call, name)
            if not is_array(value, np.bool_, NUM_ENVS):
                yield name, call.did, f"{name}: {_kind(value)}"


def _steps(ctx: Context, mode: AutoresetMode) -> list[Call]:
    return [call for call in ctx.long_run(mode).calls if call.is_step]


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    return f"a {type(value).__name__}, {show(value)}"


@RESULTS.check("action-sample")
def action_sample(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that action_space.sample() is an action for step, fixed by the seed."""
    with ctx.open(mode) as probe:
        planned = ctx.plan.batch(range(NUM_ENVS))
        space, name = probe.env.action_space, f"{probe.origin}.action_space"
        if not space.contains(planned):
            did = f"{name}.contains(samples of single_action_space put together)"
            yield did, f"False for {show(planned)}", "True"
        samples = []
        for _ in range(2):
            space.seed(ctx.seed)
            samples.append(space.sample())
        did = f"{name}.seed({ctx.seed}), sample()"
        if not space.contains(samples[0]):
            yield did, show(samples[0]), f"an element of {show(space)}"
        diff = difference(*samples)
        if diff is not None:
            yield f"{did}, twice", diff, "the same sample"
        probe.reset(seed=ctx.seed)
        probe.step(samples[1])


@RESULTS.check(
    "text-stale",
    "the texts of the environments (of AsyncVectorEnv: its shared memory is decoded "
    "once, in the constructor; use shared_memory=False)",
)
def text_stale(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that observed texts are those of the environments."""
    leaves = list(_text_leaves(ctx.observation_space, ()))
    if not leaves:
        skip("there is no Text in the observation space")
    calls = ctx.long_run(mode).calls
    for path, space in leaves:
        texts = set()
        for call in calls:
            for env in range(NUM_ENVS):
                text = observation_of(ctx.observation_space, call.observations, env)
                for part in path:
                    text = text[part]
                texts.add(text)
        if len(texts) == 1 and _is_filler(text, space):
            where = "".join(f"[{part!r}]" for part in path)
            yield (
                f"{calls[-1].did}; observations{where} of all environments were "
                "looked at",
                f"always {show(text)}, which is an empty Text buffer decoded",
            )


def _text_leaves(
    space: spaces.Space[Any], path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], spaces.Text]]:
    if isinstance(space, spaces.Text):
        yield path, space
    parts: Any = ()
    if isinstance(space, spaces.Dict):
        parts = space.spaces.items()
    elif isinstance(space, spaces.Tuple):
        parts = enumerate(space.spaces)
    for key, subspace in parts:
        yield from _text_leaves(subspace, (*path, key))


def _is_filler(text: Any, space: spaces.Text) -> bool:
    # A constant text can be right.  A buffer of zeros is decoded as one character,
    # repeated over the whole length.
    return isinstance(text, str) and len(text) == space.max_length > len(set(text)) == 1


# ------------------------------------------------------------------------------ infos

InfoPath = tuple[str, ...]
Item = tuple[InfoPath, Any, NDArray[np.bool_], dict[str, Any]]


def _items(infos: dict[str, Any], at: InfoPath = ()) -> Iterator[Item]:
    """Yield path, value, mask and containing dict of everything that is data."""
    for key in data_keys(infos):
        path = (*at, key)
        yield path, infos[key], mask_of(infos, key, NUM_ENVS), infos
        if isinstance(infos[key], dict):
            yield from _items(infos[key], path)


def _name(path: InfoPath) -> str:
    return "infos" + "".join(f"[{key!r}]" for key in path)


@INFOS.check(
    "info-layout",
    f"an array whose first dimension is {NUM_ENVS}, or a dict",
    modes="each",
    of_things=True,
)
def info_layout(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that infos hold arrays with a row an environment, or dicts of such."""
    for call in ctx.long_run(mode).calls:
        for path, value, _, _ in _items(call.infos):
            if not isinstance(value, dict) and not _is_batched(value):
                yield path, call.did, f"{_name(path)}: {show(value)}"


@INFOS.check(
    "info-mask",
    f"{_BOOLS}, that tells which environments gave the key",
    modes="each",
    of_things=True,
)
def info_mask(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that every key K of infos has a mask _K, in nested dicts too."""
    for call in ctx.long_run(mode).calls:
        for path, _, _, container in _items(call.infos):
            mask = container.get(f"_{path[-1]}")
            if not is_array(mask, np.bool_, NUM_ENVS):
                state = "is missing" if mask is None else f"is {show(mask)}"
                name = _name((*path[:-1], f"_{path[-1]}"))
                yield path, call.did, f"{_name(path)} is there, {name} {state}"


@INFOS.check("info-outside-mask", modes="each", of_things=True)
def info_outside_mask(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that entries that the mask leaves out are zero or None."""
    for call in ctx.long_run(mode).calls:
        for path, value, mask, _ in _items(call.infos):
            for env in np.flatnonzero(~mask).tolist():
                if not _is_blank(value, env):
                    found = f"{_name(path)}: {show(value)}, with a mask of {show(mask)}"
                    rule = f"nothing at [{env}]: the environment did not give the key"
                    yield path, call.did, found, rule


def _is_batched(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.shape[:1] == (NUM_ENVS,)


def _is_blank(value: Any, env: int) -> bool:
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


@INFOS.check(
    "info-dtype",
    "one dtype.  If environments differ within one call, their values are cast to that "
    "of the first and lose (the key is left out of all comparisons)",
    modes="each",
)
def info_dtype(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the dtype of an info key is the same in every call."""
    first: dict[InfoPath, tuple[str, str]] = {}
    found: dict[InfoPath, tuple[str, str]] = {}
    for call in ctx.long_run(mode).calls:
        for path, value, _, _ in _items(call.infos):
            # final_info holds the infos of a last step: the same keys.
            key = path[1:] if path[0] == "final_info" and len(path) > 1 else path
            is_array = isinstance(value, np.ndarray)
            kind = str(value.dtype) if is_array else type(value).__name__
            first_kind, did = first.setdefault(key, (kind, call.did))
            if kind != first_kind:
                text = f"{_name(key)}: {first_kind} first, then {kind}"
                found.setdefault(key, (_join(did, call.did), text))
    # Before the first problem is yielded: the checker may not ask for the rest.
    ctx.unstable_info_keys |= found.keys()
    yield from found.values()


def _join(first: str, second: str) -> str:
    """Return two descriptions of one run, their common beginning only once."""
    if second.startswith(first):
        return f"{first}, and then{second[len(first) + 1 :]}"
    return f"{first}, and then: {second}"


# ----------------------------------------------------------------------------- memory

# Long enough to catch two alternating buffers, and to contain some ends.
_CALLS = 8
# Limit of work for numpy.shares_memory, which is hard only for exotic strides.
_MAX_WORK: Any = 10_000
# Gymnasium's wrappers do this: VectorizeTransformObservation, ClipReward.
_WHY = "wrappers write into results"


def _raw_results(ctx: Context, mode: AutoresetMode) -> list[tuple[Call, Any]]:
    """Return the first calls in `mode`: as copies, and the returned objects."""

    def run() -> list[tuple[Call, Any]]:
        raw: list[Any] = []
        run = ctx.run(mode, _CALLS, on_result=lambda results, _: raw.append(results))
        return [*zip(run.calls, raw, strict=True)]

    return ctx.compute_once(("raw results", mode), run)


def _arrays(call: Call, results: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, value in zip(call.results(), results, strict=True):
        yield from arrays_in(value, name)


@MEMORY.check("writable", f"an array: {_WHY}", modes="each", of_things=True)
def writable(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the arrays returned can be written to."""
    for call, results in _raw_results(ctx, mode):
        for name, array in _arrays(call, results):
            if not array.flags.writeable:
                yield name, call.did, f"{name} is read-only"


@MEMORY.check(
    "fresh-arrays",
    f"memory of its own: {_WHY}, and buffers store it",
    modes="each",
    of_things=True,
)
def fresh_arrays(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that every array returned is new."""
    raw = _raw_results(ctx, mode)
    earlier: list[tuple[str, str, NDArray[Any]]] = []
    for call, results in raw:
        change = difference(tuple(call.results().values()), results)
        if change is not None:
            did = f"{call.did}; then {raw[-1][0].did}"
            found = f"the result of the first changed: {change}"
            yield "changed", did, found, "a result that later calls do not change"
        for name, array in _arrays(call, results):
            for old_did, old_name, old in earlier:
                is_same_call = old_did == call.did
                # Nobody writes into a mask: several keys may share one array.
                are_masks = "['_" in name and "['_" in old_name
                if not (is_same_call and are_masks) and _overlap(array, old):
                    did = call.did if is_same_call else f"{old_did}, then: {call.did}"
                    of = "" if is_same_call else " of the earlier call"
                    yield name, did, f"{name} has memory in common with {old_name}{of}"
            earlier.append((call.did, name, array))


def _overlap(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one is other:
        return True
    if not np.may_share_memory(one, other):
        return False
    try:
        return bool(np.shares_memory(one, other, max_work=_MAX_WORK))
    except Exception:
        return True  # too hard to decide: treat it as shared


@MEMORY.check(
    "internal-memory",
    "the same results: the caller may change results and arguments",
    modes="each",
)
def internal_memory(ctx: Context, mode: AutoresetMode) -> Found:
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
            diff = failure.text
    if diff is not None:
        did = recorder.probe.describe()
        yield (
            f"{did}, with all results and actions of each call overwritten after it",
            f"{diff} (left: when nothing is overwritten)",
        )


@MEMORY.check(
    "arguments-mutated", "the caller's objects unchanged", modes="each", most=1
)
def arguments_mutated(ctx: Context, mode: AutoresetMode) -> Found:
    """Check that the caller's actions, seeds and masks are not changed."""
    as_list = isinstance(ctx.action_space, spaces.Text)
    with ctx.recorder(mode, texts_as_list=as_list) as recorder:
        seeds: Any = [ctx.seed + env for env in range(NUM_ENVS)]
        if "seed-list" in ctx.unsupported:
            seeds = ctx.seed
        arguments = [("seed", seeds, copy.copy(seeds))]
        recorder.reset(seed=seeds)
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
                found = f"{name} was {show(before)} and became {show(argument)}"
                yield recorder.probe.describe(), found
