"""The code of rules: copies of their functions, and the digest that names them.

Compiled code is stored on disk under a digest.  A copy can read nothing of its module
but what the digest covers: its globals are a dict of these values alone, of which the
mutable ones are copies.  So code and digest cannot differ, whatever is changed later in
a module or in a notebook, and a batch keeps the rules that it was made with.
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import functools
import hashlib
import operator
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from roll_vec.errors import InvalidOptionError
from roll_vec.kernels._jit import IS_COMPILED, Rule

_LIBRARIES = ("builtins", "math", "cmath", "_operator", "numpy", "numba")
_NUMBERS = (bool, int, float, complex, str, bytes, type(None), type(...))
# Compiled code names a module that every process can import.
_MODULE = Rule.__module__
_HINT = (
    "rules read Python's numbers, texts, tuples and enums of integers of their module, "
    "draw from `rng`, and call functions with the decorator roll_vec.rule, also those "
    "of a game's class, as Parent.step"
)


@dataclasses.dataclass(frozen=True)
class RuleCode:
    """Copies of rules; those with one digest are equal.

    Attributes
    ----------
    digest : str
    rules : tuple of Rule or None
    names : frozenset of str
        All names that rules, and the functions that they call, mention.
    files : frozenset of str
        Where these stand.
    """

    digest: str
    # Rules that run as Python may call methods of classes that have no digest.
    rules: tuple[Rule | None, ...] = dataclasses.field(compare=not IS_COMPILED)
    names: frozenset[str] = dataclasses.field(compare=False)
    files: frozenset[str] = dataclasses.field(compare=False)


def copy_rules(owner: str, rules: Iterable[Rule | None]) -> RuleCode:
    """Return copies of rules, which read only what their digest covers.

    Parameters
    ----------
    owner : str
        The name of the class, for errors.
    rules : iterable of Rule or None

    Raises
    ------
    InvalidOptionError
        If a rule reads a value that cannot be told apart from others by its content.
    """
    copier = _Copier(owner)
    copies = tuple(copier.copy(owner, each) for each in rules)
    names: frozenset[str] = frozenset().union(*(each.names for each in copies if each))
    files = frozenset(each.py_func.__code__.co_filename for each in copier.copies)
    return RuleCode(hash_lines(copier.lines), copies, names, files)


def hash_lines(lines: Iterable[str]) -> str:
    """Return a digest of texts that tell code apart."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_of(constant)


