"""Rules of array environments: the decorator `rule`, what functions mention, errors."""

from __future__ import annotations

import enum
import inspect
import linecache
import random
import re
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.core.types import Type as NumbaType
from numpy.typing import NDArray

from roll_vec.arrays.rule_code import chains_of, codes_of, globals_of, is_of_library
from roll_vec.errors import InvalidOptionError, RollVecError
from roll_vec.kernels._jit import IS_COMPILED, Rule
from roll_vec.kernels.rng.generator import NOT_SHUFFLED
from roll_vec.kernels.rows import INDICES

# In the order of `roll_vec.kernels.calls`.
RULES = ("begin", "step", "observe", "legal")
# Lines of numba's errors that say nothing of the fault.
_NOISE = re.compile(r"Failed in|During:|File |There are|Rejected|\s|-|$")
# How numba reports an error in what `roll_vec.kernels.calls.call_rule` calls.
_WRAPPER = re.compile(
    r"Intrinsic in function '_call_compiled'(?:.*\n)*?( *)Rejected as .*\n.*\n"
)
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_PLACE = re.compile(r"(?:at |File \")([^\s\"(]+)\"?(?:, line | \()(\d+)")


def rule(function: Callable[..., Any]) -> Any:
    """Mark a function as a rule of an `ArrayEnv`, or as one that rules call.

    Batches compile it, when they first call it.  Called from Python it runs as Python.

    Parameters
    ----------
    function : callable
        Of positional arguments, in the part of Python that numba compiles.

    Raises
    ------
    InvalidOptionError
        If it is no function of Python.
    """
    if not isinstance(function, types.FunctionType):
        raise InvalidOptionError.expected("rule", "a function", function)
    return Rule(function)


def functions_of(rules: list[Rule | None]) -> list[types.FunctionType]:
    """Return the functions of rules, and those of their modules that they call."""
    functions = [each.py_func for each in rules if each is not None]
    for function in functions:
        for _, value in _reads_of(function):
            for each in _items_of(value):
                callee = getattr(each, "py_func", each)
                is_function = isinstance(callee, types.FunctionType)
                if is_function and not (is_of_library(callee) or callee in functions):
                    functions.append(callee)
    return functions


def _items_of(value: Any) -> Iterator[Any]:
    """Yield the items of nested tuples and lists; of another value itself."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _items_of(item)
    else:
        yield value


def names_of(rules: list[Rule | None]) -> frozenset[str]:
    """Return all names that rules, and the functions that they call, mention."""
    codes = [each.__code__ for each in functions_of(rules)]
    return frozenset(
        name for code in codes for each in codes_of(code) for name in each.co_names
    )


def reads_numpys_numbers(function: types.FunctionType) -> Iterator[tuple[str, bool]]:
    """Yield what a function reads that has, or makes, numbers of numpy.

    Yields
    ------
    name : str
    is_type : bool
        Whether it makes numbers: ``np.int8``.
    """
    for name, value in _reads_of(function):
        is_type = isinstance(value, type) and issubclass(value, np.generic)
        items = [getattr(each, "_value_", each) for each in _items_of(value)]
        if is_type or isinstance(value, NumbaType):
            yield name, True
        elif any(isinstance(each, (np.ndarray, np.generic)) for each in items):
            yield name, False


def uses_other_generators(function: types.FunctionType) -> bool:
    """Return whether a function reads ``random`` of Python or of numpy."""
    for _, value in _reads_of(function):
        if getattr(value, "__name__", "") in ("random", "numpy.random"):
            return True
        owner = getattr(value, "__self__", None)
        if isinstance(owner, (random.Random, np.random.RandomState)):
            return True
    return False


def _reads_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names and values that a function reads beside its arguments.

    They are its globals and outer variables, its defaults, and what it reads of modules
    and enumerations, as ``np.int8``.
    """
    values = globals_of(function)
    yield from values.items()
    defaults = inspect.signature(function).parameters.items()
    for name, parameter in defaults:
        if parameter.default is not parameter.empty:
            yield name, parameter.default
    for name, *attributes in chains_of(function.__code__):
        owner = values.get(name)
        for attribute in attributes:
            if not isinstance(owner, (types.ModuleType, enum.EnumMeta)):
                break
            name, owner = f"{name}.{attribute}", getattr(owner, attribute, None)
            yield name, owner


# What numba says of mistakes that people make in rules, and what we say instead.
_ADVICE = (
    (
        r"NRT required|Function\(<(?:built-in function zeros|built-in function empty|"
        r"class '(?:list|dict|set|hash|str)')|no conversion from \S+ to unicode",
        "rules make no arrays, lists, dicts or texts: use a variable of the state",
    ),
    (
        r"Cannot determine Numba type of <class 'function'>",
        "a function that a rule calls needs the decorator roll_vec.rule",
    ),
    (r"[gs]etitem\(Items", INDICES),
    (NOT_SHUFFLED, NOT_SHUFFLED),
    (
        r"Function\(<built-in function \w+>\) found for signature:\s+>>> .*Items\(",
        "rules compute with numbers: write a loop",
    ),
)


