"""The keywords of an environment, with type, default and the words of its docstrings.

A keyword is described once: in the section "Parameters" of the class that defines it,
in the layout of numpydoc.  The first sentence is its description in one line.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gymnasium.envs.registration import EnvSpec

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.docstrings import read_entries, read_sections
from roll_vec.options import parse_options
from roll_vec.pool.options import PoolOptions
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.any_id import load_class
from roll_vec.registration.factories import make_pool_vector, make_vector
from roll_vec.text.options import TextOptions
from roll_vec.vector.env import BatchOptions

# Parameters of the makers of batches that are no keywords, or have no effect.
_NO_KEYWORDS = {"id", "keywords", "disable_env_checker"}
# A full stop ends a sentence if the next one begins after it.
_SENTENCE_END = re.compile(r"(?<=\.)\s+(?=[A-Z`\d])")


class Keyword(NamedTuple):
    """A keyword of an environment or of a batch.

    Attributes
    ----------
    name : str
    type : str
        As in the docstring, or the annotation; may be empty.
    default : str
        As one writes it in Python; empty: it must be passed.
    summary : str
        The first sentence of its description; may be empty.
    description : str
        All of it, with the docstring's mark-up of code.
    owner : str
        The name of the class that defines it, such as ``GridEnv``; may be empty.
    """

    name: str
    type: str
    default: str
    summary: str
    description: str
    owner: str = ""


def describe_keywords(spec: EnvSpec) -> tuple[Keyword, ...]:
    """Return the keywords of the single environment of an id, as far as they are known.

    Those of the game itself come first, those of text last.

    Parameters
    ----------
    spec : EnvSpec
        Any id of Gymnasium.

    Raises
    ------
    Exception
        Any, of the module that has the environment.
    """
    registered = ENVIRONMENTS.get(spec.id)
    if registered is None:
        entry = load_class(spec)
        return _describe({**_defaults(entry), **spec.kwargs}, entry, [entry])
    entry, defaults = registered.load(), registered.defaults()
    if not registered.pooled:
        for name in parse_options(entry, registered.keywords).unused_keywords:
            defaults.pop(name, None)
    # These describe `action_mode` of pools.
    options_classes = getattr(getattr(entry, "__init__", None), "options_classes", ())
    classes = [*inspect.getmro(entry), *options_classes, TextOptions, ArrayEnv]
    # A decorator of a constructor may add keywords that no class is known to define.
    order = ["", *(one.__name__ for one in classes)]
    keywords = _describe(defaults, entry, classes)
    return tuple(sorted(keywords, key=lambda keyword: order.index(keyword.owner)))


def describe_batch_keywords(pooled: bool) -> tuple[Keyword, ...]:
    """Return the keywords that batches take besides those of their environments.

    Parameters
    ----------
    pooled : bool
        True: of pools of objects; False: of stacked arrays.
    """
    maker: Callable[..., Any] = make_pool_vector if pooled else make_vector
    defaults = _defaults(maker)
    for name in _NO_KEYWORDS:
        defaults.pop(name, None)
    return _describe(defaults, maker, [maker, BatchOptions, PoolOptions])


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        # A function of C may have no signature.
        return {}


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of the parameters that have names."""
    return {
        name: one.default
        for name, one in _parameters(function).items()
        if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    }


def _describe(
    defaults: Mapping[str, Any], function: Callable[..., Any], owners: Sequence[Any]
) -> tuple[Keyword, ...]:
    """Return keywords of a function; owners are the classes that may define them."""
    keywords = []
    for name, default in defaults.items():
        kind, text = _look_up(name, owners)
        if not kind and name in _parameters(function):
            kind = _annotation(_parameters(function)[name])
        summary = _SENTENCE_END.split(text, maxsplit=1)[0]
        owner = next((one.__name__ for one in owners if _defines(one, name)), "")
        literal = ""
        if default is not inspect.Parameter.empty:
            # An enum is written as its value.
            literal = repr(getattr(default, "value", default))
        keywords.append(Keyword(name, kind, literal, summary, text, owner))
    return tuple(keywords)


def _look_up(name: str, owners: Iterable[Any]) -> tuple[str, str]:
    """Return the type and the description of a keyword; empty texts: unknown.

    An entry without a type says where the keyword is described.
    """
    documented = [
        part
        for owner in owners
        for one in (inspect.getmro(owner) if isinstance(owner, type) else (owner,))
        for part in (one, vars(one).get("__init__"))
    ]
    parameters = [
        read_parameters(getattr(part, "__doc__", None)) for part in documented
    ]
    entries = [each[name] for each in parameters if name in each]
    with_type = [entry for entry in entries if entry[0]]
    return next(iter([*with_type, *entries]), ("", ""))


def _defines(owner: Any, name: str) -> bool:
    """Return whether a function, or a class's own constructor, has a parameter."""
    if isinstance(owner, type) and dataclasses.is_dataclass(owner):
        return name in inspect.get_annotations(owner)
    if isinstance(owner, type):
        owner = vars(owner).get("__init__")
    # Not those that a decorator adds: they are described elsewhere.
    code = getattr(owner, "__code__", None)
    return code is not None and name in inspect.getargs(code)[0]


@functools.lru_cache(maxsize=256)
def read_parameters(docstring: str | None) -> dict[str, tuple[str, str]]:
    """Return type and description by name, of a section "Parameters" of numpydoc."""
    entries = read_entries(read_sections(docstring).get("Parameters", ""))
    return {
        name.strip(): (entry.kind, entry.text)
        for entry in entries
        for name in entry.name.split(",")
    }


def _annotation(parameter: inspect.Parameter) -> str:
    """Return the annotation of a parameter, or the type of its default."""
    if isinstance(parameter.annotation, str):
        # Of modules with postponed evaluation.
        return parameter.annotation
    if parameter.annotation is not parameter.empty:
        return inspect.formatannotation(parameter.annotation)
    if parameter.default is parameter.empty or parameter.default is None:
        return ""
    return type(parameter.default).__name__
