"""The infos of a batch: Gymnasium's layout, and its parts.

The layout is a dict of arrays with one entry per environment.  Beside each key K there
is a bool mask ``_K``: the environments that have the key.  The other entries are zero,
or None in an object array.  A key that no environment has is absent.  Where the values
of a key are dicts, its value is a layout, too.  A key need not be a str: the name of
its mask is "_" and its text.  A key that has the name of another key's mask is dropped.

An engine returns infos in this layout, or as a list with one dict per environment
(`InfoList`), which `stack_infos` turns into the layout, and `split_infos` back.  Infos
of resets are of some environments: a layout of these needs no masks, since all have its
keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.vector.masks import list_rows

Infos: TypeAlias = dict[str, Any]
InfoList: TypeAlias = list[dict[str, Any]]

# The dtypes that Gymnasium gives to Python's numbers.
_DTYPES: dict[type, type] = {bool: np.bool_, int: np.int64, float: np.float64}
# Dtype and shape that hold any values of a type.
_FORMS: dict[type, tuple[Any, tuple[int, ...]]] = {
    bool: (np.bool_, ()),
    float: (np.float64, ()),
    str: (object, ()),
}
_FIRST_CHARACTER = itemgetter(slice(1))
_NUMPY = (np.ndarray, np.generic)
_INT64 = range(-(1 << 63), 1 << 63)
EXACT = 1 << 53  # up to here every integer is a float64


def blank_array(shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of the value of environments without an entry: zero or None."""
    if np.dtype(dtype) == object:
        return np.empty(shape, object)  # all None
    return np.zeros(shape, dtype)


def stack_infos(infos: InfoList, env_ids: Sequence[int] | None, num_envs: int) -> Infos:
    """Return the layout for a list of info dicts.

    Numbers of Python and numpy become arrays of Gymnasium's dtypes, arrays of one
    shape and dtype a stacked array, dicts a nested layout, and all else an object
    array.  All values decide the dtype, not the first one alone as in Gymnasium: int
    beside float is float, and numbers that do not fit go into an object array.  A dict
    that holds itself raises a RecursionError.

    Parameters
    ----------
    infos : list of m dicts
    env_ids : sequence of m int, or None
        Their environments; None: all in order.
    num_envs : int
    """
    owners: Any = range(num_envs) if env_ids is None else env_ids
    layout = stack_plain(infos, owners, num_envs)
    if layout is not None:
        return layout
    columns: dict[str, tuple[list[Any], list[int]]] = {}
    for env_id, info in zip(owners, infos, strict=True):
        # The method of dict itself: a subclass may have another.
        for key, value in dict.items(info):
            values, ids = columns.setdefault(key, ([], []))
            values.append(value)
            ids.append(env_id)
    mask_names = {f"_{key}" for key in columns}
    layout = {}
    for key, (values, ids) in columns.items():
        if key in mask_names:
            continue
        layout[key] = stack_values(values, ids, num_envs)
        name = f"_{key}"
        # Two keys can have one text, 1 and "1": their mask is one, as in Gymnasium.
        mask = layout.get(name)
        if mask is None:
            mask = layout[name] = np.zeros(num_envs, np.bool_)
        mask[ids] = True
    return layout


def stack_plain(infos: InfoList, env_ids: Sequence[int], num_envs: int) -> Infos | None:
    """Return the layout for infos of one form, as most are; None for others.

    All are dicts, empty or with the same keys, which are str and do not begin with "_".
    The values of a key have one type, which is no dict, and the same dtype for any
    selection of environments.  There is no Python loop over the environments.

    Parameters
    ----------
    infos : list of m dicts
    env_ids : sequence of m int
        Their environments, ascending.
    num_envs : int
    """
    if set(map(type, infos)) != {dict}:
        return None
    if not all(infos):
        env_ids = list(compress(env_ids, infos))
        infos = list(filter(None, infos))
    if not infos:
        return {}
    if len(set(map(tuple, infos))) != 1:
        return None
    keys = list(infos[0])
    if set(map(type, keys)) - {str} or "_" in map(_FIRST_CHARACTER, keys):
        return None
    mask = np.zeros(num_envs, np.bool_)
    mask[env_ids] = True
    layout: Infos = {}
    rows = zip(*map(dict.values, infos), strict=True)
    for key, values in zip(keys, rows, strict=True):
        kind, *others = set(map(type, values))
        if others or issubclass(kind, dict):
            return None
        # Most columns are faster than a call of `_common`.
        dtype, shape = _FORMS.get(kind) or _common(values, {kind})
        if dtype is object and (kind in _DTYPES or issubclass(kind, _NUMPY)):
            return None
        layout[key] = _fill(values, dtype, shape, env_ids, num_envs)
        layout[f"_{key}"] = mask.copy()
    return layout