def frame_of(error: BaseException, rule: Any) -> traceback.FrameSummary | None:
    """Return the place in a rule, or in what it calls, that raised an error.

    A method, such as ``text``, is a rule, too.  Machine code from the cache has the
    right name of a function, but the number of a line may be that of an earlier edit.
    """
    function = inspect.unwrap(rule)
    files = {each.__code__.co_filename for each in functions_of([Rule(function)])}
    trace = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in trace if frame.filename in files]
    return frames[-1] if frames else None


def describe_frame(frame: traceback.FrameSummary, rule: Any) -> str:
    """Return the line of a frame, with its file if it is not that of the rule."""
    is_same = frame.filename == inspect.unwrap(rule).__code__.co_filename
    file = "" if is_same else f"{Path(frame.filename).name}, "
    return f"{file}line {frame.lineno}: {frame.line}"


def describe_error(error: BaseException) -> str:
    """Return the class of an error and its message, if it has one."""
    name, text = type(error).__name__, " ".join(str(error).split())
    return f"{name}: {text}" if text else name


def with_message(error: Exception, message: str) -> Exception:
    """Return an error of the same class with another message.

    It does not call a user's own constructor, which may take other arguments.
    """
    cls = type(error)
    builtin: Any = next(each for each in cls.__mro__ if each.__module__ == "builtins")
    result: Exception = builtin.__new__(cls, message)
    vars(result).update(vars(error))
    result.args = (message,)
    return result


def _unwrap(text: str) -> str:
    """Return numba's error of a rule, without that of the call of it in a kernel."""
    match = _WRAPPER.search(text)
    if match is None:
        return text
    indent = match.group(1)
    return "\n".join(
        line.removeprefix(indent) for line in text[match.end() :].splitlines()
    )


def explain(
    error: Exception, name: str, rules: list[Rule | None]
) -> InvalidOptionError:
    """Return an error of the compiler as one of a rule, with its line.

    Parameters
    ----------
    error : Exception
        Of numba.
    name : str
        Of the class.
    rules : list of Rule or None
    """
    # With colorama installed, numba colours its messages.
    text = _unwrap(_COLOURS.sub("", str(error)))
    lines = [line for line in text.splitlines() if not _NOISE.match(line)]
    message = lines[0].strip() if lines else type(error).__name__
    for pattern, advice in _ADVICE:
        if re.search(pattern, text):
            message = f"{advice} ({message.rstrip(':')})"
            break
    files = {
        Path(each.__code__.co_filename).name: each.__code__.co_filename
        for each in (rule.py_func for rule in rules if rule is not None)
    }
    for path, number in _PLACE.findall(text):
        file = files.get(Path(path).name)
        if file is not None:
            source = linecache.getline(file, int(number)).strip()
            return InvalidOptionError(f"{name}: line {number}: {source}: {message}")
    return InvalidOptionError(f"{name}: a rule cannot be compiled: {message}")


def explain_failure(
    options: Any,
    error: Exception,
    elapsed_steps: NDArray[np.int32],
    rule: str | None = None,
) -> Exception:
    """Return an error of a kernel, or of its compilation, as one of a rule.

    Parameters
    ----------
    options : ArrayEnv
        The message names its class.
    error : Exception
    elapsed_steps : (n,) int32, updated
        Of the state of the kernel; see `roll_vec.kernels.calls`.
    rule : str or None
        The rule, where the kernel does not mark it there.
    """
    if isinstance(error, (NumbaError, UnsupportedBytecodeError)):
        return explain(error, options.name, options.rules())
    error = options.code.with_class(error)
    if isinstance(error, RollVecError):
        return error
    rows, place = np.flatnonzero(elapsed_steps < 0), ""
    if len(rows):
        rule = RULES[-1 - elapsed_steps[rows[0]]]
        place = f" in environment {rows[0]}"
        elapsed_steps[rows] = 0
    if rule is None:
        return error
    function, where = getattr(type(options), rule), f"{options.name}.{rule}"
    frame = frame_of(error, function)
    if frame is not None and not IS_COMPILED:
        where = f"{where}: {describe_frame(frame, function)}"
    elif frame is not None and frame.name != rule:
        where = f"{where}, in {frame.name}"
    # Of a tuple that is None.
    is_none = isinstance(error, TypeError) and "None" in str(error)
    hint = " (a path has no return)" if is_none else ""
    more = "; with NUMBA_DISABLE_JIT=1 the message has its line"
    more = more if IS_COMPILED else ""
    message = f"{where}: a rule failed{place}: {describe_error(error)}{hint}{more}"
    return with_message(error, message)
