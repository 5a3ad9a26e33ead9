"""Rules of array environments: the decorator `rule`, and errors with their lines."""

from __future__ import annotations

import inspect
import linecache
import re
import traceback
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, RollVecError
from roll_vec.kernels._jit import IS_COMPILED, Rule
from roll_vec.kernels.rng.generator import NOT_SHUFFLED
from roll_vec.kernels.rows import INDICES

RULES = ("begin", "step", "observe", "legal")
# Lines of numba's errors that say nothing of the fault.
_NOISE = re.compile(r"Failed in|During:|File |There are|Rejected|\s|-|$")
# How numba reports an error in what `roll_vec.kernels.calls.call_rule` calls.
_WRAPPER = re.compile(
    r"Intrinsic in function '_call_compiled'(?:.*\n)*?( *)Rejected as .*\n.*\n"
)
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_PLACE = re.compile(r"(?:at |File \")([^\s\"(]+)\"?(?:, line | \()(\d+)")
# What numba says of mistakes that people make in rules, and what we say instead.
_ADVICE = (
    (
        r"NRT required|Function\(<(?:built-in function zeros|built-in function empty|"
        r"class '(?:list|dict|set|hash|str)')|no conversion from \S+ to unicode",
        "rules make no arrays, lists, dicts or texts: use a variable of the state",
    ),
    (r"[gs]etitem\(Items", INDICES),
    (
        "Can't unify return type",
        "each path of a rule returns as many values, of the same types",
    ),
    (NOT_SHUFFLED, NOT_SHUFFLED),
    (
        r"Function\(<built-in function \w+>\) found for signature:\s+>>> .*Items\(",
        "rules compute with numbers: write a loop",
    ),
)


def rule(function: Callable[..., Any]) -> Any:
    """Mark a function as a rule of an `ArrayEnv`, or as one that rules call.

    Batches compile it, when they first call it.  Called from Python it runs as Python.

    Parameters
    ----------
    function : callable
        In the part of Python that numba compiles: of arguments that may be positional.

    Raises
    ------
    InvalidOptionError
        If it is no function of Python, or has keyword-only arguments.
    """
    if not isinstance(function, types.FunctionType):
        raise InvalidOptionError.expected("rule", "a function", function)
    if function.__code__.co_kwonlyargcount:
        message = f"{function.__qualname__}: a rule has no arguments behind a *"
        raise InvalidOptionError(message)
    return Rule(function)


def describe_frame(error: BaseException, rule: Any, files: Iterable[str]) -> str:
    """Return the place in a rule, or in what it calls, that raised an error.

    Parameters
    ----------
    error : exception
    rule : callable
        A rule, or a method such as ``text``.
    files : iterable of str
        Those of the rules of its class.

    Returns
    -------
    str
        The line, with its file if it is not that of the rule; "" if it is not known.
    """
    file = inspect.unwrap(rule).__code__.co_filename
    trace = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in trace if frame.filename in (file, *files)]
    if not frames:
        return ""
    frame = frames[-1]
    return f"{_place(frame.filename, frame.lineno, file)}: {frame.line}"


def _place(file: str, number: object, own: str) -> str:
    """Return the place of a line, with its file if it is not the one that is known."""
    return f"{'' if file == own else f'{Path(file).name}, '}line {number}"


def describe_error(error: BaseException) -> str:
    """Return the class of an error and its message, if it has one."""
    name, text = type(error).__name__, " ".join(str(error).split())
    return f"{name}: {text}" if text else name


def _explain(error: Exception, options: Any) -> InvalidOptionError:
    """Return an error of numba as one of a rule, with its line."""
    # With colorama installed, numba colours its messages.
    text = _COLOURS.sub("", str(error))
    match = _WRAPPER.search(text)
    if match is not None:
        text = re.sub(f"(?m)^{match.group(1)}", "", text[match.end() :])
    lines = [line for line in text.splitlines() if not _NOISE.match(line)]
    message = lines[0].strip() if lines else type(error).__name__
    for pattern, advice in _ADVICE:
        if re.search(pattern, text):
            message = f"{advice} ({message.rstrip(':')})"
            break
    files = {Path(file).name: file for file in options.code.files}
    own = options.rules()[0].py_func.__code__.co_filename
    for path, number in _PLACE.findall(text):
        file = path if path in options.code.files else files.get(Path(path).name)
        if file is not None:
            source = linecache.getline(file, int(number)).strip()
            message = f"{_place(file, number, own)}: {source}: {message}"
            break
    return InvalidOptionError(f"{options.name}: {message}")


def explain_failure(
    options: Any, error: Exception, elapsed_steps: NDArray[np.int32]
) -> Exception:
    """Return an error of a kernel, or of its compilation, as one of a rule.

    Parameters
    ----------
    options : ArrayEnv
        The message names its class.
    error : Exception
    elapsed_steps : (n,) int32, updated
        Of the state of the kernel; see `roll_vec.kernels.calls`.
    """
    if isinstance(error, (NumbaError, UnsupportedBytecodeError)):
        return _explain(error, options)
    rows = np.flatnonzero(elapsed_steps < 0)
    marks, elapsed_steps[rows] = elapsed_steps[rows], 0
    if not len(rows) or isinstance(error, RollVecError):
        return error
    rule = options.rule_names[-1 - marks[0]]
    where, more = f"{options.name}.{rule}", ""
    if IS_COMPILED:
        more = "; with NUMBA_DISABLE_JIT=1 the message has its line"
    else:
        function = getattr(type(options), rule)
        where += f": {describe_frame(error, function, options.code.files)}"
    # Of a tuple that is None.
    if isinstance(error, TypeError) and "None" in str(error):
        more = f" (a path has no return){more}"
    place = f"a rule failed in environment {rows[0]}"
    message = f"{where}: {place}: {describe_error(error)}{more}"
    return type(error)(message)
