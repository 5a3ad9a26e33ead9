"""Values of any size as rows of arrays: the states of environments that are objects.

A snapshot of a pool has three arrays for values of a name: ``<name>s``, (n, longest)
uint8, the bytes of each value, filled up with zeros; ``<name>_lengths``, (n,) int64;
and ``<name>_kinds``, (n,) int8, one of these::

    PLAIN          plain data, see `roll_vec.plain_data`
    PICKLED        a value, pickled
    PICKLED_ENV    an environment object, pickled
    COPY           no bytes: the object is in `EngineState.objects`
    LOST           no bytes and no object: a fault lost it
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError
from roll_vec.plain_data import decode, encode

__all__ = [
    "COPY",
    "LOST",
    "PICKLED",
    "PICKLED_ENV",
    "PLAIN",
    "array_names",
    "check_packed",
    "concatenate_rows",
    "from_bytes",
    "has_pickles",
    "pack",
    "read_value",
    "replace_value",
    "take_rows",
    "to_bytes",
    "unpack",
]

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


def from_bytes(kind: int, content: bytes) -> Any:
    """Return the value that `to_bytes` wrote, in new objects.

    Raises
    ------
    ValueError
        If the bytes are no plain data, or the kind is neither `PLAIN` nor `PICKLED`.  A
        pickle may raise anything.
    """
    if kind == PLAIN:
        return decode(content)
    # Not by default: `load` refuses files by this kind.
    if kind == PICKLED:
        return pickle.loads(content)
    message = f"a value of the kind {kind} has no bytes to read"
    raise ValueError(message)


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
    bytes_name, lengths_name, kinds_name = array_names(name)
    matrix = arrays[bytes_name]
    if matrix.dtype != np.uint8 or matrix.ndim != 2:
        value = f"{matrix.dtype} of shape {matrix.shape}"
        accepted = "uint8 of shape (n, longest)"
        raise InvalidStateError.of_array(bytes_name, accepted, value)
    limits: tuple[tuple[str, type, int], ...] = (
        (lengths_name, np.int64, matrix.shape[1]),
        (kinds_name, np.int8, max_kind),
    )
    for array_name, dtype, highest in limits:
        array = arrays[array_name]
        accepted = f"{np.dtype(dtype)} of shape (n,), from 0 to {highest}"
        if array.dtype != dtype or array.ndim != 1:
            value = f"{array.dtype} of shape {array.shape}"
            raise InvalidStateError.of_array(array_name, accepted, value)
        outside = array[(array < 0) | (array > highest)]
        if len(outside):
            raise InvalidStateError.of_array(array_name, accepted, int(outside[0]))


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
        whole[name] = np.concatenate(arrays)
    return whole


def has_pickles(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether some values of a snapshot are pickles, which may run any code."""
    return any(
        bool(np.isin(array, (PICKLED, PICKLED_ENV)).any())
        for name, array in arrays.items()
        if name.endswith("_kinds")
    )


def read_value(name: str, arrays: Mapping[str, NDArray[Any]], row: int) -> Any:
    """Return the value of one row, in new objects.

    Raises
    ------
    InvalidStateError
        If it is an environment object, or lost.
    """
    ((kind, content),) = unpack(name, arrays, np.array([row]))
    if kind not in (PLAIN, PICKLED):
        message = (
            f"row {row}: the snapshot has no value for it: its environment has no "
            "get_state, or was lost in a fault"
        )
        raise InvalidStateError(message)
    return from_bytes(kind, content)


def replace_value(
    name: str, arrays: Mapping[str, NDArray[Any]], row: int, value: Any
) -> dict[str, NDArray[Any]]:
    """Return the three arrays with another value in one row."""
    pairs = unpack(name, arrays, np.arange(len(arrays[f"{name}s"])))
    pairs[row] = to_bytes(value)
    kinds, contents = zip(*pairs, strict=True)
    return pack(name, kinds, contents)
