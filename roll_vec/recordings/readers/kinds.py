"""Kinds of values of a file: what an error says is accepted, and the check."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

_MOST_INT = 1 << 63


class Kind(NamedTuple):
    """A kind of values."""

    accepted: str
    accepts: Callable[[Any], bool]


def _of_types(accepted: str, *types: type) -> Kind:
    # A bool is an int to isinstance.
    return Kind(accepted, lambda value: type(value) in types)


def _list_of(
    accepted: str,
    accepts: Callable[[Any], bool],
    common: type,
    accepts_common: Callable[[Any], bool] | None = None,
) -> Kind:
    """Return the kind of lists; those of the common type are checked at C's speed."""

    def accepts_list(values: Any) -> bool:
        if type(values) is not list:
            return False
        if {common}.issuperset(map(type, values)):
            return accepts_common is None or all(map(accepts_common, values))
        return all(map(accepts, values))

    return Kind(f"a list of {accepted}", accepts_list)


def _is_number(value: Any) -> bool:
    # An int of hundreds of digits is no float.
    if type(value) is int:
        return abs(value) < _MOST_INT
    return type(value) is float and math.isfinite(value)


def _is_answer(value: Any, depth: int = 8) -> bool:
    if type(value) is list:
        return depth > 0 and all(_is_answer(part, depth - 1) for part in value)
    return type(value) in (str, bool) or _is_number(value)


ANY = Kind("any value", lambda _: True)
TEXT = _of_types("a text", str)
BOOL = _of_types("true or false", bool)
OBJECT = _of_types("an object", dict)
GROUP = _of_types("a text or an int", str, int)
COUNT = Kind("an int from 0 on", lambda x: type(x) is int and 0 <= x < _MOST_INT)
NUMBER = Kind("a finite number", _is_number)
TEXTS = _list_of("texts", TEXT.accepts, str)
BOOLS = _list_of("true or false", BOOL.accepts, bool)
OBJECTS = _list_of("objects", OBJECT.accepts, dict)
NUMBERS = _list_of("finite numbers", _is_number, float, math.isfinite)
ANSWERS = _list_of("answers: texts, numbers or lists of them", _is_answer, str)
CHAT_OR_TEXT = Kind(
    "a text or a list of messages", lambda x: TEXT.accepts(x) or OBJECTS.accepts(x)
)
