"""The arrays of a snapshot that are more than numbers: values of any size.

A snapshot of a pool has two arrays of values, (n,) bytes: ``states``, of the
environment objects, and ``records``, of what the pool knows of them.  Beside them
``kinds``, (n,) int64, has the place of each in the list of different environments of
the configuration.  The first byte of a row of values says what follows::

    J           plain data, see `roll_vec.storage.plain_data`
    P           a value, pickled
    E           an environment object, pickled
    (no byte)   nothing: a fault lost the object

numpy drops zeros at the end of a row: neither plain data nor a pickle ends with one.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError
from roll_vec.storage.plain_data import decode, encode

PLAIN, PICKLED, PICKLED_ENV, LOST = b"J", b"P", b"E", b""

STATES, RECORDS, KINDS = "states", "records", "kinds"


def is_values(name: str, array: NDArray[Any]) -> bool:
    """Return whether an array of a snapshot has values of any size."""
    return name in (STATES, RECORDS) and array.dtype.kind == "S" and array.ndim == 1


def check_values(name: str, array: NDArray[Any], kinds: tuple[bytes, ...]) -> None:
    """Check the dtype, the shape, and the kind of each row, not the values.

    Raises
    ------
    InvalidStateError
    """
    if not is_values(name, array):
        value = f"{array.dtype} of shape {array.shape}"
        raise InvalidStateError.of_array(name, "bytes of shape (n,)", value)
    for value in array.tolist():
        if value[:1] not in kinds:
            accepted = f"rows that begin with one of {kinds}"
            raise InvalidStateError.of_array(name, accepted, value[:1])


def to_bytes(value: Any) -> bytes:
    """Return the bytes of a value, of the kind `PLAIN` or `PICKLED`.

    Raises
    ------
    Exception
        If it can be neither.
    """
    try:
        return PLAIN + encode(value)
    except TypeError:
        return PICKLED + pickle.dumps(value)


def from_bytes(content: bytes, name: str = "state") -> Any:
    """Return the value that `to_bytes` wrote, in new objects.

    Parameters
    ----------
    content : bytes
        Of a snapshot whose pickles are allowed, if it is one.
    name : str
        Of the value, for messages.

    Raises
    ------
    InvalidStateError
        If they are the bytes of no value.
    """
    kind, data = content[:1], content[1:]
    if kind not in (PLAIN, PICKLED):
        raise InvalidStateError.of_array(name, "bytes of a value", f"kind {kind!r}")
    try:
        return decode(data) if kind == PLAIN else pickle.loads(data)
    except Exception as error:
        raise InvalidStateError.of_array(name, "a value", error) from None


def has_pickles(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether some values of a snapshot are pickles, which run any code."""
    return any(
        value[:1] in (PICKLED, PICKLED_ENV)
        for name, array in arrays.items()
        if is_values(name, array)
        for value in array.tolist()
    )
