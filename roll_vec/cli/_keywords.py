"""Keywords of environments on the command line: texts become values of Python.

A text is read by the type of the keyword, its annotation or else that of its default:
``-o flag=false`` is False where a bool is accepted, and the text ``false`` for a str.
Lists, tuples and dicts are literals of Python or JSON, with their elements as they are
written; a member of an enum is its name or its value.  Texts are never evaluated.
"""

from __future__ import annotations

import argparse
import inspect
import json
import types
import typing
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from typing import Any

from roll_vec.cli._errors import argument_error
from roll_vec.cli._options import literal

_WORDS = {"true": True, "false": False, "none": None, "null": None}
# Types whose values the classes of users seldom check; others accept all values.
_SCALARS = {bool, int, float, type(None)}
_CONTAINERS = {tuple, list, dict, set}
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
            arguments.options[name] = _convert(text, _parse(text), hint)
        except ValueError:
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


def _convert(text: str, value: Any, hint: Any) -> Any:
    """Return the value of a text as one of a type; raise ValueError if it is none."""
    kind, members = _kind(hint), _members(hint)
    if kind in _UNIONS:
        for part in sorted(members, key=lambda part: _rank(_kind(part), text, value)):
            with suppress(ValueError):
                return _convert(text, value, part)
        raise ValueError
    if _has_names(kind):
        word = text.strip()
        for member in members:
            is_enum = isinstance(member, Enum)
            names = [member.name, member.value] if is_enum else [member]
            if word in names or (type(value), value) in [(type(x), x) for x in names]:
                return member
        raise ValueError
    if kind is str:
        return value if isinstance(value, str) else text
    if kind in (tuple, list) and isinstance(value, (tuple, list)):
        return kind(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and is_number and abs(value) < float("inf"):
        with suppress(OverflowError):
            return float(value)
        raise ValueError
    if kind is int and is_number and value == value // 1:
        return int(value)
    if kind is bool and value in (0, 1):
        return bool(value)
    if kind in _SCALARS | _CONTAINERS and type(value) is not kind:
        raise ValueError
    return value


def _kind(hint: Any) -> Any:
    """Return the class of a type, without the types of its parts."""
    return typing.get_origin(hint) or hint


def _has_names(kind: Any) -> bool:
    return kind is typing.Literal or (isinstance(kind, type) and issubclass(kind, Enum))


def _members(hint: Any) -> list[Any]:
    """Return the types of a union, or the values of a literal or an enum."""
    is_enum = isinstance(hint, type) and issubclass(hint, Enum)
    return [*hint] if is_enum else [*typing.get_args(hint)]


def _rank(kind: Any, text: str, value: Any) -> int:
    """Return the place of a member of a union: any text is a str: it is late."""
    if _has_names(kind):
        return 0
    # Where a str is accepted, ``None`` alone is None, and ``none`` is a text.
    if type(value) is kind and (value is not None or text == "None"):
        return 1
    if kind in (*_SCALARS, *_CONTAINERS, str) and kind is not type(None):
        return 3 if kind is str else 2
    return 4


def _describe(hint: Any) -> str:
    """Return what a type accepts, for an error."""
    kind = _kind(hint)
    if kind in _UNIONS:
        return " or ".join(map(_describe, _members(hint)))
    if _has_names(kind):
        return " or ".join(str(getattr(x, "name", repr(x))) for x in _members(hint))
    if kind is type(None):
        return "None"
    return str(getattr(kind, "__name__", kind))


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
    maker: Any = function.__init__ if isinstance(function, type) else function
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
            kinds = {_kind(each) for each in members}
            if not kinds <= {*_SCALARS, str, tuple, list, dict}:
                continue
            hint = hint if kinds <= _SCALARS else typing.Union[hint, Any]  # noqa: UP007
        yield name, hint
