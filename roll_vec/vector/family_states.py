"""Snapshots of a batch whose environments are of several families.

The array ``families``, (n,) int64, has the family of each row.  The arrays of family k
have its number before their names, such as ``2.elapsed_steps``; their rows of other
families are zero.  Tables that rows share are named in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError
from roll_vec.vector.engine import EngineState

FAMILIES = "families"


def join_families(states: Sequence[EngineState], starts: Sequence[int]) -> EngineState:
    """Return one state of all environments.

    Parameters
    ----------
    states : sequence of k EngineState
        State j of the environments from ``starts[j]`` to ``starts[j + 1] - 1``.
    starts : sequence of k + 1 int
    """
    num_envs = starts[-1]
    arrays: dict[str, NDArray[Any]] = {
        FAMILIES: np.repeat(np.arange(len(states)), np.diff(starts))
    }
    shared: dict[str, Any] = {}
    objects: list[Any] = [None] * num_envs
    for k, state in enumerate(states):
        rows = slice(starts[k], starts[k + 1])
        for name, array in state.arrays.items():
            whole = np.zeros((num_envs, *array.shape[1:]), array.dtype)
            whole[rows] = array
            arrays[f"{k}.{name}"] = whole
        shared |= {f"{k}.{name}": table for name, table in state.shared.items()}
        if state.objects is not None:
            objects[rows] = state.objects
    has_objects = any(state.objects is not None for state in states)
    return EngineState(arrays, shared, tuple(objects) if has_objects else None)


def take_family(state: EngineState, family: int) -> EngineState:
    """Return the arrays and tables of one family, under their own names.

    All rows are in them; those of other families are zero.
    """
    return EngineState(
        _strip(state.arrays, family), _strip(state.shared, family), state.objects
    )


def _strip(values: Mapping[str, Any], family: int) -> dict[str, Any]:
    prefix = f"{family}."
    return {
        name.removeprefix(prefix): value
        for name, value in values.items()
        if name.startswith(prefix)
    }


def own_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that all families have, such as ``seeds``."""
    others = {name for name in arrays if name.partition(".")[0].isdecimal()}
    return {
        name: array
        for name, array in arrays.items()
        if name not in others and name != FAMILIES
    }


def add_family_rows(
    arrays: Mapping[str, NDArray[Any]], changed: Mapping[str, NDArray[Any]], family: int
) -> dict[str, NDArray[Any]]:
    """Return rows with other values of their family.

    Parameters
    ----------
    arrays : mapping
        Of m rows of one family, as in a snapshot of all families.
    changed : mapping
        Of the same rows, under the family's own names.
    family : int
    """
    own = own_arrays(arrays)
    new = {
        name if name in own else f"{family}.{name}": array
        for name, array in changed.items()
    }
    return {**arrays, **new}


def check_families(state: EngineState, num_families: int) -> None:
    """Check the array of families, and that the other arrays are those of families.

    Raises
    ------
    InvalidStateError
    """
    families = state.arrays.get(FAMILIES)
    accepted = f"int64 of shape (n,), from 0 to {num_families - 1}"
    if families is None or families.dtype != np.int64 or families.ndim != 1:
        raise InvalidStateError.of_array(FAMILIES, accepted, families)
    outside = families[(families < 0) | (families >= num_families)]
    if len(outside):
        raise InvalidStateError.of_array(FAMILIES, accepted, int(outside[0]))
    for name in state.arrays:
        number, dot, _ = name.partition(".")
        is_known = number.isdecimal() and int(number) < num_families
        if name != FAMILIES and not (dot and is_known):
            accepted = f"arrays of the families 0 to {num_families - 1}"
            raise InvalidStateError.expected("state", accepted, name)
