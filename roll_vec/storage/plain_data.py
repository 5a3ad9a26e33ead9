"""Plain data as bytes: states of environments, written and read without pickle.

Plain data are None, bool, int, float, str, bytes, list, tuple, dict, numpy arrays
without objects or fields, numpy scalars, and messages of faults, which recorded infos
have.  A value is read back equal in types and in bits: integers of any size, the bits
of a nan, strings with lone surrogates.

The bytes are JSON in UTF-8.  A value that JSON does not have is an object with one key,
its tag::

    {"$tuple": [...]}            {"$dict": [[key, value], ...]}  keys other than str
    {"$bytes": base64}           {"$str": base64 of UTF-8 with surrogates}
    {"$int": hexadecimal}        {"$float": hexadecimal bits}    inf, nan
    {"$array": [dtype, shape, order, base64]}
    {"$scalar": [dtype, base64]}
    {"$np.str": str}             {"$np.bytes": base64}
    {"$fault": str}              a `FaultMessage`

Reading runs no code and builds nothing but these types, whatever the bytes are.
"""

from __future__ import annotations

import binascii
import json
import re
import struct
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import FaultMessage

# Containers within containers; Python's own limit of recursion is 1000 calls.
MAX_DEPTH = 100

_ATOMS = frozenset({str, int, float, bool, type(None)})
_STR_ONLY = frozenset({str})
# Bool, integers, floats, complex, bytes, str, times: numpy's kinds without objects.
_DTYPE = re.compile(r"[<>|][biufcSUmM][0-9]{1,9}(\[[0-9a-zA-Z]{1,24}\])?")
# Errors of values that are no plain data.
_NOT_PLAIN = (
    *(ValueError, TypeError, LookupError, AttributeError, OverflowError),
    *(MemoryError, RecursionError, struct.error),
)
# JSON of larger integers is decimal, which Python limits to 4300 digits.
_MAX_JSON_INT = 1 << 128

_to_json = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
).encode


def encode(value: Any) -> bytes:
    """Return plain data as bytes.

    Raises
    ------
    TypeError
        If a part is no plain data, or is nested deeper than `MAX_DEPTH`; the message
        says where it is.
    """
    if type(value) in _ATOMS or _is_native(value, MAX_DEPTH):
        try:
            return _to_json(value).encode()
        except ValueError:
            # An infinite float, a lone surrogate, or an integer of thousands of digits.
            pass
    return _to_json(_tag(value, "", MAX_DEPTH)).encode()


def _is_native(value: Any, depth: int) -> bool:
    """Return whether a container has only what JSON has; False if too deep.

    The types of all elements are collected in compiled code, which halves the time of
    `encode` for states of environments.
    """
    kind = type(value)
    if not depth:
        return False
    if kind is dict:
        if value and {*map(type, value)} != _STR_ONLY:
            return False
        if len(value) == 1 and next(iter(value)).startswith("$"):
            return False
        value = value.values()
    elif kind is not list:
        return False
    if {*map(type, value)} <= _ATOMS:
        return True
    return all(type(part) in _ATOMS or _is_native(part, depth - 1) for part in value)


