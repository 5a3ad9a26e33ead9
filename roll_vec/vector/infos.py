"""Build the infos of a batch in Gymnasium's layout.

The layout is a dict of arrays with one entry per environment.  Beside each key K there
is a bool mask ``_K``: the environments that have the key.  The other entries are zero,
or None in an object array.  A key that no environment has is absent.  Where the values
of a key are dicts, its value is a layout, too.  A key need not be a str: the name of
its mask is "_" and its text.  A key that has the name of another key's mask is dropped.

An engine returns infos in this layout, or as a list with one dict per environment
(`InfoList`), which `stack_infos` turns into the layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.vector.masks import list_rows

Infos: TypeAlias = dict[str, Any]
InfoList: TypeAlias = list[dict[str, Any]]

# The dtypes that Gymnasium gives to Python's numbers.
_DTYPES: dict[type, type] = {bool: np.bool_, int: np.int64, float: np.float64}
_INT64 = range(-(1 << 63), 1 << 63)
EXACT = 1 << 53  # up to here every integer is a float64
# Largest depth and number of nested dicts in one info; deeper ones would come near
# Python's limit of recursion.
MAX_DEPTH = 64
MAX_DICTS = 1 << 16


def blank_array(shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of the value of environments without an entry: zero or None."""
    if np.dtype(dtype) == object:
        return np.empty(shape, object)  # all None
    return np.zeros(shape, dtype)


def masked_infos(values: dict[str, NDArray[Any]], mask: NDArray[np.bool_]) -> Infos:
    """Return the layout for keys that all environments of a mask have, and no other.

    Parameters
    ----------
    values : dict of (n,) arrays
        Zero where the mask is False; the layout holds them, not copies.
    mask : (n,) bool
        Becomes the mask of the first key.

    Returns
    -------
    dict
        Empty where no environment is masked.
    """
    infos: Infos = {}
    # On a bool array count_nonzero costs a fifth of any().
    if np.count_nonzero(mask):
        for key in values:
            # Not one mask for all keys: the arrays of infos are the caller's.
            own_mask = mask.copy() if infos else mask
            infos[key], infos[f"_{key}"] = values[key], own_mask
    return infos


def stack_infos(infos: InfoList, env_ids: Sequence[int] | None, num_envs: int) -> Infos:
    """Return the layout for a list of info dicts.

    Numbers of Python and numpy become arrays of Gymnasium's dtypes, arrays of one
    shape and dtype a stacked array, dicts a nested layout, and all else an object
    array.  All values decide the dtype, not the first one alone as in Gymnasium: int
    beside float is float, and numbers that do not fit go into an object array.

    Parameters
    ----------
    infos : list of m dicts
    env_ids : sequence of m int, or None
        Their environments; None: all in order.
    num_envs : int
    """
    owners: Any = range(num_envs) if env_ids is None else env_ids
    columns: dict[str, tuple[Any, Any]] = {}
    if set(map(type, infos)) == {dict} and len(set(map(tuple, infos))) == 1:
        # The usual case, without a Python loop over the environments.
        rows = zip(*map(dict.values, infos), strict=True)
        columns = {key: (one, owners) for key, one in zip(infos[0], rows, strict=True)}
    else:
        for env_id, info in zip(owners, infos, strict=True):
            # The method of dict itself: a subclass can hide its own behind entries.
            for key, value in dict.items(info):
                values, ids = columns.setdefault(key, ([], []))
                values.append(value)
                ids.append(env_id)
    mask_names = {f"_{key}" for key in columns}
    stacked: Infos = {}
    for key, (values, ids) in columns.items():
        if key in mask_names:
            continue
        stacked[key] = stack_values(values, ids, num_envs)
        name = f"_{key}"
        # Two keys can have one text, 1 and "1": their mask is one, as in Gymnasium.
        mask = stacked.get(name)
        if mask is None:
            mask = stacked[name] = np.zeros(num_envs, np.bool_)
        mask[slice(None) if len(values) == num_envs else ids] = True
    return stacked


def find_unstackable(infos: InfoList) -> dict[int, str]:
    """Return the infos that `stack_infos` cannot take: their indices and the reasons.

    Values can be anything.  Keys must have a text and be comparable, and the nesting of
    dicts must end.
    """
    # The class of a value need not be hashable.
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


