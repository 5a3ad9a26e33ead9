"""The arrays of a snapshot that are more than numbers of environments.

Seeds may have any size: `StreamSeeds` writes them as hexadecimal digits.

Values that rows share, such as sets of level options, stand in a table, a list of
values as `json` writes them; the array of the same name has for each row an index into
it.

The states of environments that are objects have any size, too.  A snapshot of a pool
has three arrays for values of a name: ``<name>s``, (n, longest) uint8, the bytes of
each value, filled up with zeros; ``<name>_lengths``, (n,) int64; and ``<name>_kinds``,
(n,) int8, one of these::

    PLAIN          plain data, see `roll_vec.storage.plain_data`
    PICKLED        a value, pickled
    PICKLED_ENV    an environment object, pickled
    COPY           no bytes: the object is in `EngineState.objects`
    LOST           no bytes and no object: a fault lost it
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError
from roll_vec.storage.plain_data import decode, encode

PLAIN, PICKLED, PICKLED_ENV, COPY, LOST = range(5)


def to_bytes(value: Any) -> tuple[int, bytes]:
    """Return the kind of a value, `PLAIN` or `PICKLED`, and its bytes.

    Raises
    ------
    Exception
        If it can be neither.
    """
    try:
        return PLAIN, encode(value)
    except TypeError:
        return PICKLED, pickle.dumps(value)


def from_bytes(kind: int, content: bytes, name: str = "state") -> Any:
    """Return the value that `to_bytes` wrote, in new objects.

    Parameters
    ----------
    kind : int
        `PLAIN`; or `PICKLED`, of a snapshot whose pickles are allowed.
    content : bytes
    name : str
        Of the value, for messages.

    Raises
    ------
    InvalidStateError
        If they are the bytes of no value.
    """
    if kind not in (PLAIN, PICKLED):
        raise InvalidStateError.of_array(name, "bytes of a value", f"kind {kind}")
    try:
        return decode(content) if kind == PLAIN else pickle.loads(content)
    except Exception as error:
        raise InvalidStateError.of_array(name, "a value", error) from None


def array_names(name: str) -> tuple[str, str, str]:
    """Return the names of the three arrays of some values."""
    return f"{name}s", f"{name}_lengths", f"{name}_kinds"


def pack(
    name: str, kinds: Sequence[int], contents: Sequence[bytes]
) -> dict[str, NDArray[Any]]:
    """Return values, by kinds and bytes, as three arrays; some may be read-only."""
    lengths = np.fromiter(map(len, contents), np.int64, len(contents))
    width = int(lengths.max())
    rows = b"".join([content.ljust(width, b"\0") for content in contents])
    matrix = np.frombuffer(rows, np.uint8).reshape(len(contents), width)
    arrays = matrix, lengths, np.array(kinds, np.int8)
    return dict(zip(array_names(name), arrays, strict=True))


def check_packed(name: str, arrays: Mapping[str, NDArray[Any]], max_kind: int) -> None:
    """Check dtypes, shapes, lengths and kinds of the three arrays, not the values.

    Raises
    ------
    InvalidStateError
    """
    bytes_name, lengths_name, kinds_name = names = array_names(name)
    if not arrays.keys() >= set(names):
        accepted = f"the arrays {', '.join(names)}"
        raise InvalidStateError.expected("state", accepted, sorted(arrays))
    matrix = arrays[bytes_name]
    if matrix.dtype != np.uint8 or matrix.ndim != 2:
        value = f"{matrix.dtype} of shape {matrix.shape}"
        accepted = "uint8 of shape (n, longest)"
        raise InvalidStateError.of_array(bytes_name, accepted, value)
    lengths, kinds = arrays[lengths_name], arrays[kinds_name]
    check_numbers(lengths_name, lengths, np.int64, 0, matrix.shape[1])
    check_numbers(kinds_name, kinds, np.int8, 0, max_kind)


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


def check_all_packed(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check the arrays of all values of a snapshot; see `check_packed`."""
    for name in arrays:
        if name.endswith("_kinds"):
            check_packed(name.removesuffix("_kinds"), arrays, LOST)


def unpack(
    name: str, arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]
) -> list[tuple[int, bytes]]:
    """Return the kinds and the bytes of some rows."""
    matrix, lengths, kinds = (arrays[each][rows] for each in array_names(name))
    width, data = matrix.shape[1], matrix.tobytes()
    return [
        (kind, data[i * width : i * width + length])
        for i, (kind, length) in enumerate(
            zip(kinds.tolist(), lengths.tolist(), strict=True)
        )
    ]


def take_rows(
    arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return some rows of all arrays, with values no wider than the longest of them."""
    selection = {name: array[rows] for name, array in arrays.items()}
    for name in arrays:
        values, lengths, kinds = array_names(name.removesuffix("_kinds"))
        if name == kinds and len(rows) and {values, lengths} <= selection.keys():
            selection[values] = selection[values][:, : int(selection[lengths].max())]
    return selection


def concatenate_rows(
    parts: Sequence[Mapping[str, NDArray[Any]]],
) -> dict[str, NDArray[Any]]:
    """Return the rows of several snapshots, which have arrays of the same names."""
    whole = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        if f"{name.removesuffix('s')}_kinds" in parts[0]:
            width = max(array.shape[1] for array in arrays)
            fills = [((0, 0), (0, width - array.shape[1])) for array in arrays]
            arrays = [np.pad(*pair) for pair in zip(arrays, fills, strict=True)]
        try:
            whole[name] = np.concatenate(arrays)
        except (TypeError, ValueError) as error:
            accepted = "arrays of one dtype and shape of rows"
            raise InvalidStateError.of_array(name, accepted, str(error)) from None
    return whole


def has_pickles(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether some values of a snapshot may be pickles, which run any code.

    Kinds of another dtype may be: what numpy compares is not what `unpack` returns.
    """
    return any(
        array.dtype != np.int8 or bool(np.isin(array, (PICKLED, PICKLED_ENV)).any())
        for name, array in arrays.items()
        if name.endswith("_kinds")
    )


def read_value(name: str, arrays: Mapping[str, NDArray[Any]], row: int) -> Any:
    """Return the value of one row, in new objects.

    Raises
    ------
    InvalidStateError
        If it is an environment object, lost, or cannot be read.
    """
    ((kind, content),) = unpack(name, arrays, np.array([row]))
    if kind not in (PLAIN, PICKLED):
        message = (
            f"row {row}: the snapshot has no value for it: its environment has no "
            "get_state, or was lost in a fault"
        )
        raise InvalidStateError(message)
    return from_bytes(kind, content, f"{name}s[{row}]")


def replace_value(
    name: str, arrays: Mapping[str, NDArray[Any]], row: int, value: Any
) -> dict[str, NDArray[Any]]:
    """Return the three arrays with another value in one row."""
    pairs = unpack(name, arrays, np.arange(len(arrays[f"{name}s"])))
    pairs[row] = to_bytes(value)
    kinds, contents = zip(*pairs, strict=True)
    return pack(name, kinds, contents)


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
        for index in check_table_indices(arrays, name, len(values)):
            if values[index] not in order:
                order.append(values[index])
            positions[index] = order.index(values[index])
        joined[name] = order
        arrays = _replace_indices(arrays, name, positions)
    return joined, arrays


def check_table_indices(arrays: Arrays, name: str, count: int) -> list[int]:
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
    if not check_table_indices(arrays, name, len(positions)):
        return arrays
    indices = arrays[name]
    return {**arrays, name: np.array(positions, indices.dtype)[indices]}


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
