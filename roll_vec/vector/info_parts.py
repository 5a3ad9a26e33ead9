"""Infos of a batch whose parts come from different engines.

An engine returns its infos as a layout or as a list (`roll_vec.vector.infos`).  Where
several engines step the parts of one batch, each part stays as its engine returned it,
until the infos of steps and resets are complete.  Then one layout is made of all parts:
the keys of all, with masks that say which environments have them.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.vector.infos import (
    InfoList,
    Infos,
    add_infos,
    blank_array,
    cut_final_infos,
    stack_infos,
    stack_values,
)

__all__ = [
    "InfoParts",
    "add_to_infos",
    "cut_finals",
    "find_part",
    "finish_infos",
    "list_infos",
]


@dataclass
class InfoParts:
    """Infos of consecutive environments, each part in the form of its own engine.

    Parameters
    ----------
    starts : sequence of k + 1 int
        Part j has the environments from ``starts[j]`` to ``starts[j + 1] - 1``.
    parts : list of k dicts or lists
        See `roll_vec.vector.infos`; an empty dict for a part without environments.
    batch_starts : sequence of k + 1 int
        The same numbers for the whole batch, where these are some environments of it.
    """

    starts: Sequence[int]
    parts: list[Infos | InfoList]
    batch_starts: Sequence[int]

    def blank(self) -> InfoParts:
        """Return parts of the whole batch, in the same forms and without any infos."""
        starts = self.batch_starts
        sizes = np.diff(starts).tolist()
        return InfoParts(
            starts,
            [
                [{} for _ in range(size)] if isinstance(part, list) else {}
                for part, size in zip(self.parts, sizes, strict=True)
            ],
            starts,
        )

    def add(self, env_ids: NDArray[np.int64], values: InfoParts) -> None:
        """Write the infos of some environments; see `add_infos`.

        Parameters
        ----------
        env_ids : (m,) int64
            Ascending.
        values : InfoParts
            Of m environments: those of the ids, part by part.
        """
        pairs = itertools.pairwise(values.starts)
        for k, (start, stop) in enumerate(pairs):
            if start < stop:
                size = self.starts[k + 1] - self.starts[k]
                ids = env_ids[start:stop] - self.starts[k]
                self.parts[k] = add_infos(self.parts[k], ids, values.parts[k], size)

    def cut_final(self, has_ended: NDArray[np.bool_]) -> Infos:
        """Move the entries of ended environments out; see `cut_final_infos`."""
        finals: list[Infos | InfoList] = []
        for part, (start, stop) in self._bounds():
            if isinstance(part, list):
                ended = has_ended[start:stop].nonzero()[0].tolist()
                last: InfoList = [{} for _ in part]
                for local_id in ended:
                    last[local_id], part[local_id] = part[local_id], {}
                finals.append(last)
            else:
                finals.append(cut_final_infos(part, has_ended[start:stop]))
        return InfoParts(self.starts, finals, self.starts).merge()

    def merge(self) -> Infos:
        """Return the layout of all environments."""
        num_envs = self.starts[-1]
        merged: Infos = {}
        # Lists first, and all together: their values then decide the dtypes as they do
        # in a pool of all these environments.
        lists = [pair for pair in self._bounds() if isinstance(pair[0], list)]
        infos: Any = list(itertools.chain.from_iterable(part for part, _ in lists))
        layout, first = stack_infos(infos, None, len(infos)), 0
        for part, (start, stop) in lists:
            rows = slice(first, first + len(part))
            _write(merged, layout, rows, slice(start, stop), num_envs)
            first = rows.stop
        for part, (start, stop) in self._bounds():
            if isinstance(part, dict):
                rows = slice(0, stop - start)
                _write(merged, part, rows, slice(start, stop), num_envs)
        return merged

    def _bounds(self) -> Iterable[tuple[Infos | InfoList, tuple[int, int]]]:
        return zip(self.parts, itertools.pairwise(self.starts), strict=True)


def add_to_infos(
    infos: Infos | InfoList | InfoParts | None,
    env_ids: NDArray[np.int64],
    values: Infos | InfoList | InfoParts,
    num_envs: int,
) -> Infos | InfoList | InfoParts:
    """Write the infos of some environments into those of a batch, and return these.

    Parameters
    ----------
    infos : dict, list, InfoParts or None
        In the form of ``values``.  None: there are none yet.
    env_ids : (m,) int64
    values : dict, list or InfoParts
        Of m environments.
    num_envs : int
    """
    if isinstance(values, InfoParts):
        if not isinstance(infos, InfoParts):
            infos = values.blank()
        infos.add(env_ids, values)
        return infos
    assert not isinstance(infos, InfoParts)
    if infos is None:
        infos = {} if isinstance(values, dict) else [{}] * num_envs
    return add_infos(infos, env_ids, values, num_envs)


def cut_finals(
    infos: Infos | InfoList | InfoParts, has_ended: NDArray[np.bool_]
) -> Infos:
    """Move the entries of ended environments out; see `cut_final_infos`."""
    if isinstance(infos, InfoParts):
        return infos.cut_final(has_ended)
    return cut_final_infos(infos, has_ended)


def find_part(
    infos: Infos | InfoList | InfoParts, index: int
) -> tuple[Infos | InfoList, int]:
    """Return the part of infos that has an environment, and its index there."""
    if not isinstance(infos, InfoParts):
        return infos, index
    part = bisect.bisect_right(infos.starts, index) - 1
    return infos.parts[part], index - infos.starts[part]


def finish_infos(infos: Infos | InfoList | InfoParts, num_envs: int) -> Infos:
    """Return infos of any form as a layout."""
    if isinstance(infos, InfoParts):
        return infos.merge()
    return stack_infos(infos, None, num_envs) if isinstance(infos, list) else infos


def _write(
    merged: Infos, part: Infos, rows: slice, env_ids: slice, num_envs: int
) -> None:
    """Write rows of a layout into the layout of the batch.

    Parameters
    ----------
    merged : dict
        Of ``num_envs`` environments; changed.
    part : dict
    rows, env_ids : slice
        Of ``part``, and of ``merged``.
    """
    for key, value in part.items():
        mask_name = f"_{key}"
        if mask_name not in part:
            continue  # a mask
        mask, present = part[mask_name][rows], merged.get(key)
        if present is None:
            merged[mask_name] = np.zeros(num_envs, np.bool_)
            present = {}
            if not isinstance(value, dict):
                present = blank_array((num_envs, *value.shape[1:]), value.dtype)
            merged[key] = present
        if isinstance(value, dict) and isinstance(present, dict):
            _write(present, value, rows, env_ids, num_envs)
        elif _is_like(value, present):
            present[env_ids] = value[rows]
        else:
            # The families differ in the form of this key: all values decide.
            all_rows = np.zeros_like(part[mask_name])
            all_rows[rows] = mask
            entries = _entries(present, merged[mask_name]) + _entries(value, all_rows)
            ids = [
                *merged[mask_name].nonzero()[0].tolist(),
                *(mask.nonzero()[0] + env_ids.start).tolist(),
            ]
            merged[key] = stack_values(entries, ids, num_envs)
        merged[mask_name][env_ids] |= mask


def _is_like(value: Any, present: Any) -> bool:
    if isinstance(value, dict) or isinstance(present, dict):
        return False
    return bool(value.dtype == present.dtype and value.shape[1:] == present.shape[1:])


def _entries(values: Any, mask: NDArray[np.bool_]) -> list[Any]:
    """Return the entries of masked environments, as single environments have them."""
    if isinstance(values, dict):
        infos = list_infos(values, len(mask))
        return [info for info, has_key in zip(infos, mask, strict=True) if has_key]
    return _list_entries(values[mask])


def _list_entries(values: NDArray[Any]) -> list[Any]:
    # Of these dtypes Python's own values become the same array again.
    if values.ndim == 1 and values.dtype in (np.bool_, np.int64, np.float64, object):
        entries: list[Any] = values.tolist()
        return entries
    return list(values)


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
        owners = range(num_envs) if mask is None else mask.nonzero()[0].tolist()
        if isinstance(values, dict):
            entries: list[Any] = list_infos(values, num_envs)
        else:
            entries = _list_entries(values)
        for env_id in owners:
            result[env_id][key] = entries[env_id]
    return result
