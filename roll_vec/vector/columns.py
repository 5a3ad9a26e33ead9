"""The arrays of a snapshot that are more than numbers of environments.

Seeds may have any size: `StreamSeeds` writes them as hexadecimal digits.


Where environments are of several families, the array ``families``, (n,) int64, has the
family of each row.  The arrays of family k have its number before their names, such as
``2.elapsed_steps``; their rows of other families are zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError
from roll_vec.vector.engine import EngineState
from roll_vec.vector.values import is_values


def check_numbers(
    name: str, array: NDArray[Any] | None, dtype: type, lowest: float, highest: float
) -> None:
    """Check an array that has a number for each row of a state.

    Raises
    ------
    InvalidStateError
        For another dtype or shape, or a number below ``lowest`` or above ``highest``.
    """
    accepted = f"{np.dtype(dtype)} of shape (n,), from {lowest} to {highest}"
    if array is None or array.dtype != dtype or array.ndim != 1:
        value = array if array is None else f"{array.dtype} of shape {array.shape}"
        raise InvalidStateError.of_array(name, accepted, value)
    outside = array[(array < lowest) | (array > highest)]
    if len(outside):
        raise InvalidStateError.of_array(name, accepted, outside[0])


def take_rows(
    arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return some rows of all arrays, with values no wider than the longest of them."""
    selection = {name: array[rows] for name, array in arrays.items()}
    for name, array in selection.items():
        if is_values(name, array) and len(rows):
            selection[name] = np.array(array.tolist())
    return selection


def concatenate_rows(
    parts: Sequence[Mapping[str, NDArray[Any]]],
) -> dict[str, NDArray[Any]]:
    """Return the rows of several snapshots, which have arrays of the same names."""
    whole = {}
    for name in parts[0]:
        try:
            whole[name] = np.concatenate([part[name] for part in parts])
        except (TypeError, ValueError) as error:
            accepted = "arrays of one dtype and shape of rows"
            raise InvalidStateError.of_array(name, accepted, str(error)) from None
    return whole


# What `encode_seeds` writes.
_DIGITS = re.compile(rb"|0|[1-9a-f][0-9a-f]*")


class StreamSeeds:
    """The seed that the stream of each environment started from, or None.

    A snapshot has them as hexadecimal digits, because a seed may have any size.  They
    are converted when they are asked for: thousands of conversions would cost more than
    the rest of a snapshot.

    Parameters
    ----------
    seeds : list of int and None, or (n,) array of bytes
        Never changed.
    """

    def __init__(self, seeds: list[int | None] | NDArray[np.bytes_]) -> None:
        self._list = seeds if isinstance(seeds, list) else None
        self._digits = seeds if not isinstance(seeds, list) else None

    @property
    def values(self) -> list[int | None]:
        """The seeds, a list of n; not to be changed."""
        if self._list is None:
            assert self._digits is not None
            self._list = [decode_seed(digits) for digits in self._digits.tolist()]
        return self._list

    @property
    def digits(self) -> NDArray[np.bytes_]:
        """(n,) array of hexadecimal digits, empty for None; not to be changed."""
        if self._digits is None:
            self._digits = encode_seeds(self.values)
        return self._digits

    def replace(
        self, env_ids: Sequence[int], seeds: Sequence[int | None]
    ) -> StreamSeeds:
        """Return them with the new seeds of some environments; None keeps the seed."""
        if None not in seeds and len(seeds) == len(self):
            return StreamSeeds(list(seeds))
        if all(seed is None for seed in seeds):
            return self
        values = self.values.copy()
        for env_id, seed in zip(env_ids, seeds, strict=True):
            if seed is not None:
                values[env_id] = seed
        return StreamSeeds(values)

    def copy_rows(
        self,
        digits: NDArray[np.bytes_],
        rows: NDArray[np.int64],
        env_ids: NDArray[np.int64],
    ) -> StreamSeeds:
        """Return them with ``env_ids[j]`` as row ``rows[j]`` of a snapshot."""
        if len(env_ids) == len(self):
            return StreamSeeds(digits[rows])
        own = self.digits.astype(max(self.digits.dtype, digits.dtype))
        own[env_ids] = digits[rows]
        return StreamSeeds(own)

    def __len__(self) -> int:
        return len(self.digits if self._list is None else self._list)

    @staticmethod
    def check(arrays: Mapping[str, NDArray[Any]], name: str = "seeds") -> None:
        """Check an array of seeds of a snapshot.

        Raises
        ------
        InvalidStateError
        """
        array = arrays.get(name)
        if (
            array is None
            or array.dtype.kind != "S"
            or array.ndim != 1
            or not all(map(_DIGITS.fullmatch, array.tolist()))
        ):
            accepted = "hexadecimal digits of seeds, an array of bytes"
            raise InvalidStateError.of_array(name, accepted, array)


def encode_seeds(seeds: Sequence[int | None]) -> NDArray[np.bytes_]:
    """Return seeds of any size as an array of hexadecimal digits, empty for None."""
    digits = [b"" if seed is None else b"%x" % seed for seed in seeds]
    return np.array(digits, f"S{max(16, *map(len, digits))}")


def decode_seed(digits: bytes) -> int | None:
    """Return one seed of `encode_seeds`."""
    return int(digits, 16) if digits else None


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
    objects: list[Any] = [None] * num_envs
    for k, state in enumerate(states):
        rows = slice(starts[k], starts[k + 1])
        for name, array in state.arrays.items():
            whole = np.zeros((num_envs, *array.shape[1:]), array.dtype)
            whole[rows] = array
            arrays[f"{k}.{name}"] = whole
        if state.objects is not None:
            objects[rows] = state.objects
    has_objects = any(state.objects is not None for state in states)
    return EngineState(arrays, tuple(objects) if has_objects else None)


def take_family(state: EngineState, family: int) -> EngineState:
    """Return the arrays of one family, under their own names.

    All rows are in them; those of other families are zero.
    """
    prefix = f"{family}."
    arrays = {
        name.removeprefix(prefix): array
        for name, array in state.arrays.items()
        if name.startswith(prefix)
    }
    return EngineState(arrays, state.objects)


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
