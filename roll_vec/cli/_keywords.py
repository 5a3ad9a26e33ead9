"""Keywords of environments on the command line: texts become values of Python.

A text is read by the type of the keyword, its annotation or else that of its default:
``-o flag=false`` is False where a bool is accepted, and the text ``false`` for a str.
Texts are never evaluated.
"""

from __future__ import annotations

import argparse
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from roll_vec.cli._errors import argument_error
from roll_vec.cli._options import literal

_WORDS = {"true": True, "false": False, "none": None, "null": None}
# Types whose values the classes of users seldom check.
_SCALARS = {bool, int, float, type(None)}
_TYPES = {*_SCALARS, str, tuple, list, dict}


def read_keywords(arguments: argparse.Namespace) -> None:
    """Replace the texts of ``arguments.options`` by values.

    Raises
    ------
    UsageError
        For a text that is no value of its keyword's types.
    """
    texts = arguments.options
    if not texts:
        return
    accepted: dict[str, tuple[type[Any], ...]] = {}
    for name in ("id", "target", "source"):
        env_id = getattr(arguments, name, None)
        if isinstance(env_id, str):
            accepted = _types_of_keywords(env_id)
    arguments.options = {
        name: _read(name, text, accepted.get(name, ())) for name, text in texts.items()
    }


def _read(name: str, text: str, accepted: tuple[type[Any], ...]) -> Any:
    """Return the value of a text; without known types that of its literal."""
    word = text.strip()
    value = _WORDS[word.lower()] if word.lower() in _WORDS else literal(text)
    if str in accepted and value is None and word != "None":
        return text
    is_bool = isinstance(value, bool)
    if not accepted or (bool in accepted if is_bool else isinstance(value, accepted)):
        return value
    if isinstance(value, int) and float in accepted and not is_bool:
        return float(value)
    if isinstance(value, float) and int in accepted and value.is_integer():
        return int(value)
    if value in (0, 1) and bool in accepted and not is_bool:
        return bool(value)
    for kind in (tuple, list):
        if kind in accepted and isinstance(value, (tuple, list)):
            return kind(value)
    if str in accepted:
        return text
    if set(accepted) <= _SCALARS:
        names = [each.__name__.replace("NoneType", "None") for each in accepted]
        expected = f"{name}: expected {' or '.join(names)}, got {text!r}"
        raise argument_error("-o", expected)
    return value


def _types_of_keywords(env_id: str) -> dict[str, tuple[type[Any], ...]]:
    """Return the types of the keywords of an id and of its batches, where known."""
    # They import numba, which other commands do without.
    from roll_vec.descriptions.keywords import find_options
    from roll_vec.factories import make_pool_vector, make_vector
    from roll_vec.recordings.environments import SetupError, find_spec, load_class
    from roll_vec.registration import ENVIRONMENTS
    from roll_vec.text.options import TextOptions

    try:
        spec = find_spec(env_id)
    except SetupError:
        return {}  # a file, or an id that the command itself refuses
    owners: list[Any] = [load_class(spec)]
    if spec.id in ENVIRONMENTS:
        registered = ENVIRONMENTS[spec.id]
        makers = make_vector, make_pool_vector
        owners += [find_options(registered), TextOptions, makers[registered.pooled]]
    accepted: dict[str, tuple[type[Any], ...]] = {}
    for owner in owners:
        for name, each in _read_types(owner):
            accepted.setdefault(name, each)
    return accepted


def _read_types(function: Any) -> Iterator[tuple[str, tuple[type[Any], ...]]]:
    """Yield the parameters of a function or class, each with its types.

    There are none where neither the annotation nor the default says them.
    """
    maker: Callable[..., Any] = getattr(function, "__init__", function)
    maker = maker if isinstance(function, type) else function
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
            is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
            members = typing.get_args(hint) if is_union else (hint,)
            members = tuple(typing.get_origin(each) or each for each in members)
        elif default is None or default is parameter.empty:
            continue
        else:
            # Where no annotation says so, None and other numbers may be accepted, too.
            more = (float,) if type(default) is int else ()
            members = (type(default), *more, type(None))
        if {*members} <= _TYPES:
            yield name, members