def _is_plain(level: InfoList) -> bool:
    """Return True if infos can surely be stacked; fast, without a loop over entries."""
    for _ in range(4):
        if not set(map(type, chain.from_iterable(map(dict.keys, level)))) <= {str}:
            return False
        kinds = set(map(type, chain.from_iterable(map(dict.values, level))))
        if not any(issubclass(kind, dict) for kind in kinds):
            return True
        values = chain.from_iterable(map(dict.values, level))
        # Not isinstance: a proxy of a dict claims to be one.
        level = [value for value in values if issubclass(type(value), dict)]
    return False


def _check_stackable(info: dict[Any, Any]) -> None:
    """Use keys and classes as `stack_infos` does, through all nested dicts.

    Raises
    ------
    ValueError
        If dicts are nested too deeply, or there are too many.
    Exception
        Any error in the methods of a user's own class.
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


def stack_values(values: Any, env_ids: Sequence[int], num_envs: int) -> Any:
    """Return the array, or the nested layout, of one key's values."""
    types = set(map(type, values))
    if all(issubclass(kind, dict) for kind in types):
        return stack_infos(list(values), env_ids, num_envs)
    dtype, shape = _common(values, types)
    if dtype is object:
        # Not from the values themselves: numpy would unpack sequences of equal length.
        values = np.fromiter(values, object, len(values))
    if len(values) == num_envs:
        return np.array(values, dtype)
    stacked = blank_array((num_envs, *shape), dtype)
    stacked[env_ids] = values
    return stacked


def _common(values: Any, types: set[type]) -> tuple[Any, tuple[int, ...]]:
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


def add_infos(
    infos: Infos | InfoList,
    env_ids: NDArray[np.int64],
    values: Infos | InfoList,
    num_envs: int,
) -> Infos | InfoList:
    """Write the infos of some environments into ``infos``, and return it.

    Parameters
    ----------
    infos : dict, or list of num_envs dicts
        Changed.
    env_ids : (m,) int64
        If ``infos`` is a list, its dicts of these environments are replaced.
    values : dict of (m, ...) arrays, or list of m dicts
        A dict or a list, as ``infos``; a value may be such a dict itself.
    num_envs : int
    """
    if isinstance(infos, list):
        for env_id, value in zip(env_ids.tolist(), values, strict=True):
            infos[env_id] = value  # type: ignore[assignment]
        return infos
    assert isinstance(values, dict)
    for key, value in values.items():
        if key not in infos:
            infos[key] = {}
            if not isinstance(value, dict):
                shape = num_envs, *value.shape[1:]
                infos[key] = blank_array(shape, value.dtype)
            infos[f"_{key}"] = np.zeros(num_envs, np.bool_)
        if isinstance(value, dict):
            add_infos(infos[key], env_ids, value, num_envs)
        else:
            infos[key][env_ids] = value
        infos[f"_{key}"][env_ids] = True
    return infos


def cut_final_infos(infos: Infos | InfoList, has_ended: NDArray[np.bool_]) -> Infos:
    """Move the entries of ended environments out of ``infos``, and return them.

    Parameters
    ----------
    infos : dict, or list of num_envs dicts
        Of a step.  Its entries of ended environments become blank; keys that no other
        environment has are removed.
    has_ended : (n,) bool

    Returns
    -------
    dict
        The layout of ``infos["final_info"]``.
    """
    if isinstance(infos, list):
        env_ids = np.flatnonzero(has_ended).tolist()
        last = [infos[env_id] for env_id in env_ids]
        for env_id in env_ids:
            infos[env_id] = {}
        return stack_infos(last, env_ids, len(infos))
    final: Infos = {}
    for key in [key for key in infos if not key.startswith("_")]:
        value, mask = infos[key], infos[f"_{key}"]
        final_mask = mask & has_ended
        rows = list_rows(final_mask)
        if len(rows):
            final[key] = blank_array(value.shape, value.dtype)
            final[key][rows] = value[rows]
            final[f"_{key}"] = final_mask
            value[rows] = blank_array(1, value.dtype)
            mask[rows] = False
            if not np.count_nonzero(mask):
                del infos[key], infos[f"_{key}"]
    return final
