"""Gymnasium's layout of a batch's infos, and how it is put together.

A dict of arrays with one entry an environment; each key K has a bool mask ``_K``
that says which environments have it.  Entries without it are zero, or None in an
object array.  A key that no environment has is absent.  A key whose values are dicts
has such a layout as its value.  A key need not be a str: that of the mask is its text
after an underscore.  A key that is the name of another key's mask is left out.

An engine gives infos either in this layout or as a list with one dict an environment
(`RowInfos`), which `stack_infos` brings into the layout when all rows are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EXACT",
    "Infos",
    "RowInfos",
    "blanks",
    "final_infos",
    "find_unstackable",
    "masked_infos",
    "merge_rows",
    "stack_infos",
]

Infos: TypeAlias = dict[str, Any]
RowInfos: TypeAlias = list[dict[str, Any]]

# The dtypes that Gymnasium gives to Python's numbers.
_DTYPES: dict[type, type] = {bool: np.bool_, int: np.int64, float: np.float64}
_INT64 = range(-(1 << 63), 1 << 63)
EXACT = 1 << 53  # up to here every integer is a float64
# The deepest nesting of dicts that is stacked, far from Python's limit of recursion,
# and how many dicts there can be in one info.
MAX_DEPTH = 64
MAX_DICTS = 1 << 16


def blanks(shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of what stands where an environment has no entry."""
    if np.dtype(dtype) == object:
        return np.full(shape, None, object)
    return np.zeros(shape, dtype)


def masked_infos(values: dict[str, NDArray[Any]], mask: NDArray[np.bool_]) -> Infos:
    """Return the layout for keys that exactly the masked environments have.

    Parameters
    ----------
    values : dict of (n,) arrays
        Zero where the mask is False; they become the caller's.
    mask : (n,) bool

    Returns
    -------
    dict
        Empty where no environment is masked.
    """
    # On a bool array count_nonzero costs a fifth of any().
    if not np.count_nonzero(mask):
        return {}
    infos: Infos = {}
    for key, value in values.items():
        infos[key] = value
        infos[f"_{key}"] = mask.copy()
    return infos


def stack_infos(infos: RowInfos, rows: Sequence[int] | None, num_envs: int) -> Infos:
    """Return the layout for one info dict an environment.

    Python's and numpy's numbers become arrays of Gymnasium's dtypes, arrays of one
    shape and dtype a stacked array, dicts a nested layout, and everything else an
    object array.  Unlike in Gymnasium's own vector environments the dtype does not
    follow the first environment alone: int beside float is float, and what does not
    fit into numbers is kept in an object array.

    Parameters
    ----------
    infos : list of m dicts
    rows : sequence of m int, or None
        Whose they are; None: of all environments in order.
    num_envs : int
    """
    at: Any = range(num_envs) if rows is None else rows
    # Methods of dict itself: a class with entries as attributes can hide its own.
    keys = dict.keys(infos[0]) if infos else ()
    columns: dict[str, tuple[list[Any], Any]] = {}
    if all(map(keys.__eq__, map(dict.keys, infos))):
        if set(map(type, infos)) <= {dict}:
            columns = {key: (list(map(itemgetter(key), infos)), at) for key in keys}
        else:
            get = dict.__getitem__
            columns = {key: ([get(info, key) for info in infos], at) for key in keys}
    else:
        for row, info in zip(at, infos, strict=True):
            for key, value in dict.items(info):
                values, owners = columns.setdefault(key, ([], []))
                values.append(value)
                owners.append(row)
    names = {f"_{key}" for key in columns}
    stacked: Infos = {}
    for key, (values, owners) in columns.items():
        if key in names:
            continue
        stacked[key] = _stack(values, owners, num_envs)
        name = f"_{key}"
        # Two keys can have one text, 1 and "1": the mask is of either, as Gymnasium's.
        mask = stacked.get(name)
        if mask is None:
            mask = stacked[name] = np.zeros(num_envs, np.bool_)
        mask[slice(None) if len(values) == num_envs else owners] = True
    return stacked


def find_unstackable(infos: RowInfos) -> dict[int, str]:
    """Return which infos `stack_infos` cannot take, by their index, and why.

    Values can be anything; keys must have a text and be comparable, and dicts must end.
    """
    # A class of a value need not be hashable.
    with suppress(Exception):
        if _is_plain(infos):
            return {}
    reasons = {}
    for i, info in enumerate(infos):
        try:
            _check_stackable(info)
        except Exception as error:
            reasons[i] = f"{type(error).__name__}: {error}"
    return reasons


def _is_plain(level: RowInfos) -> bool:
    """Return whether infos can surely be stacked, without a loop over the entries."""
    for _ in range(4):
        if not set(map(type, chain.from_iterable(map(dict.keys, level)))) <= {str}:
            return False
        kinds = set(map(type, chain.from_iterable(map(dict.values, level))))
        if not any(issubclass(kind, dict) for kind in kinds):
            return True
        values = chain.from_iterable(map(dict.values, level))
        # Not isinstance: a proxy of a dict says that it is one.
        level = [value for value in values if issubclass(type(value), dict)]
    return False


