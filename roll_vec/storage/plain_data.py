"""Plain data as bytes: states of environments, written and read without pickle.

Plain data are None, bool, int, float, str, bytes, list, tuple, dict, numpy arrays
without objects or fields, numpy scalars, and messages of faults, which recorded infos
have.  A value is read back equal in types and in bits, but a nan as Python's.

The bytes are JSON in UTF-8.  A value that JSON does not have is an object with one key,
its tag::

    {"$tuple": [...]}            {"$dict": [[key, value], ...]}  keys other than str
    {"$bytes": base64}           {"$fault": str}                 a `FaultMessage`
    {"$array": [dtype, shape, order, base64]}
    {"$scalar": [dtype, base64]}
    {"$np.str": str}             {"$np.bytes": base64}

Reading runs no code and builds nothing but these types, whatever the bytes are.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from roll_vec.errors import FaultMessage

_ATOMS = frozenset({str, int, float, bool, type(None)})
# Bool, integers, floats, complex, bytes, str, times: numpy's kinds without objects.
_KINDS = "biufcSUmM"

_to_json = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":")
).encode


def encode(value: Any) -> bytes:
    """Return plain data as bytes.

    Raises
    ------
    TypeError
        If a part is no plain data; the message says where it is.
    """
    try:
        # Strings may have lone surrogates.
        return _to_json(_tag(value, "")).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError) as error:
        # An integer of thousands of digits, or containers within containers.
        message = f"it is no plain data: {error}"
        raise TypeError(message) from None


def _tag(value: Any, where: str) -> Any:
    """Return a value with tags in place of what JSON does not have."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return _tag_dict(value, where)
    if kind is list or kind is tuple:
        parts = value
        # The types of all parts are collected in compiled code: states are large.
        if not {*map(type, value)} <= _ATOMS:
            parts = [_tag(part, f"{where}[{i}]") for i, part in enumerate(value)]
        return parts if kind is list else {"$tuple": parts}
    if kind is FaultMessage:
        return {"$fault": value[:]}
    if kind is bytes:
        return {"$bytes": _to_base64(value)}
    # Slices are exact; str() would drop zeros at the end.
    if kind is np.str_:
        return {"$np.str": value[:]}
    if kind is np.bytes_:
        return {"$np.bytes": _to_base64(value[:])}
    if (kind is np.ndarray or isinstance(value, np.generic)) and (
        value.dtype.kind in _KINDS
    ):
        name = value.dtype.str
        if kind is not np.ndarray:
            return {"$scalar": [name, _to_base64(value.tobytes())]}
        order = "F" if value.flags.fnc else "C"
        data = _to_base64(value.tobytes(order))
        return {"$array": [name, list(value.shape), order, data]}
    dtype = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
    name = f"{kind.__module__}.{kind.__qualname__}{dtype}"
    message = f"{where}{': ' * bool(where)}{name} is no plain data"
    raise TypeError(message)


def _tag_dict(value: dict[Any, Any], where: str) -> Any:
    parts = value
    if not {*map(type, value.values())} <= _ATOMS:
        parts = {key: _tag(part, f"{where}[{key!r}]") for key, part in value.items()}
    if {*map(type, value)} <= {str}:
        is_tag = len(value) == 1 and next(iter(value)).startswith("$")
        if not is_tag:
            return parts
    place = f"a key of {where or 'it'}"
    return {"$dict": [[_tag(key, place), part] for key, part in parts.items()]}


def _to_base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def decode(data: bytes) -> Any:
    """Return the value that `encode` wrote, in new objects.

    Raises
    ------
    ValueError
        If the bytes are no plain data.  Bytes that no `encode` has written may be read
        as plain data, too.
    """
    try:
        return _from_json(str(data, "utf-8", "surrogatepass"))
    except Exception as error:
        # JSON, base64 and numpy raise a dozen kinds of exceptions for other bytes.
        message = f"no plain data: {type(error).__name__}: {error}"
        raise ValueError(message) from None


def _untag(content: dict[str, Any]) -> Any:
    """Return a JSON object, or the value of its tag."""
    if len(content) != 1:
        return content
    ((tag, argument),) = content.items()
    return _READERS[tag](argument) if tag.startswith("$") else content


_from_json = json.JSONDecoder(object_hook=_untag).decode


def _read_array(argument: list[Any]) -> Any:
    name, shape, order, text = argument
    elements = np.frombuffer(bytearray(binascii.a2b_base64(text)), name)
    return elements.reshape(shape, order=order)


_READERS: dict[str, Callable[[Any], Any]] = {
    "$tuple": tuple,
    "$dict": dict,
    "$bytes": binascii.a2b_base64,
    "$fault": FaultMessage,
    "$array": _read_array,
    "$scalar": lambda argument: _read_array([argument[0], [1], "C", argument[1]])[0],
    "$np.str": np.str_,
    "$np.bytes": lambda text: np.bytes_(binascii.a2b_base64(text)),
}