def _globals_of(function: types.FunctionType) -> dict[str, Any]:
    """Return the globals and the outer variables that a function reads, by name."""
    module = function.__globals__
    names = dict.fromkeys(name for name, _ in _reads_of(function.__code__))
    values = {name: module[name] for name in names if name in module}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            values[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    return values


@functools.lru_cache(1000)
def _reads_of(code: types.CodeType) -> tuple[tuple[str, str], ...]:
    """Return the globals that code loads, each with an attribute: ``np``, ``int8``.

    It is kept, as it takes ten times as long as to make an environment.
    """
    reads, name = set(), ""
    for part in _codes_of(code):
        for each in dis.get_instructions(part):
            if each.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
                name = each.argval
                reads.add((name, ""))
            elif name and each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                reads.add((name, each.argval))
            if each.opname not in ("LOAD_GLOBAL", "LOAD_DEREF", "EXTENDED_ARG"):
                name = ""
    return tuple(sorted(reads))


class _Copier:
    """Copies values that rules read, and describes them.

    Attributes
    ----------
    lines : list of str
        They differ for values that compile to different code.
    copies : dict of Rule to Rule
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self.lines: list[str] = []
        self.copies: dict[Rule, Rule] = {}
        # Rules that are copied at present, each called by the one before.
        self._callers: list[Rule] = []

    def copy(self, name: str, value: Any) -> Any:
        """Return a copy of a value that a rule reads under a name, and describe it."""
        cls, kind = type(value), type(value).__name__
        if cls in _NUMBERS:
            self._add(kind, value)
        elif isinstance(value, enum.IntEnum):
            # numba accepts no member of an enum as an index.
            value = self.copy(name, int(value))
        elif cls in (list, tuple):
            self._add(kind, len(value))
            value = tuple([self.copy(name, item) for item in value])
        elif isinstance(value, type) and issubclass(value, enum.IntEnum):
            members = {key: int(each) for key, each in value.__members__.items()}
            self._add(value.__name__, members)
            value = types.ModuleType(value.__name__)
            vars(value).update(members)
        elif isinstance(value, types.ModuleType) and _is_library(value.__name__):
            self._add("module", value.__name__)
        elif isinstance(value, Rule):
            value = self._copy_rule(name, value)
        elif _is_of_library(value) or _is_kernel(value):
            self._add(value.__module__, value.__qualname__)
        else:
            self._refuse(name, value)
        return value

    def _add(self, *parts: Any) -> None:
        self.lines.append(repr(parts))

    def _refuse(self, name: str, value: Any) -> NoReturn:
        message = f"{name} is {value!r:.100}: {_HINT}"
        raise InvalidOptionError(message)

    def _check_numpy(self, name: str, value: Any) -> None:
        """Refuse ``np.random``, which has no seed, and types as ``np.int8``.

        Their numbers wrap and round; `roll_vec.envs.rounding` does so on purpose.
        """
        is_type = isinstance(value, type) and issubclass(value, np.generic)
        # Code that `exec` runs may have no module.
        module = str(self._callers[-1].py_func.__module__)
        is_ours = module.partition(".")[0] == "roll_vec"
        if value is np.random or (is_type and not is_ours):
            self._refuse(name, value)

    def _copy_class(self, name: str, cls: Any, attributes: Iterable[str]) -> Any:
        """Return the attributes that a rule reads of a game's class, as of a module."""
        result = types.ModuleType(cls.__name__)
        for attribute in attributes:
            if hasattr(cls, attribute):
                self._add(attribute)
                value = self.copy(f"{name}.{attribute}", getattr(cls, attribute))
                setattr(result, attribute, value)
        return result

    def _copy_rule(self, name: str, rule: Rule) -> Rule:
        """Return a copy of a rule, with copies of all that it reads."""
        if rule in self.copies:
            if rule in self._callers[:-1]:
                message = (
                    f"{name} is called in a circle: a function with the decorator "
                    "roll_vec.rule may call itself, but no other one that calls it"
                )
                raise InvalidOptionError(message)
            return self._use(self.copies[rule])
        function = rule.py_func
        code, name = function.__code__, f"{self._owner}.{function.__name__}"
        # Of the rule that has called it, and the others.
        if self._callers:
            first = self._callers[0].py_func.__code__
            if code.co_filename != first.co_filename:
                place = f"{Path(code.co_filename).name}, line {code.co_firstlineno}"
                name = f"{name} ({place})"
        cells = tuple(types.CellType() for _ in code.co_freevars)
        scope: dict[str, Any] = {"__name__": _MODULE}
        copy = types.FunctionType(code, scope, function.__name__, None, cells)
        # Before what it reads, where it may stand again.
        self.copies[rule] = result = Rule(copy)
        self._callers.append(rule)
        start = len(self.lines)
        self._add("rule", function.__qualname__)
        for part in _codes_of(code):
            self._add(*_describe(part))
        # numba has no arguments that are keywords alone.
        copy.__defaults__ = self.copy(f"{name}: a default", function.__defaults__)
        values = _globals_of(function)
        for key, attribute in _reads_of(code):
            if key in values:
                value = getattr(values[key], attribute, None)
                self._check_numpy(f"{name}: {key}.{attribute}", value)
        for key, value in values.items():
            self._add(key)
            if key == "__class__":
                parent = f"{value.__base__.__name__}.{function.__name__}(...)"
                message = f"{name}: rules call no super(): write {parent}"
                raise InvalidOptionError(message)
            self._check_numpy(f"{name}: {key}", value)
            if isinstance(getattr(value, "step", None), Rule):
                names = [each for owner, each in _reads_of(code) if owner == key]
                scope[key] = self._copy_class(f"{name}: {key}", value, names)
            else:
                scope[key] = self.copy(f"{name}: {key}", value)
        for key, cell in zip(code.co_freevars, cells, strict=True):
            if key in scope:
                cell.cell_contents = scope.pop(key)
        self._callers.pop()
        result.names |= {each for part in _codes_of(code) for each in part.co_names}
        # One line in the place of all: whoever calls the rule first, and of which
        # class, the digests of both are the same.
        result.digest = hash_lines(self.lines[start:])
        del self.lines[start:]
        # Symbols of machine code must differ where the code does.
        copy.__qualname__ = f"{result.digest}.{function.__qualname__}"
        return self._use(result)

    def _use(self, rule: Rule) -> Rule:
        """Return the copy of a rule that a rule calls: itself, without a digest yet."""
        self._add("rule", rule.digest)
        if self._callers:
            self.copies[self._callers[-1]].names |= rule.names
        return rule


@functools.lru_cache(1000)
def _describe(code: types.CodeType) -> tuple[Any, ...]:
    """Return what tells code apart: not the numbers of its lines."""
    constants = [
        sorted(map(repr, each)) if isinstance(each, frozenset) else each
        for each in code.co_consts
        if not isinstance(each, types.CodeType)
    ]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    arguments = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    table = getattr(code, "co_exceptiontable", b"")  # Python 3.10 has none
    return code.co_code.hex(), constants, names, arguments, code.co_flags, table


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES


def _is_of_library(value: Any) -> bool:
    """Return whether a library that rules may use has a value under its name."""
    module = getattr(value, "__module__", None)
    if isinstance(value, np.ufunc):
        module = "numpy"
    if not (isinstance(module, str) and _is_library(module)):
        return False
    name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    try:
        return operator.attrgetter(name)(sys.modules.get(module)) is value
    except AttributeError:
        return False


def _is_kernel(value: Any) -> bool:
    """Return whether a value is a kernel of this package: the cache tells it apart."""
    function = getattr(value, "py_func", value)
    is_function = isinstance(function, types.FunctionType)
    return is_function and str(function.__module__).startswith("roll_vec.kernels.")
