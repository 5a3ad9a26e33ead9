"""Rules of array environments: the decorator `rule`, what functions mention, errors."""

from __future__ import annotations

import dis
import linecache
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from roll_vec.arrays.rule_code import codes_of, globals_of, is_of_library
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels._jit import Rule

# What rules and their compilation raise.
RULE_ERRORS = (NumbaError, ArithmeticError, IndexError, TypeError, ValueError)

# Lines of numba's errors that say nothing of the fault.
_NOISE = re.compile(r"Failed in|During:|File |There are|Rejected|\s|-|$")
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
        for value in globals_of(function).values():
            callee = getattr(value, "py_func", value)
            if _is_users(callee) and callee not in functions:
                functions.append(callee)
    return functions


def names_of(rules: list[Rule | None]) -> frozenset[str]:
    """Return all names that rules, and the functions that they call, mention."""
    codes = [each.__code__ for each in functions_of(rules)]
    return frozenset(
        name for code in codes for each in codes_of(code) for name in each.co_names
    )


def arrays_of(function: types.FunctionType) -> list[str]:
    """Return the globals of a function that are arrays or numbers of numpy."""

    def is_numpys(value: Any) -> bool:
        if isinstance(value, (tuple, list)):
            return any(map(is_numpys, value))
        return isinstance(value, (np.ndarray, np.generic))

    return [name for name, value in globals_of(function).items() if is_numpys(value)]


def uses_other_generators(function: types.FunctionType) -> bool:
    """Return whether a function reads ``random`` of Python or of numpy."""
    values = globals_of(function)
    owners = [getattr(each, "__name__", "") for each in values.values()]
    if not {"random", "numpy.random"}.isdisjoint(owners):
        return True
    for code in codes_of(function.__code__):
        owner: Any = None
        for instruction in dis.get_instructions(code):
            if owner is np and instruction.argval == "random":
                return True
            is_global = instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF")
            owner = values.get(instruction.argval) if is_global else None
    return False


def _is_users(value: Any) -> bool:
    """Return whether a value is a function that is not of a library."""
    return isinstance(value, types.FunctionType) and not is_of_library(value)


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
    (
        r"getiter",
        "rules do not loop over the items of an array: for i in range(len(a))",
    ),
    (r"unsupported operand .*Items", "rules compute with numbers: write a loop"),
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
    text = _COLOURS.sub("", str(error))
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
