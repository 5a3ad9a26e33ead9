"""The keywords of an environment, with type, default and the words of its docstrings.

A keyword is described once: in the section "Parameters" of the class that defines it,
in the layout of numpydoc.  The first sentence is its description in one line.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
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
        The name of the class that describes it, such as ``GridEnv``; that of the
        environment where none does.
    """

    name: str
    type: str
    default: str
    summary: str
    description: str
    owner: str


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
    options_classes = getattr(entry.__init__, "options_classes", ())
    # `ArrayEnv` describes `action_mode` of pools, too.
    owners = [entry, *options_classes, TextOptions, ArrayEnv]
    return _describe(defaults, entry, owners)


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


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of the parameters that have names."""
    return {
        name: one.default
        for name, one in inspect.signature(function).parameters.items()
        if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    }


def _describe(
    defaults: Mapping[str, Any], function: Callable[..., Any], owners: Sequence[Any]
) -> tuple[Keyword, ...]:
    """Return keywords of a function, in the order of the docstrings of the owners.

    Those that no docstring describes come first.
    """
    # A game's docstring comes before those of its base classes.
    parts = [
        (owner.__name__, part)
        for one in owners
        for owner in (inspect.getmro(one) if isinstance(one, type) else (one,))
        for part in (owner, vars(owner).get("__init__"))
    ]
    described: dict[str, tuple[str, str, str]] = {}
    for owner, part in parts:
        entries = read_parameters(getattr(part, "__doc__", None))
        for name, entry in entries.items():
            # An entry without a type says where the keyword is described.
            if not described.get(name, ("", ""))[1]:
                described[name] = (owner, *entry)
    parameters, keywords = inspect.signature(function).parameters, []
    places = {name: place for place, name in enumerate(described)}
    for name in sorted(defaults, key=lambda name: places.get(name, -1)):
        owner, kind, text = described.get(name, (owners[0].__name__, "", ""))
        if not kind and name in parameters:
            kind = _annotation(parameters[name])
        summary = _SENTENCE_END.split(text, maxsplit=1)[0]
        literal = ""
        if (default := defaults[name]) is not inspect.Parameter.empty:
            # An enum is written as its value.
            literal = repr(getattr(default, "value", default))
        keywords.append(Keyword(name, kind, literal, summary, text, owner))
    return tuple(keywords)


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
    if parameter.annotation is not parameter.empty:
        # Those of modules with postponed evaluation are texts.
        return inspect.formatannotation(parameter.annotation).strip("'")
    if parameter.default is parameter.empty or parameter.default is None:
        return ""
    return type(parameter.default).__name__