def _tag(value: Any, where: str, depth: int) -> Any:
    """Return a value with tags in place of what JSON does not have."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        small = -_MAX_JSON_INT < value < _MAX_JSON_INT
        return value if small else {"$int": hex(value)}
    if kind is float:
        finite = value - value == 0.0
        return value if finite else {"$float": struct.pack(">d", value).hex()}
    if kind is str:
        return _tag_text(value)
    if kind is FaultMessage:
        return {"$fault": _tag_text(value[:])}
    if kind is bytes:
        return {"$bytes": _to_base64(value)}
    if isinstance(value, np.generic) or kind is np.ndarray:
        return _tag_numpy(value, where)
    if kind not in (list, tuple, dict):
        _refuse(where, f"{kind.__module__}.{kind.__qualname__} is no plain data")
    if not depth:
        _refuse(where, f"it is nested deeper than {MAX_DEPTH} containers")
    if kind is dict:
        return _tag_dict(value, where, depth - 1)
    parts = [_tag(part, f"{where}[{i}]", depth - 1) for i, part in enumerate(value)]
    return parts if kind is list else {"$tuple": parts}


def _tag_text(text: str) -> Any:
    try:
        text.encode()
    except UnicodeEncodeError:
        return {"$str": _to_base64(text.encode("utf-8", "surrogatepass"))}
    return text


def _tag_dict(value: dict[Any, Any], where: str, depth: int) -> Any:
    pairs = []
    is_object = len(value) != 1 or not str(next(iter(value))).startswith("$")
    for key, part in value.items():
        tagged = _tag(key, f"a key of {where or 'it'}", depth)
        is_object = is_object and type(tagged) is str
        pairs.append([tagged, _tag(part, f"{where}[{key!r}]", depth)])
    return dict(pairs) if is_object else {"$dict": pairs}


def _tag_numpy(value: Any, where: str) -> Any:
    dtype, kind = value.dtype, type(value)
    # Slices are exact; str() would drop zeros at the end.
    if kind is np.str_:
        return {"$np.str": _tag_text(value[:])}
    if kind is np.bytes_:
        return {"$np.bytes": _to_base64(value[:])}
    name = dtype.str
    # One of two C types of the same size is not the one that numpy makes of the name.
    if not _DTYPE.fullmatch(name) or np.dtype(name).char != dtype.char:
        _refuse(where, f"numpy's {dtype} is no plain data")
    if kind is not np.ndarray:
        return {"$scalar": [name, _to_base64(value.tobytes())]}
    order = "F" if value.flags.fnc else "C"
    shape = list(value.shape)
    return {"$array": [name, shape, order, _to_base64(value.tobytes(order))]}


def _refuse(where: str, reason: str) -> NoReturn:
    message = f"{where}: {reason}" if where else reason
    raise TypeError(message)


def _to_base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


# ------------------------------------------------------------------- reading


def decode(data: bytes) -> Any:
    """Return the value that `encode` wrote, in new objects.

    Raises
    ------
    ValueError
        If the bytes are no plain data, or nested deeper than `MAX_DEPTH`.  Bytes that
        no `encode` has written may be read as plain data, too.
    """
    try:
        text = str(data, "utf-8")
        value = _from_json(text)
        # Each level of nesting has a bracket of its own.
        if text.count("[") + text.count("{") > MAX_DEPTH:
            check_depth(value)
    except _NOT_PLAIN as error:
        message = f"no plain data: {type(error).__name__}: {error}"
        raise ValueError(message) from None
    return value


def check_depth(value: Any) -> None:
    """Check that containers are nested no deeper than `MAX_DEPTH`.

    Raises
    ------
    ValueError
    """
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        containers = [part for part in level if type(part) in (list, tuple, dict)]
        if not containers:
            return
        level = []
        for container in containers:
            level += container
            if type(container) is dict:
                level += container.values()
    message = f"nested deeper than {MAX_DEPTH} containers"
    raise ValueError(message)


def check_elements(elements: NDArray[Any]) -> None:
    """Check bytes that numpy takes for elements of a dtype as they are.

    Parameters
    ----------
    elements : (n,) array

    Raises
    ------
    ValueError
        For a bool or a character that there is not.
    """
    dtype = elements.dtype
    # Other bytes than 0 and 1 are both true and unequal to True.
    if dtype.kind == "b" and (elements.view(np.uint8) > 1).any():
        message = "wrong bool"
        raise ValueError(message)
    # numpy does not check the codes when it makes a str of them.
    if dtype.kind == "U":
        codes = elements.view(f"{dtype.str[0]}u4")
        if (codes > sys.maxunicode).any():
            message = "wrong character"
            raise ValueError(message)


def _untag(content: dict[str, Any]) -> Any:
    """Return a JSON object, or the value of its tag."""
    if len(content) != 1:
        return content
    ((tag, argument),) = content.items()
    return _READERS[tag](argument) if tag.startswith("$") else content


_from_json = json.JSONDecoder(object_hook=_untag).decode


def _read_array(argument: list[Any]) -> Any:
    name, shape, order, text = argument
    if not _DTYPE.fullmatch(name):
        message = f"wrong dtype {name[:20]!r}"
        raise ValueError(message)
    elements = np.frombuffer(bytearray(binascii.a2b_base64(text)), name)
    check_elements(elements)
    return elements.reshape(shape, order=order)


_READERS: dict[str, Callable[[Any], Any]] = {
    "$tuple": tuple,
    "$dict": dict,
    "$bytes": binascii.a2b_base64,
    "$str": lambda text: binascii.a2b_base64(text).decode("utf-8", "surrogatepass"),
    "$int": lambda text: int(text, 16),
    "$float": lambda text: struct.unpack(">d", bytes.fromhex(text))[0],
    "$array": _read_array,
    "$scalar": lambda argument: _read_array([argument[0], [1], "C", argument[1]])[0],
    "$np.str": np.str_,
    "$fault": FaultMessage,
    "$np.bytes": lambda text: np.bytes_(binascii.a2b_base64(text)),
}
