"""Keywords of environments on the command line: texts become values of Python.

A text is a literal of Python or JSON, or one of the words true, false, none and null;
any other one stays a text.  The type of the keyword, its annotation or else that of its
default, decides where both are possible: ``-o name=5`` is a text where a str is
accepted.  Texts are never evaluated.
"""

from __future__ import annotations

import argparse
import inspect
import json
import types
import typing
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from roll_vec.cli._errors import argument_error
from roll_vec.cli._options import literal

_WORDS = {"true": True, "false": False, "none": None, "null": None}
_NONE = type(None)
# Types whose values are checked here, as the classes of users seldom do it.
_NUMBERS = {bool, int, float, _NONE}
_CHECKED = {*_NUMBERS, tuple, list, dict, set}


def read_keywords(arguments: argparse.Namespace) -> None:
    """Replace the texts of ``arguments.options`` by values.

    Raises
    ------
    UsageError
        For a text that is no value of its keyword's types.
    """
    if not arguments.options:
        return
    accepted: dict[str, Sequence[Any]] = {}
    for name in ("id", "target", "source"):
        env_id = getattr(arguments, name, None)
        if isinstance(env_id, str):
            accepted = _types_of_keywords(env_id)
    for name, text in arguments.options.items():
        kinds = accepted.get(name, (object,))
        try:
            arguments.options[name] = _convert(text, kinds)
        except (ValueError, OverflowError):
            names = ["None" if kind is _NONE else kind.__name__ for kind in kinds]
            expected = f"{name}: expected {' or '.join(names)}, got {text!r}"
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


def _convert(text: str, kinds: Sequence[Any]) -> Any:
    """Return the value of a text as one of some types.

    Raises
    ------
    ValueError, OverflowError
        It is none of them.
    """
    value = _parse(text)
    kind = type(value)
    # Where a str is accepted, ``None`` alone is None, and ``none`` is a text.
    if kind in kinds and not (kind is _NONE and str in kinds and text != "None"):
        return value
    if str in kinds:
        return text
    if kind is int and float in kinds:
        return float(value)
    if kind is float and int in kinds and value.is_integer():
        return int(value)
    if kind is int and bool in kinds and value in (0, 1):
        return bool(value)
    if kind in (tuple, list):
        for other in (tuple, list):
            if other in kinds:
                return other(value)
    if _CHECKED.issuperset(kinds):
        raise ValueError
    return value


# ----------------------------------------------------------------------------- types


def _types_of_keywords(env_id: str) -> dict[str, Sequence[Any]]:
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
    accepted: dict[str, Sequence[Any]] = {}
    for owner in owners:
        for name, kinds in _read_types(owner):
            accepted.setdefault(name, kinds)
    return accepted


def _read_types(function: Any) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the parameters of a function or class, each with the types that it has.

    There is none where neither the annotation nor the default says it.  Functions of
    this package check values themselves: of theirs, numbers alone are checked here.
    """
    maker: Any = getattr(function, "__init__", function)
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
            is_union = typing.get_origin(hints[name]) in (typing.Union, types.UnionType)
            members = typing.get_args(hints[name]) if is_union else (hints[name],)
            kinds = [typing.get_origin(member) or member for member in members]
        elif default is not None and default is not parameter.empty:
            # Where no annotation says so, None and other numbers may be accepted, too.
            more = (float,) if type(default) is int else ()
            kinds = [type(default), *more, _NONE]
        else:
            continue
        is_number = _NUMBERS.issuperset(kinds)
        yield name, [*kinds, object] if is_own and not is_number else kinds
