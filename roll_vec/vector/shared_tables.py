"""Values that the rows of a snapshot share, such as sets of level options.

A table is a list of values, as `json` writes them; the array of the same name has for
each row an index into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError

Tables = dict[str, Any]
Arrays = Mapping[str, NDArray[Any]]


def join_tables(
    tables: Sequence[Tables], arrays: Sequence[Arrays]
) -> tuple[Tables, list[Arrays]]:
    """Return the tables of one snapshot for those of several, and the arrays for them.

    Parameters
    ----------
    tables : sequence of dict
    arrays : sequence of mapping from str to array
        Of the same snapshots.

    Returns
    -------
    dict
        Each table has the values of all, in the order in which they appear.
    list of mapping
        The arrays with indices into these tables.

    Raises
    ------
    InvalidStateError
        If the tables have different names, or an index is outside of its table.
    """
    first, columns = tables[0], list(arrays)
    if all(own == first for own in tables):
        return first, columns
    joined: Tables = {name: [] for name in first}
    for k, own in enumerate(tables):
        if own.keys() != first.keys():
            accepted = f"states with the shared values {sorted(first)}"
            raise InvalidStateError.expected("states", accepted, sorted(own))
        for name, values in own.items():
            positions = []
            for value in values:
                if value not in joined[name]:
                    joined[name].append(value)
                positions.append(joined[name].index(value))
            columns[k] = _replace_indices(columns[k], name, positions)
    return joined, columns


def sort_tables(tables: Tables, arrays: Arrays) -> tuple[Tables, Arrays]:
    """Return tables in the order in which rows use their values, and arrays for them.

    Values that no row uses are left out.  Two snapshots with the same values in each
    row have the same tables then.

    Raises
    ------
    InvalidStateError
        If an index is outside of its table.
    """
    joined: Tables = {}
    for name, values in tables.items():
        order: list[Any] = []
        positions = [0] * len(values)
        for index in check_indices(arrays, name, len(values)):
            if values[index] not in order:
                order.append(values[index])
            positions[index] = order.index(values[index])
        joined[name] = order
        arrays = _replace_indices(arrays, name, positions)
    return joined, arrays


def check_indices(arrays: Arrays, name: str, count: int) -> list[int]:
    """Return the different indices of an array in the order of its rows.

    Raises
    ------
    InvalidStateError
        If they are no integers below ``count``.
    """
    array = arrays.get(name, np.zeros(0, np.int64))
    accepted = f"integers of shape (n,), from 0 to {count - 1}"
    if array.dtype.kind not in "iu" or array.ndim != 1:
        value = f"{array.dtype} of shape {array.shape}"
        raise InvalidStateError.of_array(name, accepted, value)
    indices = list(dict.fromkeys(array.tolist()))
    for index in indices:
        if not 0 <= index < count:
            raise InvalidStateError.of_array(name, accepted, index)
    return indices


def _replace_indices(arrays: Arrays, name: str, positions: list[int]) -> Arrays:
    """Return the arrays with index k of one of them replaced by ``positions[k]``."""
    if not check_indices(arrays, name, len(positions)):
        return arrays
    indices = arrays[name]
    return {**arrays, name: np.array(positions, indices.dtype)[indices]}
