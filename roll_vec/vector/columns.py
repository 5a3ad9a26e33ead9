"""The arrays of a snapshot that are more than numbers of environments.

Seeds may have any size: `StreamSeeds` writes them as hexadecimal digits.

"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError
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
