"""Keywords of environments on the command line: texts become values of Python.

A text is read by the type of the keyword, its annotation or else that of its default:
``-o flag=false`` is False where a bool is accepted, and the text ``false`` for a str.
Lists, tuples and dicts are literals of Python or JSON; a member of an enum is its name
or its value.  Texts are never evaluated.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import json
import types
import typing
from collections import abc
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from typing import Any

from roll_vec.cli._errors import argument_error
from roll_vec.cli._options import literal

_WORDS = {"true": True, "false": False, "none": None, "null": None}
# Types whose values the classes of users seldom check.
_SCALARS = {bool, int, float, type(None)}
_TYPES = {*_SCALARS, str, tuple, list, dict}
_SETS = (set, frozenset)
_ABSTRACT: dict[Any, type[Any]] = {}
_ABSTRACT |= dict.fromkeys((abc.Sequence, abc.Collection, abc.Iterable), list)
_ABSTRACT |= dict.fromkeys((abc.Mapping, abc.MutableMapping), dict)
# A number too large for a float, and a list in a set, are no values either.
_NO_VALUE = (ValueError, OverflowError, TypeError)
_UNIONS = (typing.Union, types.UnionType)


def read_keywords(arguments: argparse.Namespace) -> None:
    """Replace the texts of ``arguments.options`` by values.

    Raises
    ------
    UsageError
        For a text that is no value of its keyword's types.
    """
    if not arguments.options:
        return
    hints: dict[str, Any] = {}
    for name in ("id", "target", "source"):
        env_id = getattr(arguments, name, None)
        if isinstance(env_id, str):
            hints = _types_of_keywords(env_id)
    for name, text in arguments.options.items():
        hint = hints.get(name, Any)
        try:
            arguments.options[name] = _convert(_parse(text), hint, text)
        except _NO_VALUE:
            expected = f"{name}: expected {_describe(hint)}, got {text!r}"
            raise argument_error("-o", expected) from None


def _parse(text: str) -> Any:
    """Return the word or literal in a text, or the text itself if it has none."""
    word = text.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    value = literal(text)
    if value == text and word.startswith(("[", "{")):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return value


# ------------------------------------------------------------------------ conversion


def _convert(value: Any, hint: Any, text: str | None = None) -> Any:
    """Return a value as one of a type; raise ValueError where it is none.

    `text` is what the user has written for it; parts of lists and dicts have none.
    Other types than those below accept all values.
    """
    kind, parts = _kind(hint), typing.get_args(hint)
    if kind in _UNIONS:
        for part in sorted(parts, key=lambda part: _rank(_kind(part), value, text)):
            with suppress(*_NO_VALUE):
                return _convert(value, part, text)
        raise ValueError
    if _has_names(kind):
        words = (value,) if text is None else (text.strip(), value)
        for word, choice in itertools.product(words, parts or kind):
            is_member = isinstance(choice, Enum)
            for each in (choice.name, choice.value) if is_member else (choice,):
                if type(word) is type(each) and word == each:
                    return choice
        raise ValueError
    if kind in (tuple, list, *_SETS):
        accepted = set if kind in _SETS else ()
        if not isinstance(value, (tuple, list, accepted)):
            raise ValueError
        is_fixed = kind is tuple and parts and parts[-1] is not Ellipsis
        if is_fixed and len(parts) != len(value):
            raise ValueError
        hints = parts if is_fixed else itertools.repeat(parts[0] if parts else Any)
        return kind(map(_convert, value, hints))
    if kind is dict and isinstance(value, dict):
        key, part = parts or (Any, Any)
        return {_convert(k, key): _convert(v, part) for k, v in value.items()}
    is_bool = isinstance(value, bool)
    if kind is str and text is not None and not isinstance(value, str):
        return text
    if kind is float and isinstance(value, int) and not is_bool:
        return float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind is bool and value in (0, 1):
        return bool(value)
    if (kind in _TYPES and not isinstance(value, kind)) or (is_bool and kind is int):
        raise ValueError
    return value


def _kind(hint: Any) -> Any:
    """Return the class of a type, without the types of its parts."""
    kind = typing.get_origin(hint) or hint
    return _ABSTRACT.get(kind, kind)


def _has_names(kind: Any) -> bool:
    return kind is typing.Literal or (isinstance(kind, type) and issubclass(kind, Enum))


def _rank(kind: Any, value: Any, text: str | None) -> int:
    """Return the place of a member of a union: any text is a str: it is late."""
    if _has_names(kind):
        return 0
    # Where a str is accepted, ``None`` alone is None, and ``none`` is a text.
    if type(value) is kind and (value is not None or text in (None, "None")):
        return 1
    if kind in (*_TYPES, *_SETS) and kind is not type(None):
        return 3 if kind is str else 2
    return 4


def _describe(hint: Any) -> str:
    """Return what a type accepts, for an error."""
    kind, parts = _kind(hint), typing.get_args(hint)
    if kind in _UNIONS:
        return " or ".join(map(_describe, parts))
    if _has_names(kind):
        names = (getattr(each, "name", repr(each)) for each in parts or kind)
        return " or ".join(map(str, names))
    if kind is type(None):
        return "None"
    return str(hint) if parts else str(getattr(hint, "__name__", hint))


# ----------------------------------------------------------------------------- types


def _types_of_keywords(env_id: str) -> dict[str, Any]:
    """Return the types of the keywords of an id and of its batches, where known."""
    # They import numba, which other commands do without.
    from roll_vec.registration import ENVIRONMENTS
    from roll_vec.registration.any_id import SetupError, find_spec, load_class
    from roll_vec.registration.factories import make_pool_vector, make_vector
    from roll_vec.text.options import TextOptions

    try:
        spec = find_spec(env_id)
    except SetupError:
        return {}  # a file, or an id that the command itself refuses
    owners: list[Any] = [load_class(spec)]
    if spec.id in ENVIRONMENTS:
        registered = ENVIRONMENTS[spec.id]
        makers = make_vector, make_pool_vector
        owners += [registered.load(), TextOptions, makers[registered.pooled]]
    accepted: dict[str, Any] = {}
    for owner in owners:
        for name, each in _read_types(owner):
            accepted.setdefault(name, each)
    return accepted


def _read_types(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a function or class, each with its type.

    There is none where neither the annotation nor the default says it.  Functions of
    this package check values themselves: the scalars of theirs alone are checked here.
    """
    maker: Callable[..., Any] = getattr(function, "__init__", function)
    maker = maker if isinstance(function, type) else function
    is_own = str(getattr(maker, "__module__", "")).startswith("roll_vec.")
    hints: dict[str, Any] = {}
    # An annotation may have names that its module imports for type checkers alone.
    with suppress(Exception):
        hints = typing.get_type_hints(maker)
    parameters: Any = {}
    with suppress(TypeError, ValueError):
        parameters = inspect.signature(function).parameters
    for name, parameter in parameters.items():
        default = parameter.default
        if name in hints:
            hint = hints[name]
        elif default is None or default is parameter.empty:
            continue
        else:
            # Where no annotation says so, None and other numbers may be accepted, too.
            more = (float,) if type(default) is int else ()
            hint = typing.Union[(type(default), *more, None)]
        if is_own:
            members = typing.get_args(hint) if _kind(hint) in _UNIONS else (hint,)
            kinds = {typing.get_origin(each) or each for each in members}
            if not kinds <= _TYPES:
                continue
            hint = hint if kinds <= _SCALARS else typing.Union[hint, Any]  # noqa: UP007
        yield name, hint
