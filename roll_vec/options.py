"""Keywords: how options are made from them, and how their values are checked."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from roll_vec.errors import InvalidOptionError, UnknownOptionError, shorten

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
    "did_you_mean",
    "parse_options",
    "take_options",
    "takes_keywords_of",
]

Options = TypeVar("Options")
Function = TypeVar("Function", bound=Callable[..., Any])

MAX_INT = (1 << 31) - 1
NO_HINTS: Mapping[str, str] = {}

_ACTION_START_HINT = (
    "; roll_vec/Sokoban-v0 and roll_vec/RandomFrozenLake-v0 alone have action_start; "
    "elsewhere actions are as the action space says, from its start on"
)
# Dataclasses of the keywords of batches, imported for the hint in an error alone.
_BATCH_OPTIONS = (
    "roll_vec.vector.env:BatchOptions",
    "roll_vec.pool.options:PoolOptions",
)


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


def check_unknown(
    given: Iterable[str], known: Iterable[str], hints: Mapping[str, str] = NO_HINTS
) -> None:
    """Refuse keywords that do not exist.

    Parameters
    ----------
    given, known : iterable of str
    hints : mapping of str
        By keyword, what to do instead; other keywords are compared with those that
        exist.

    Raises
    ------
    UnknownOptionError
        Begins with Python's own words for each of them: TorchRL and `gymnasium.make`
        look for these, to try again without the keyword.
    """
    known = sorted(known)
    # Keys of a mapping may be anything.
    unknown = sorted(set(given) - set(known), key=str)
    if unknown:
        named = [f"got an unexpected keyword argument {name!r}" for name in unknown]
        message = f"{'; '.join(named)}; those that exist: {', '.join(known)}"
        hints = {**_hints_for_batches(), "action_start": _ACTION_START_HINT, **hints}
        ends = [hints.get(name) or did_you_mean(name, known) for name in unknown]
        # Two keywords can have one hint.
        raise UnknownOptionError(message + "".join(dict.fromkeys(ends)))


def _hints_for_batches() -> dict[str, str]:
    """Return a hint for each keyword that batches alone take."""
    names = ["num_envs", "num_threads"]
    for place in _BATCH_OPTIONS:
        module, _, name = place.partition(":")
        names += inspect.signature(getattr(import_module(module), name)).parameters
    names.remove("max_episode_steps")  # `gymnasium.make` takes it, too
    return {
        name: f"; {name} is for batches: gymnasium.make_vec takes it" for name in names
    }


def take_options(
    options_class: type[Options], keywords: dict[str, Any], **more: Any
) -> Options:
    """Return the options that some of the keywords name, and remove these keywords.

    Raises
    ------
    InvalidOptionError
        For a value that cannot be used.
    """
    names = keywords.keys() & inspect.signature(options_class).parameters.keys()
    return options_class(**{name: keywords.pop(name) for name in names}, **more)


def close_match(value: Any, choices: Iterable[Any]) -> str | None:
    """Return the choice that a misspelt name was probably meant to be, or None.

    Parameters
    ----------
    value : object
    choices : iterable
        The names that exist; those that are no str are left out.
    """
    if not isinstance(value, str):
        return None
    # Upper and lower case are alike here: "Planes" means "planes".
    names = {name.casefold(): name for name in choices if isinstance(name, str)}
    # At 0.6, the default, num_threads is taken for num_boxes.
    matches = difflib.get_close_matches(value.casefold(), names, n=1, cutoff=0.7)
    return names[matches[0]] if matches else None


def did_you_mean(value: Any, choices: Iterable[Any]) -> str:
    """Return the end of a message, ``; did you mean x?``, or nothing."""
    match = close_match(value, choices)
    return "" if match is None else f"; did you mean {match}?"


def takes_keywords_of(
    *options_classes: type[Any], open_end: bool = False
) -> Callable[[Function], Function]:
    """Let a function with ``**keywords`` show the keywords of options classes.

    A constructor's signature is its own, not its class's: a subclass with another
    constructor shows that one.

    Parameters
    ----------
    options_classes : class
        Their keywords stand before those that the function lists as keyword-only.
    open_end : bool
        Whether ``**keywords`` is shown as well, because the function takes more.
    """

    def show(function: Function) -> Function:
        signature = inspect.signature(function)
        own = signature.parameters
        shown = {n: p for n, p in own.items() if p.kind <= p.POSITIONAL_OR_KEYWORD}
        for options_class in options_classes:
            for name, parameter in inspect.signature(options_class).parameters.items():
                keyword = parameter.replace(kind=parameter.KEYWORD_ONLY)
                shown.setdefault(name, keyword)
        shown |= {n: p for n, p in own.items() if p.kind == p.KEYWORD_ONLY}
        if open_end:
            shown |= {n: p for n, p in own.items() if p.kind == p.VAR_KEYWORD}
        signature = signature.replace(parameters=list(shown.values()))
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return show


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
        message = f"{name}: expected at least {minimum}, got {shorten(number)}"
        raise InvalidOptionError(message)
    if number > maximum:
        message = f"{name}: expected at most {maximum}, got {shorten(number)}"
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
        message = (
            f"{name}: expected one of {', '.join(map(repr, choices))}, got {value!r}"
        )
        raise InvalidOptionError(message + did_you_mean(value, choices))
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
