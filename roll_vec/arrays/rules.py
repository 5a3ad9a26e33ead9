"""Rules of array environments: the decorator `rule`, and the digest of its functions.

A digest names compiled code in the cache on disk.  It covers the bytecode of a rule,
and all that it reads of its module: other rules, numbers, arrays, tuples.  So an edit
of any of these is compiled anew, in a file as in a cell of a notebook.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import linecache
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from roll_vec.errors import InvalidOptionError
from roll_vec.kernels._jit import Rule

# What rules and their compilation raise.
RULE_ERRORS = (NumbaError, ArithmeticError, IndexError, TypeError, ValueError)
_LIBRARIES = ("math", "numba", "numpy")

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


def digest_rules(rules: list[Rule | None], lengths: Any = ()) -> str:
    """Return the digest of rules, of all that they read of their modules, and lengths.

    ``lengths`` are those that their kernels know.
    """
    parts = [repr(lengths)]
    ids: set[int] = set()
    for each in rules:
        parts.append("rule" if each is not None else "none")
        if each is not None:
            _describe_function(each.py_func, parts, ids)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def functions_of(rules: list[Rule | None]) -> list[types.FunctionType]:
    """Return the functions of rules, and those of their modules that they call."""
    functions = [each.py_func for each in rules if each is not None]
    for function in functions:
        for value in _globals_of(function).values():
            callee = getattr(value, "py_func", value)
            if _is_users(callee) and callee not in functions:
                functions.append(callee)
    return functions


def names_of(rules: list[Rule | None]) -> frozenset[str]:
    """Return all names that rules, and the functions that they call, mention."""
    codes = [each.__code__ for each in functions_of(rules)]
    return frozenset(
        name for code in codes for each in _codes(code) for name in each.co_names
    )


def arrays_of(function: types.FunctionType) -> list[str]:
    """Return the globals of a function that are arrays or numbers of numpy."""

    def is_numpys(value: Any) -> bool:
        if isinstance(value, (tuple, list)):
            return any(map(is_numpys, value))
        return isinstance(value, (np.ndarray, np.generic))

    return [name for name, value in _globals_of(function).items() if is_numpys(value)]


def uses_other_generators(function: types.FunctionType) -> bool:
    """Return whether a function reads ``random`` of Python or of numpy."""
    values = _globals_of(function)
    owners = [getattr(each, "__name__", "") for each in values.values()]
    if not {"random", "numpy.random"}.isdisjoint(owners):
        return True
    for code in _codes(function.__code__):
        owner: Any = None
        for instruction in dis.get_instructions(code):
            if owner is np and instruction.argval == "random":
                return True
            is_global = instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF")
            owner = values.get(instruction.argval) if is_global else None
    return False


def _is_users(value: Any) -> bool:
    """Return whether a value is a function that is not of a library."""
    is_function = isinstance(value, types.FunctionType)
    return is_function and value.__module__.partition(".")[0] not in _LIBRARIES


def _globals_of(function: Any) -> dict[str, Any]:
    """Return the globals and the outer variables that a function reads, by name."""
    module, names = function.__globals__, _global_names(function.__code__)
    values = {name: module[name] for name in names if name in module}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {**values, **{name: cell.cell_contents for name, cell in cells}}


@functools.lru_cache(1000)
def _global_names(code: types.CodeType) -> list[str]:
    """Return the names of the globals that code reads, in order."""
    # Not all names: those of attributes, as in rng.random, may be globals as well.
    names = {
        each.argval
        for part in _codes(code)
        for each in dis.get_instructions(part)
        if each.opname == "LOAD_GLOBAL"
    }
    return sorted(names)


def _describe_function(function: Any, parts: list[str], ids: set[int]) -> None:
    if id(function) in ids:
        return
    ids.add(id(function))
    # Machine code from the cache imports the module that it was compiled in.
    parts.append(str(function.__module__))
    codes = list(_codes(function.__code__))
    names = dict.fromkeys(name for code in codes for name in code.co_names)
    for code in codes:
        constants = [each for each in code.co_consts if not hasattr(each, "co_code")]
        parts.append(f"{code.co_code.hex()} {constants!r} {code.co_names}")
        table = getattr(code, "co_exceptiontable", b"")  # Python 3.10 has none
        parts.append(f"{code.co_varnames} {code.co_freevars} {table!r}")
    parts.append(repr((function.__defaults__, function.__kwdefaults__)))
    for name, value in _globals_of(function).items():
        parts.append(name)
        _describe_value(value, names, parts, ids)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _describe_value(
    value: Any, names: dict[str, None], parts: list[str], ids: set[int]
) -> None:
    """Add a text that differs for values which compile to different code."""
    function = getattr(value, "py_func", value)
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        parts.append(f"{value.dtype} {value.shape} {digest}")
    elif _is_users(function):
        _describe_function(function, parts, ids)
    elif isinstance(value, (list, tuple)):
        parts.append(f"{type(value).__name__} {len(value)}")
        for item in value:
            _describe_value(item, names, parts, ids)
    elif isinstance(value, types.ModuleType):
        parts.append(value.__name__)
        if value.__name__.partition(".")[0] not in _LIBRARIES:
            for name in names:
                if hasattr(value, name):
                    parts.append(name)
                    _describe_value(getattr(value, name), names, parts, ids)
    elif isinstance(value, type) or callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        parts.append(f"{getattr(value, '__module__', '')}.{name}")
    else:
        parts.append(f"{type(value).__name__} {value!r}")


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
