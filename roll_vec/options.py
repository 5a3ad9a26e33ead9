"""Keywords: how options are made from them, and how their values are checked."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import operator
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from roll_vec.errors import InvalidOptionError, UnknownOptionError

__all__ = [
    "check_bool",
    "check_choice",
    "check_int",
    "check_levels",
    "check_lookup",
    "check_number",
    "check_optional_text",
    "check_unknown",
    "close_match",
    "parse_options",
    "signature_of",
]

Options = TypeVar("Options")

MAX_INT = (1 << 31) - 1


def parse_options(options_class: type[Options], given: Mapping[str, Any]) -> Options:
    """Return the options for keywords, validated.

    Raises
    ------
    UnknownOptionError
        For a keyword that does not exist; lists those that do.
    InvalidOptionError
        For a value that cannot be used.
    """
    known = [field.name for field in dataclasses.fields(options_class)]  # type: ignore[arg-type]
    check_unknown(given, known)
    return options_class(**given)


def check_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse keywords that do not exist."""
    known = sorted(known)
    unknown = sorted(set(given) - set(known))
    if unknown:
        message = (
            f"unknown keyword{'s' if len(unknown) > 1 else ''} {', '.join(unknown)}; "
            f"those that exist: {', '.join(known)}"
        )
        raise UnknownOptionError(message)


def close_match(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice that a misspelt name was probably meant to be, or None."""
    by_folded = {choice.casefold(): choice for choice in choices}
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[matches[0]] if matches else None


def signature_of(options_class: type[Any]) -> inspect.Signature:
    """Return the keyword-only signature that a family's constructor shows."""
    parameters = inspect.signature(options_class).parameters.values()
    return inspect.Signature(
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    )


def check_int(name: str, value: Any, minimum: int, maximum: int = MAX_INT) -> int:
    """Return an integer option between two bounds, both allowed."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        message = f"{name}: expected an integer, got {value!r}"
        raise InvalidOptionError(message) from None
    if number < minimum:
        message = f"{name}: expected at least {minimum}, got {number}"
        raise InvalidOptionError(message)
    if number > maximum:
        message = f"{name}: expected at most {maximum}, got {number}"
        raise InvalidOptionError(message)
    return number


def check_levels(num_levels: Any, start_level: Any) -> tuple[int, int]:
    """Return how many levels there are, 0 for no limit, and the first one."""
    num_levels = check_int("num_levels", num_levels, 0, 1 << 32)
    start_level = check_int("start_level", start_level, 0, 1 << 32)
    if start_level and not num_levels:
        message = (
            f"start_level: {start_level} has no meaning with num_levels=0 "
            "(unlimited levels); give num_levels as well"
        )
        raise InvalidOptionError(message)
    if num_levels + start_level > 1 << 32:
        message = (
            "num_levels + start_level: expected at most 2**32, "
            f"got {num_levels + start_level}"
        )
        raise InvalidOptionError(message)
    return num_levels, start_level


def check_bool(name: str, value: Any) -> bool:
    """Return an option that is true or false."""
    if not isinstance(value, (bool, np.bool_)):
        message = f"{name}: expected True or False, got {value!r}"
        raise InvalidOptionError(message)
    return bool(value)


def check_number(name: str, value: Any, low: float, high: float) -> float:
    """Return a float option between two bounds, both allowed."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        message = f"{name}: expected a number, got {value!r}"
        raise InvalidOptionError(message) from None
    if not low <= number <= high:
        message = f"{name}: expected a number from {low:g} to {high:g}, got {value!r}"
        raise InvalidOptionError(message)
    return number


def check_optional_text(name: str, value: Any) -> str | None:
    """Return an option that is a text or None."""
    if value is None or isinstance(value, str):
        return value
    message = f"{name}: expected a str or None, got {value!r}"
    raise InvalidOptionError(message)


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> Any:
    """Return an option that is one of some values."""
    choices = tuple(choices)
    if not (value is None or isinstance(value, str)) or value not in choices:
        message = f"{name}: expected one of {', '.join(map(repr, choices))}, "
        raise InvalidOptionError(message + f"got {value!r}")
    return value


def check_lookup(name: str, value: Any, default: Mapping[int, str]) -> dict[int, str]:
    """Return a table from codes or actions to strings; None means the default.

    Raises
    ------
    InvalidOptionError
        If it is no mapping, has a key that the default lacks or an empty string.
    """
    if value is None:
        return dict(default)
    if not isinstance(value, Mapping) or not value:
        message = f"{name}: expected a dict from int to str, got {value!r}"
        raise InvalidOptionError(message)
    for key, text in value.items():
        if key not in default:
            message = f"{name}: expected keys among {sorted(default)}, got {key!r}"
            raise InvalidOptionError(message)
        if not isinstance(text, str) or not text or "\0" in text:
            message = (
                f"{name}[{key!r}]: expected a non-empty string without the null "
                f"character, got {text!r}"
            )
            raise InvalidOptionError(message)
    return dict(value)
