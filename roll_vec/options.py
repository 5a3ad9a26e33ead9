"""Options: build them from keywords, and check their values.

`parse_options` and `pop_options` build options.  `check_int` and its like return the
checked value or raise `InvalidOptionError`, which names the option.
`resolve_num_threads` is the one for ``num_threads``.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import hashlib
import inspect
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from roll_vec.errors import (
    InvalidOptionError,
    InvalidOptionTypeError,
    RollVecWarning,
    UnknownOptionError,
    warn_caller,
)

Options = TypeVar("Options")
Function = TypeVar("Function", bound=Callable[..., Any])

MAX_INT = (1 << 31) - 1
THREADS_VARIABLE = "ROLL_VEC_NUM_THREADS"
# Locks and pipes overflow at timeouts that are a little longer.
_MAX_SECONDS = 1e9


def keywords_of(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function or class by name, from a cache.

    A pool asks for them several times for each of its environments.
    """
    return _read_signature(function)


# Behind a function of Any: to mypy the classes of dataclasses cannot be hashed.
@functools.lru_cache(maxsize=256)
def _read_signature(function: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def option(default: Any, check: Callable[..., Any], *arguments: Any) -> Any:
    """Declare a keyword in a dataclass of options: its default and its check.

    Parameters
    ----------
    default : object
        Immutable.
    check : callable
        ``check(name, value, *arguments)`` returns the checked value, or raises
        `InvalidOptionError`; see `check_fields`.
    *arguments
    """
    return dataclasses.field(default=default, metadata={"check": (check, arguments)})


def check_fields(options: Any) -> None:
    """Replace the fields that `option` declares by their checked values.

    Parameters
    ----------
    options : frozen dataclass
        In its ``__post_init__``.

    Raises
    ------
    InvalidOptionError
    """
    for field in options.__dataclass_fields__.values():
        if "check" in field.metadata:
            check, arguments = field.metadata["check"]
            value = check(field.name, getattr(options, field.name), *arguments)
            object.__setattr__(options, field.name, value)


def changed_keywords(options: Any, names: Iterable[str]) -> list[str]:
    """Return those of some keywords whose values are not their defaults."""
    fields = type(options).__dataclass_fields__
    return [name for name in names if getattr(options, name) != fields[name].default]


def refuse_unused(
    options: Any, names: Iterable[str], reason: str, *, warns: bool = False
) -> None:
    """Refuse keywords that have no effect beside the others, as ``match: needs ...``.

    Parameters
    ----------
    options : dataclass
        With checked values.
    names : iterable of str
        Keywords without an effect.  Their defaults are accepted.
    reason : str
        The end of the message.
    warns : bool
        True: warn only, where the original game accepts such a keyword and ignores it.

    Raises
    ------
    InvalidOptionError
    """
    changed = changed_keywords(options, names)
    if not changed:
        return
    message = f"{', '.join(changed)}: {reason}"
    if not warns:
        raise InvalidOptionError(message)
    warn_caller(message, RollVecWarning)


def check_reset_keys(names: Iterable[str], options: Any) -> None:
    """Check the ``options`` of a reset: warn of keys that the environment ignores.

    It is a warning and no error, because wrappers add keys.

    Parameters
    ----------
    names : iterable of str
        The keys that the environment reads.
    options : object

    Raises
    ------
    InvalidOptionTypeError
        If they are neither None nor a mapping.
    """
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise InvalidOptionTypeError.expected("options", "a dict or None", options)
    names = tuple(names)
    unknown = [repr(key) for key in options if key not in names]
    if unknown:
        accepted = ", ".join(map(repr, names)) or "none"
        message = (
            f"options of reset: {', '.join(unknown)}: this environment ignores them; "
            f"those that it knows: {accepted}"
        )
        warn_caller(message, RollVecWarning)


def parse_options(options_class: type[Options], keywords: Mapping[str, Any]) -> Options:
    """Return options for keywords, checked.

    Raises
    ------
    UnknownOptionError
        For a keyword that does not exist; lists those that do.
    InvalidOptionError
        For a value that cannot be used.
    """
    check_unknown(keywords, keywords_of(options_class))
    return options_class(**keywords)


def pop_options(
    options_class: type[Options], keywords: dict[str, Any], **more: Any
) -> Options:
    """Return the options that some of the keywords name, and remove these keywords.

    Parameters
    ----------
    options_class : dataclass
    keywords : dict
        Changed; keywords that the class does not have stay in it.
    **more
        Further keywords of the class.

    Raises
    ------
    InvalidOptionError
        For a value that cannot be used.
    """
    names = keywords.keys() & keywords_of(options_class).keys()
    return options_class(**{name: keywords.pop(name) for name in names}, **more)


def replace_level_options(options: Options, changes: Mapping[str, Any]) -> Options:
    """Return options with other values of some that `set_level_options` accepts.

    Parameters
    ----------
    options : frozen dataclass
        Its class has ``LEVEL_OPTIONS``, the names that are accepted.
    changes : mapping of str to object

    Raises
    ------
    UnknownOptionError
        For another name; lists those that are accepted.
    InvalidOptionError
        For a value that cannot be used, and for no name at all.
    """
    accepted = options.LEVEL_OPTIONS  # type: ignore[attr-defined]
    if not changes:
        expected = f"at least one of {', '.join(accepted)}"
        raise InvalidOptionError.expected("level options", expected, "none")
    check_unknown(changes, accepted)
    return dataclasses.replace(options, **changes)  # type: ignore[type-var]


def check_unknown(keywords: Iterable[str], accepted: Iterable[str]) -> None:
    """Raise an error if there are keywords that do not exist.

    Raises
    ------
    UnknownOptionError
        Begins with Python's own words for each keyword: TorchRL and `gymnasium.make`
        look for them, and try again without the keyword.  Names the nearest keywords.
    """
    accepted = set(accepted)
    if not accepted.issuperset(keywords):
        # Keys of a mapping may be anything.
        unknown = sorted(set(keywords) - accepted, key=str)
        accepted = sorted(accepted)
        errors = [f"got an unexpected keyword argument {name!r}" for name in unknown]
        message = f"{'; '.join(errors)}; those that exist: {', '.join(accepted)}"
        matches = dict.fromkeys(close_match(name, accepted) for name in unknown)
        ends = [f"; did you mean {match}?" for match in matches if match]
        raise UnknownOptionError(message + "".join(ends))


def close_match(value: Any, choices: Iterable[Any]) -> str | None:
    """Return the choice that is nearest to a misspelt name, or None.

    Parameters
    ----------
    value : object
    choices : iterable
        The accepted names; others than str are ignored.
    """
    if not isinstance(value, str):
        return None
    # Without regard to case: "Num_envs" means "num_envs".
    names = {name.casefold(): name for name in choices if isinstance(name, str)}
    # With 0.7, num_envs would be near to num_levels.
    matches = difflib.get_close_matches(value.casefold(), names, n=1, cutoff=0.8)
    return names[matches[0]] if matches else None


def accepts_keywords_of(
    *options_classes: type[Any], open_end: bool = False
) -> Callable[[Function], Function]:
    """Put the keywords of options classes into the signature of a function.

    The function receives them as ``**keywords``.  Decorate a constructor, not its
    class: a subclass with another constructor then has that one's signature.

    Parameters
    ----------
    options_classes : class
        Their keywords come before the keyword-only parameters of the function.
    open_end : bool
        True: ``**keywords`` stays, because the function accepts other keywords, too.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = [
            parameter.replace(kind=parameter.KEYWORD_ONLY)
            for options_class in options_classes
            for parameter in inspect.signature(options_class).parameters.values()
            if parameter.name not in signature.parameters
        ]
        for parameter in signature.parameters.values():
            if open_end or parameter.kind != parameter.VAR_KEYWORD:
                parameters.append(parameter)
        parameters.sort(key=lambda parameter: parameter.kind)
        signature = signature.replace(parameters=parameters)
        function.__signature__ = signature  # type: ignore[attr-defined]
        # Descriptions of keywords read their docstrings.
        function.options_classes = options_classes  # type: ignore[attr-defined]
        return function

    return decorate


def check_int(name: str, value: Any, minimum: int, maximum: int = MAX_INT) -> int:
    """Return an integer option between two bounds, both allowed."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InvalidOptionError.expected(name, "an integer", value) from None
    if number < minimum:
        raise InvalidOptionError.expected(name, f"at least {minimum}", number)
    if number > maximum:
        raise InvalidOptionError.expected(name, f"at most {maximum}", number)
    return number


def check_optional(
    name: str, value: Any, check: Callable[..., Any], *arguments: Any
) -> Any:
    """Return a checked value; None stays None."""
    return None if value is None else check(name, value, *arguments)


def check_levels(num_levels: Any, start_level: Any) -> tuple[int, int]:
    """Return the number of levels, 0 for no limit, and the first level."""
    num_levels = check_int("num_levels", num_levels, 0, 1 << 32)
    start_level = check_int("start_level", start_level, 0, 1 << 32)
    if start_level and not num_levels:
        message = (
            f"start_level: {start_level} has no meaning with num_levels=0 "
            "(unlimited levels); give num_levels as well"
        )
        raise InvalidOptionError(message)
    total = num_levels + start_level
    if total > 1 << 32:
        name = "num_levels + start_level"
        raise InvalidOptionError.expected(name, "at most 2**32", total)
    return num_levels, start_level


def check_bool(name: str, value: Any) -> bool:
    """Return an option that is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidOptionError.expected(name, "True or False", value)
    return bool(value)


def check_number(name: str, value: Any, low: float, high: float) -> float:
    """Return a float option between two bounds, both allowed."""
    try:
        # float() also reads text, and True as 1.
        if isinstance(value, (str, bytes, bool, np.bool_)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidOptionError.expected(name, "a number", value) from None
    if not low <= number <= high:
        accepted = f"a number from {low:g} to {high:g}"
        raise InvalidOptionError.expected(name, accepted, value)
    return number


def check_seconds(name: str, value: Any, *, allows_zero: bool = True) -> float | None:
    """Return a timeout in seconds; None: no limit, or more than a clock can measure."""
    if value is None:
        return None
    try:
        least = 0.0 if allows_zero else math.ulp(0.0)
        seconds = check_number(name, value, least, math.inf)
    except InvalidOptionError:
        accepted = f"None or seconds {'from' if allows_zero else 'above'} 0"
        raise InvalidOptionError.expected(name, accepted, value) from None
    return seconds if seconds < _MAX_SECONDS else None


def check_str(name: str, value: Any) -> str:
    """Return an option that is a str."""
    if not isinstance(value, str):
        raise InvalidOptionError.expected(name, "a str", value)
    return value


def check_optional_text(name: str, value: Any) -> str | None:
    """Return an option that is a str or None."""
    if value is None or isinstance(value, str):
        return value
    raise InvalidOptionError.expected(name, "a str or None", value)


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> Any:
    """Return an option that is one of some strings, or None if that is one of them."""
    choices = tuple(choices)
    if not (value is None or isinstance(value, str)) or value not in choices:
        accepted = f"one of {', '.join(map(repr, choices))}"
        raise InvalidOptionError.expected(name, accepted, value)
    return value


def check_render_mode(name: str, value: Any, modes: Iterable[str]) -> Any:
    """Return a render mode, None or one of an environment's.

    Raises
    ------
    InvalidOptionTypeError
        A TypeError, as of a class without this keyword: trainers ask for pictures
        first, and make the environment without them after a TypeError alone.
    """
    try:
        return check_choice(name, value, (None, *modes))
    except InvalidOptionError as error:
        raise InvalidOptionTypeError(*error.args) from None


def check_lookup(name: str, value: Any, default: Mapping[int, str]) -> dict[int, str]:
    """Return a table from codes or actions to strings; None means the default.

    Raises
    ------
    InvalidOptionError
        If it is no mapping, has a key that the default lacks, or an empty string.
    """
    if value is None:
        return dict(default)
    if not isinstance(value, Mapping) or not value:
        raise InvalidOptionError.expected(name, "a dict from int to str", value)
    for key, text in value.items():
        if key not in default:
            raise InvalidOptionError.expected(
                name, f"keys among {sorted(default)}", key
            )
        if not isinstance(text, str) or not text or "\0" in text:
            entry = f"{name}[{key!r}]"
            accepted = "a non-empty string without the null character"
            raise InvalidOptionError.expected(entry, accepted, text)
    return dict(value)


def describe_value(value: Any) -> Any:
    """Return an option's value as `json` can write it, equal for equal values.

    An object with a method `describe_content`, such as a set of levels, describes
    itself.  An array becomes its dtype, shape and SHA-256.  A function becomes module
    and name, a lambda also its line: two closures of one function are equal here.  A
    `functools.partial` is described with its arguments.  Of any other object there
    remains the name of its class.
    """
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): describe_value(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [describe_value(entry) for entry in value]
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {
            "dtype": value.dtype.str,
            "shape": list(value.shape),
            "sha256": digest,
        }
    if hasattr(value, "describe_content"):
        return value.describe_content()
    if isinstance(value, functools.partial):
        parts = describe_value([value.func, value.args, value.keywords])
        return {"partial": parts}
    if callable(value) and hasattr(value, "__qualname__"):
        name = f"{value.__module__}:{value.__qualname__}"
        is_lambda = name.endswith("<lambda>")
        return f"{name}:{value.__code__.co_firstlineno}" if is_lambda else name
    return type(value).__qualname__


def count_cores() -> int:
    """Return the number of cores that this process may run on."""
    # macOS and Windows have no such function.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_num_threads(num_threads: int | None) -> int:
    """Return the number of threads that an environment may use.

    Parameters
    ----------
    num_threads : int or None
        None: the variable ``ROLL_VEC_NUM_THREADS`` if it is set, else the number of
        cores this process may run on.

    Raises
    ------
    InvalidOptionError
        If either is not a positive integer.
    """
    if num_threads is not None:
        return check_int("num_threads", num_threads, 1)
    text = os.environ.get(THREADS_VARIABLE)
    if text is None:
        return count_cores()
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        accepted = "a positive integer"
        raise InvalidOptionError.expected(THREADS_VARIABLE, accepted, text)
    return int(text)
