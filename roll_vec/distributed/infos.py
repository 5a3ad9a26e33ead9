"""The infos of parts of a batch, joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from roll_vec.vector.infos import InfoList, Infos, blank_array

__all__ = ["join_infos", "list_infos"]


def join_infos(parts: Sequence[Infos], sizes: Sequence[int]) -> Infos:
    """Return the infos of a whole batch from those of its parts.

    Parameters
    ----------
    parts : sequence of dict
        Arrays and dicts of arrays; the first axis is the environment.  A part may lack
        a key: its environments are blank there.
    sizes : sequence of int
        Environments of each part.
    """
    joined: Infos = {}
    for key in dict.fromkeys(key for part in parts for key in part):
        values = [part.get(key) for part in parts]
        model = next(value for value in values if value is not None)
        if isinstance(model, dict):
            joined[key] = join_infos([value or {} for value in values], sizes)
            continue
        shape, dtype = model.shape[1:], model.dtype
        joined[key] = np.concatenate(
            [
                blank_array((size, *shape), dtype) if value is None else value
                for value, size in zip(values, sizes, strict=True)
            ]
        )
    return joined


def list_infos(infos: Infos | InfoList, num_envs: int) -> InfoList:
    """Return one dict an environment; `stack_infos` makes the same arrays of them.

    Parameters
    ----------
    infos : dict of arrays, or list of dicts
        With masks, or without: all environments have the keys then.
    num_envs : int
    """
    if isinstance(infos, list):
        return infos
    result: InfoList = [{} for _ in range(num_envs)]
    for key, values in infos.items():
        if key.startswith("_"):
            continue
        mask = infos.get(f"_{key}")
        entries = list_infos(values, num_envs) if isinstance(values, dict) else values
        for env_id in range(num_envs):
            if mask is None or mask[env_id]:
                entry: Any = entries[env_id]
                # A number of numpy keeps its dtype, but a bool must be Python's.
                result[env_id][key] = bool(entry) if _is_bool(entry) else entry
    return result


def _is_bool(entry: Any) -> bool:
    return isinstance(entry, np.bool_)
