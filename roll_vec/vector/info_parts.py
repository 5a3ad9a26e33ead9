"""Infos of a batch whose parts come from different engines.

An engine returns its infos as a layout or as a list (`roll_vec.vector.infos`).  Where
several engines step the parts of one batch, each part stays as its engine returned it,
until the infos of steps and resets are complete.  Then one layout is made of all parts:
the keys of all, with masks that say which environments have them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

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
    "AnyInfos",
    "InfoParts",
    "add_to_infos",
    "cut_finals",
    "finish_infos",
    "list_infos",
    "stamp_infos",
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
                part, new = self.parts[k], values.parts[k]
                if isinstance(part, list) or isinstance(new, list):
                    # An engine elsewhere may have lost its environments meanwhile.
                    part, new = list_infos(part, size), list_infos(new, len(ids))
                self.parts[k] = add_infos(part, ids, new, size)

    def cut_final(self, has_ended: NDArray[np.bool_]) -> Infos:
        """Move the entries of ended environments out; see `cut_final_infos`."""
        finals: list[Infos | InfoList] = []
        for part, (start, stop) in self.bounds():
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
        lists = [pair for pair in self.bounds() if isinstance(pair[0], list)]
        infos: Any = list(itertools.chain.from_iterable(part for part, _ in lists))
        layout, first = stack_infos(infos, None, len(infos)), 0
        for part, (start, stop) in lists:
            rows = slice(first, first + len(part))
            _write(merged, layout, rows, slice(start, stop), num_envs)
            first = rows.stop
        for part, (start, stop) in self.bounds():
            if isinstance(part, dict):
                rows = slice(0, stop - start)
                _write(merged, part, rows, slice(start, stop), num_envs)
        return merged

    def bounds(self) -> Iterable[tuple[Infos | InfoList, tuple[int, int]]]:
        """Return each part, with its start and stop."""
        return zip(self.parts, itertools.pairwise(self.starts), strict=True)


AnyInfos: TypeAlias = Infos | InfoList | InfoParts
"""Infos in any form: a layout, a list, or parts of these."""


def add_to_infos(
    infos: AnyInfos | None,
    env_ids: NDArray[np.int64],
    values: AnyInfos,
    num_envs: int,
) -> AnyInfos:
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


def cut_finals(infos: AnyInfos, has_ended: NDArray[np.bool_]) -> Infos:
    """Move the entries of ended environments out; see `cut_final_infos`."""
    if isinstance(infos, InfoParts):
        return infos.cut_final(has_ended)
    return cut_final_infos(infos, has_ended)


def stamp_infos(
    infos: AnyInfos,
    columns: Mapping[str, NDArray[Any]],
    mask: NDArray[np.bool_] | None,
) -> AnyInfos:
    """Return infos with further keys, which replace those of the environments.

    Parameters
    ----------
    infos : dict, list or InfoParts
        Of m environments; not changed.
    columns : mapping from key to (m,) array
    mask : (m,) bool, or None
        The environments that get the keys; None: all, in a dict without masks.
    """
    if isinstance(infos, InfoParts):
        parts: list[Any] = []
        for part, (start, stop) in infos.bounds():
            own = {key: values[start:stop] for key, values in columns.items()}
            own_mask = None if mask is None else mask[start:stop]
            parts.append(stamp_infos(part, own, own_mask) if start < stop else part)
        return InfoParts(infos.starts, parts, infos.batch_starts)
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
            present = {}
            if not isinstance(value, dict):
                present = blank_array((num_envs, *value.shape[1:]), value.dtype)
            merged[key] = present
            merged[mask_name] = np.zeros(num_envs, np.bool_)
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


def list_infos(infos: AnyInfos, num_envs: int) -> InfoList:
    """Return one dict an environment; `stack_infos` makes the same arrays of them.

    Parameters
    ----------
    infos : dict of arrays, list of dicts, or InfoParts
        With masks, or without: all environments have the keys then.
    num_envs : int
    """
    if isinstance(infos, InfoParts):
        lists = [
            list_infos(part, stop - start) for part, (start, stop) in infos.bounds()
        ]
        return list(itertools.chain.from_iterable(lists))
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
