"""Checks of the layout of infos: arrays with a mask beside each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.testing.check import Problems, check, once_each
from roll_vec.testing.comparison import data_keys, is_array, mask_of, show
from roll_vec.testing.context import NUM_ENVS, Context
from roll_vec.testing.recorder import join_descriptions
from roll_vec.testing.report import Problem

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


@check("info-layout", modes="each")
def info_layout(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that infos hold arrays with a row an environment, or dicts of such."""
    rule = f"an array whose first dimension is {NUM_ENVS}, or a dict"
    yield from once_each(
        (path, Problem(call.did, f"{_name(path)}: {show(value)}", rule))
        for call in ctx.long_run(mode).calls
        for path, value, _, _ in _items(call.infos)
        if not isinstance(value, dict) and not _is_batched(value)
    )


@check("info-mask", modes="each")
def info_mask(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that every key K of infos has a mask _K, in nested dicts too."""
    rule = (
        f"an array of bool, shape ({NUM_ENVS},), that tells which environments gave "
        "the key"
    )

    def found() -> Iterator[tuple[InfoPath, Problem]]:
        for call in ctx.long_run(mode).calls:
            for path, _, _, container in _items(call.infos):
                mask = container.get(f"_{path[-1]}")
                if not is_array(mask, np.bool_, NUM_ENVS):
                    state = "is missing" if mask is None else f"is {show(mask)}"
                    name = _name((*path[:-1], f"_{path[-1]}"))
                    text = f"{_name(path)} is there, {name} {state}"
                    yield path, Problem(call.did, text, rule)

    yield from once_each(found())


@check("info-outside-mask", modes="each")
def info_outside_mask(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that entries that the mask leaves out are zero or None."""

    def found() -> Iterator[tuple[InfoPath, Problem]]:
        for call in ctx.long_run(mode).calls:
            for path, value, mask, _ in _items(call.infos):
                for env in np.flatnonzero(~mask).tolist():
                    if not _is_blank(value, env):
                        text = f"{_name(path)}: {show(value)}, with a mask of "
                        rule = (
                            f"nothing at [{env}]: the environment did not give the key"
                        )
                        yield path, Problem(call.did, text + show(mask), rule)

    yield from once_each(found())


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


@check("info-dtype", modes="each")
def info_dtype(ctx: Context, mode: AutoresetMode) -> Problems:
    """Check that the dtype of an info key is the same in every call."""
    first: dict[InfoPath, tuple[str, str]] = {}
    problems: dict[InfoPath, Problem] = {}
    for call in ctx.long_run(mode).calls:
        for path, value, _, _ in _items(call.infos):
            # final_info holds the infos of a last step: the same keys.
            key = path[1:] if path[0] == "final_info" and len(path) > 1 else path
            kind = _kind(value)
            first_kind, did = first.setdefault(key, (kind, call.did))
            if kind != first_kind and key not in problems:
                problems[key] = Problem(
                    join_descriptions(did, call.did),
                    f"{_name(key)}: {first_kind} first, then {kind}",
                    "one dtype.  If environments differ within one call, their "
                    "values are cast to that of the first and lose (the key is left "
                    "out of all comparisons)",
                )
    # Before the first problem is yielded: the checker may not ask for the rest.
    ctx.unstable_info_keys |= problems.keys()
    yield from problems.values()


def _kind(value: Any) -> str:
    return str(value.dtype) if isinstance(value, np.ndarray) else type(value).__name__