def _check_stackable(info: dict[Any, Any]) -> None:
    """Do what stacking does with keys and classes of an info, and of the dicts in it.

    Raises
    ------
    ValueError
        If the dicts do not end.
    Exception
        Whatever a user's own class of keys, or the hash of one of values, raises.
    """
    level, count = [info], 0
    for _ in range(MAX_DEPTH):
        for part in level:
            for key in dict.keys(part):
                if type(key) is not str:
                    f"_{key}", key == object()
            set(map(type, dict.values(part)))
        level = [
            value
            for part in level
            for value in dict.values(part)
            if issubclass(type(value), dict)
        ]
        count += len(level)
        if not level:
            return
        if count > MAX_DICTS:
            message = f"there are more than {MAX_DICTS} dicts in it"
            raise ValueError(message)
    message = f"dicts are nested more than {MAX_DEPTH} deep in it"
    raise ValueError(message)


def _stack(values: list[Any], rows: Sequence[int], num_envs: int) -> Any:
    """Return the array, or the nested layout, of one key's values."""
    types = set(map(type, values))
    if all(issubclass(kind, dict) for kind in types):
        return stack_infos(values, rows, num_envs)
    dtype, shape = _common(values, types)
    if dtype is object:
        stacked = blanks(num_envs, object)
        # One by one: numpy would unpack sequences of equal length.
        for row, value in zip(rows, values, strict=True):
            stacked[row] = value
        return stacked
    if len(values) == num_envs:
        return np.array(values, dtype)
    stacked = blanks((num_envs, *shape), dtype)
    stacked[rows] = values
    return stacked


def _common(values: list[Any], types: set[type]) -> tuple[Any, tuple[int, ...]]:
    """Return the dtype and the shape that hold all values without a loss."""
    if len(types) == 1:
        (kind,) = types
        if kind is int:
            fits = all(value in _INT64 for value in values)
            return (np.int64 if fits else object), ()
        if kind in _DTYPES:
            return _DTYPES[kind], ()
        if kind is np.ndarray:
            forms = {(value.dtype, value.shape) for value in values}
            if len(forms) == 1 and values[0].dtype != object:
                return values[0].dtype, values[0].shape
            return object, ()
        if kind is np.timedelta64:
            units = {value.dtype for value in values}
            return (units.pop() if len(units) == 1 else object), ()
        if issubclass(kind, np.number):
            return kind, ()
    elif types == {int, float} and all(
        type(value) is float or abs(value) <= EXACT for value in values
    ):
        return np.float64, ()
    return object, ()


def merge_rows(
    infos: Infos | RowInfos,
    rows: NDArray[np.int64],
    values: Infos | RowInfos,
    num_envs: int,
) -> Infos | RowInfos:
    """Add entries of some rows to ``infos``, and return it.

    Parameters
    ----------
    infos : dict, or list of num_envs dicts
        Changed.
    rows : (m,) int64
        Where ``infos`` is a list, they have no entries yet.
    values : dict of (m,) arrays, or list of m dicts
        In the same form as ``infos``.
    num_envs : int
    """
    if isinstance(infos, list):
        for row, value in zip(rows.tolist(), values, strict=True):
            infos[row] = value  # type: ignore[assignment]
        return infos
    assert isinstance(values, dict)
    for key, value in values.items():
        if key not in infos:
            infos[key] = blanks(num_envs, value.dtype)
            infos[f"_{key}"] = np.zeros(num_envs, np.bool_)
        infos[key][rows] = value
        infos[f"_{key}"][rows] = True
    return infos


def final_infos(infos: Infos | RowInfos, finished: NDArray[np.bool_]) -> Infos:
    """Cut the entries of finished environments out of ``infos`` and return them.

    Parameters
    ----------
    infos : dict, or list of num_envs dicts
        Of a step; its entries of finished environments are zeroed, and keys that no
        environment has any longer are removed.
    finished : (n,) bool

    Returns
    -------
    dict
        The layout of ``infos["final_info"]``.
    """
    if isinstance(infos, list):
        rows = np.flatnonzero(finished).tolist()
        ended = [infos[row] for row in rows]
        for row in rows:
            infos[row] = {}
        return stack_infos(ended, rows, len(infos))
    final: Infos = {}
    for key in [key for key in infos if not key.startswith("_")]:
        value, mask = infos[key], infos[f"_{key}"]
        final_mask = mask & finished
        if final_mask.any():
            final[key] = blanks(value.shape, value.dtype)
            final[key][final_mask] = value[final_mask]
            final[f"_{key}"] = final_mask
            value[final_mask] = blanks(1, value.dtype)
            mask &= ~finished
            if not mask.any():
                del infos[key], infos[f"_{key}"]
    return final
