"""Infos in the two forms in which engines return them: joined, stamped, listed.

A layout has arrays for all environments, a list has a dict for each
(`roll_vec.vector.infos`).  Infos of resets are of some environments: a layout of these
needs no masks, since all have its keys.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.vector.info_lists import split_infos
from roll_vec.vector.infos import InfoList, Infos, add_infos, blank_array, stack_infos

AnyInfos: TypeAlias = Infos | InfoList


def join_infos(parts: Sequence[tuple[AnyInfos, int]]) -> AnyInfos:
    """Return the infos of consecutive environments as those of all.

    Parameters
    ----------
    parts : sequence of (infos, number of environments)

    Returns
    -------
    dict or list
        A list unless layouts of one form become one: all values together then decide
        the dtypes, as in one engine of all environments.
    """
    parts = [(part, size) for part, size in parts if size]
    layouts = [(part, size) for part, size in parts if isinstance(part, dict)]
    joined = _join_layouts(layouts) if len(layouts) == len(parts) else None
    if joined is not None:
        return joined
    lists = [list_infos(part, size) for part, size in parts]
    return list(itertools.chain.from_iterable(lists))


def _join_layouts(parts: Sequence[tuple[Any, int]]) -> Infos | None:
    """Return layouts as one; None if they differ in form."""
    joined: Infos = {}
    for key in dict.fromkeys(itertools.chain.from_iterable(part for part, _ in parts)):
        values = [part[key] for part, _ in parts if key in part]
        is_dict = {isinstance(value, dict) for value in values}
        forms = {(one.dtype, one.shape[1:]) for one in values if is_dict == {False}}
        has_mask = f"_{key}" in joined or any(f"_{key}" in part for part, _ in parts)
        is_missing = len(values) < len(parts) and not has_mask and key[0] != "_"
        if len(is_dict) > 1 or len(forms) > 1 or is_missing:
            return None
        if is_dict == {True}:
            joined[key] = _join_layouts([(part.get(key, {}), n) for part, n in parts])
            if joined[key] is None:
                return None
            continue
        ((dtype, shape),) = forms
        joined[key] = np.concatenate(
            [part.get(key, blank_array((n, *shape), dtype)) for part, n in parts]
        )
    return joined


def add_to_infos(
    infos: AnyInfos | None,
    env_ids: NDArray[np.int64],
    values: AnyInfos,
    num_envs: int,
) -> AnyInfos:
    """Write the infos of some environments into those of a batch, and return these.

    Parameters
    ----------
    infos : dict, list or None
        None: there are none yet.
    env_ids : (m,) int64
    values : dict or list
        Of m environments.
    num_envs : int
    """
    if infos is None:
        infos = {} if isinstance(values, dict) else [{}] * num_envs
    elif type(infos) is not type(values):
        infos, values = list_infos(infos, num_envs), list_infos(values, len(env_ids))
    return add_infos(infos, env_ids, values, num_envs)


def stamp_infos(
    infos: AnyInfos,
    columns: Mapping[str, NDArray[Any]],
    mask: NDArray[np.bool_] | None,
) -> AnyInfos:
    """Return infos with further keys, which replace those of the environments.

    Parameters
    ----------
    infos : dict or list
        Of m environments; not changed.
    columns : mapping from key to (m,) array
    mask : (m,) bool, or None
        The environments that get the keys; None: all, in a dict without masks.
    """
    if isinstance(infos, list):
        lists = [values.tolist() for values in columns.values()]
        has_keys = [True] * len(infos) if mask is None else mask.tolist()
        return [
            {**info, **dict(zip(columns, values, strict=True))} if has else info
            for info, has, *values in zip(infos, has_keys, *lists, strict=True)
        ]
    if mask is None:
        return {**infos, **columns}
    if not np.count_nonzero(mask):
        return infos
    infos = dict(infos)
    for key, values in columns.items():
        infos[key] = blank_array(values.shape, values.dtype)
        infos[key][mask], infos[f"_{key}"] = values[mask], mask.copy()
    return infos


def finish_infos(infos: AnyInfos, num_envs: int) -> Infos:
    """Return infos of either form as a layout."""
    return stack_infos(infos, None, num_envs) if isinstance(infos, list) else infos


def list_infos(infos: AnyInfos, num_envs: int) -> InfoList:
    """Return one dict an environment; `stack_infos` makes the same arrays of them.

    Parameters
    ----------
    infos : dict of arrays, or list of dicts
        With masks, or without: all environments have the keys then.
    num_envs : int
    """
    if isinstance(infos, list):
        return infos
    return split_infos(infos, np.arange(num_envs), exact=True)