def stack_values(values: Any, env_ids: Sequence[int], num_envs: int) -> Any:
    """Return the array, or the nested layout, of one key's values."""
    types = set(map(type, values))
    if all(issubclass(kind, dict) for kind in types):
        return stack_infos(list(values), env_ids, num_envs)
    return _fill(values, *_common(values, types), env_ids, num_envs)


def _fill(
    values: Any,
    dtype: Any,
    shape: tuple[int, ...],
    env_ids: Sequence[int],
    num_envs: int,
) -> NDArray[Any]:
    """Return the array of one key's values; other environments have blank ones."""
    if dtype is object:
        # Not from the values themselves: numpy would unpack sequences of equal length.
        values = np.fromiter(values, object, len(values))
    if len(values) == num_envs:
        return np.asarray(values, dtype)
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
        if kind in _FORMS:
            return _FORMS[kind]
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
    infos: AnyInfos | None,
    env_ids: NDArray[np.int64],
    values: AnyInfos,
    num_envs: int,
) -> AnyInfos:
    """Write the infos of some environments into those of a batch, and return these.

    Parameters
    ----------
    infos : dict, list of num_envs dicts, or None
        Changed; a list's dicts of these environments are replaced.  None: there are
        none yet.
    env_ids : (m,) int64
    values : dict of (m, ...) arrays, or list of m dicts
        A value may be such a dict itself.
    num_envs : int
    """
    if infos is None:
        infos = {} if isinstance(values, dict) else [{}] * num_envs
    elif type(infos) is not type(values):
        if isinstance(infos, dict) and isinstance(values, list):
            layout = stack_infos(values, env_ids.tolist(), num_envs)
            # Of one key, all values together decide the dtype.
            if infos.keys().isdisjoint(layout):
                return infos | layout
        infos, values = list_infos(infos, num_envs), list_infos(values, len(env_ids))
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
        environment has are removed.  A dict is one of an engine: all keys are str that
        do not begin with "_", and no value is a dict.
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
        if len(rows) == np.count_nonzero(mask):
            # Nobody else has the key.
            del infos[key], infos[f"_{key}"]
            if len(rows):
                final[key], final[f"_{key}"] = value, mask
        elif len(rows):
            ended = final[key] = blank_array(value.shape, value.dtype)
            # Not rows of `ended`: a read of fresh pages takes as long as a write.
            ended[rows] = value[rows]
            value[rows] = blank_array((1, *value.shape[1:]), value.dtype)
            final[f"_{key}"] = final_mask
            mask[rows] = False
    return final


# Of these dtypes Python's values become the same array again.
_PYTHON = (np.bool_, np.int64, np.float64, object)


def split_infos(
    infos: Infos, env_ids: NDArray[np.int64], *, exact: bool = False
) -> InfoList:
    """Return the infos of some environments as one dict each.

    Parameters
    ----------
    infos : dict
        In Gymnasium's layout, as `roll_vec.vector.infos` describes it.
    env_ids : (m,) int64
    exact : bool
        True: numbers that are not Python's keep their dtypes, so that `stack_infos`
        makes the same arrays of the dicts; and all environments have a key without a
        mask.

    Returns
    -------
    list of m dicts
        Numbers are Python's.  The rows of arrays are views.
    """
    # Python's time for thousands of dicts is most of a step.  Values that all have in
    # common, as most have, are copied with the dict: 20 ns in place of 60 ns each.
    # The keys keep their order: none after a key that some lack is in common.
    common: dict[str, Any] = {}
    columns: list[tuple[str, list[Any], list[int] | None]] = []
    mask_names = {f"_{key}" for key in infos}
    all_have_keys = True
    for key in infos:
        # The masks of keys are no keys; one without a mask is no info of environments.
        if key in mask_names or not (exact or f"_{key}" in infos):
            continue
        mask = infos.get(f"_{key}")
        mask = np.ones(len(env_ids), np.bool_) if mask is None else mask[env_ids]
        count = np.count_nonzero(mask)
        owners = None if count == len(env_ids) else mask.nonzero()[0].tolist()
        if not count:
            continue
        ids = env_ids if owners is None else env_ids[mask]
        values = _column(infos[key], ids, exact)
        first = values[0]
        all_have_keys = all_have_keys and owners is None
        if all_have_keys:
            common[key] = first
        # Only flags: other values can be equal and differ in type, or be changed.
        is_flag = type(first) is bool and infos[key].dtype == np.bool_
        if not (is_flag and all_have_keys and values.count(first) == count):
            columns.append((key, values, owners))
    rows: InfoList = [common.copy() for _ in range(len(env_ids))]
    for key, values, owners in columns:
        selected = rows if owners is None else map(rows.__getitem__, owners)
        for row, value in zip(selected, values, strict=True):
            row[key] = value
    return rows


def _column(value: Any, env_ids: NDArray[np.int64], exact: bool) -> list[Any]:
    """Return one key's values of some environments."""
    if isinstance(value, dict):
        return split_infos(value, env_ids, exact=exact)
    column = value[env_ids]
    is_python = column.ndim == 1 and (not exact or column.dtype in _PYTHON)
    values: list[Any] = column.tolist() if is_python else list(column)
    return values


AnyInfos: TypeAlias = Infos | InfoList


def join_infos(parts: Sequence[tuple[AnyInfos, int]]) -> AnyInfos:
    """Return the infos of consecutive environments as those of all.

    Parameters
    ----------
    parts : sequence of (infos, number of environments)

    Returns
    -------
    dict or list
        A list unless the values of each key have one form: all values together then
        decide on the dtypes, as in one engine of all environments.
    """
    parts = [(part, size) for part, size in parts if size]
    layouts = [(part, size) for part, size in parts if isinstance(part, dict)]
    joined = _join_layouts(layouts) if len(layouts) == len(parts) else None
    if joined is not None:
        return joined
    lists = [list_infos(part, size) for part, size in parts]
    return list(chain.from_iterable(lists))


def _join_layouts(parts: Sequence[tuple[Any, int]]) -> Infos | None:
    """Return layouts as one; None if they differ in form."""
    joined: Infos = {}
    keys = dict.fromkeys(chain.from_iterable(part for part, _ in parts))
    for key in keys:
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
            [
                part[key] if key in part else blank_array((n, *shape), dtype)
                for part, n in parts
            ]
        )
    return joined


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


def stack_infos_in_time(steps: Sequence[Infos], num_envs: int) -> Infos:
    """Return the infos of T steps in one layout of (T, n) arrays and masks.

    They are stacked as those of one step of T * n environments.

    Parameters
    ----------
    steps : sequence of T dicts
        Each in Gymnasium's layout.
    num_envs : int
    """
    joined = join_infos([(step, num_envs) for step in steps])
    count = len(steps) * num_envs
    return reshape_infos(finish_infos(joined, count), (len(steps), num_envs))


def reshape_infos(infos: Infos, shape: tuple[int, ...]) -> Infos:
    """Return a layout whose first axis has become several."""
    return {
        key: reshape_infos(value, shape)
        if isinstance(value, dict)
        else value.reshape(*shape, *value.shape[1:])
        for key, value in infos.items()
    }
