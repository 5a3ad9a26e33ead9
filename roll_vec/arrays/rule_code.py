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
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from roll_vec.errors import InvalidOptionError
from roll_vec.kernels._jit import IS_COMPILED, Rule
from roll_vec.kernels.calls import RAISED

_LIBRARIES = ("builtins", "math", "cmath", "_operator", "numpy", "numba")
_KERNELS = "roll_vec.kernels."
# A name that code reads, and the attributes that it reads of it, one of another.
Chain = tuple[str, ...]
_NUMBERS = (bool, int, float, complex, str, bytes, type(None), type(...))
# Compiled code names a module that every process can import.
_MODULE = Rule.__module__
_HINT = (
    "rules read numbers, texts, tuples and enums of their module, and call functions "
    "with the decorator roll_vec.rule"
)


@dataclasses.dataclass(frozen=True)
class RuleCode:
    """Copies of rules; those with one digest are equal.

    Attributes
    ----------
    digest : str
    rules : tuple of Rule or None
    exceptions : tuple of exception classes
        Those that rules raise; in the copies `roll_vec.kernels.calls.RAISED` are in
        their place, as machine code on disk would have the class of another process.
    """

    digest: str
    # Rules that run as Python may call methods of classes that have no digest.
    rules: tuple[Rule | None, ...] = dataclasses.field(compare=not IS_COMPILED)
    exceptions: tuple[type[Exception], ...] = dataclasses.field(compare=False)

    def with_class(self, error: Exception) -> Exception:
        """Return an error of copies with the class that the rule names."""
        if type(error) not in RAISED:
            return error
        cls = self.exceptions[RAISED.index(type(error))]
        return cls(*error.args).with_traceback(error.__traceback__)


def copy_rules(owner: str, rules: Iterable[Rule | None], declarations: Any) -> RuleCode:
    """Return copies of rules, which read only what their digest covers.

    Parameters
    ----------
    owner : str
        The name of the class, for errors.
    rules : iterable of Rule or None
    declarations : object
        What kernels are made from beside the rules.  Its `repr` tells two apart.

    Raises
    ------
    InvalidOptionError
        If a rule reads a value that cannot be told apart from others by its content.
    """
    copier = _Copier()
    copies = tuple(copier.copy(owner, each) for each in rules)
    lines = [repr(declarations), *copier.lines]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    for function, _ in copier.functions.values():
        # Symbols of machine code must differ where the code does.
        function.__qualname__ = f"{digest}.{function.__qualname__}"
    return RuleCode(digest, copies, tuple(copier.exceptions))


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def globals_of(function: types.FunctionType) -> dict[str, Any]:
    """Return the globals and the outer variables that a function reads, by name."""
    module = function.__globals__
    names = dict.fromkeys(name for name, *_ in chains_of(function.__code__))
    values = {name: module[name] for name in names if name in module}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            values[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    return values


def is_of_library(value: Any) -> bool:
    """Return whether a library that rules may use has a value under its name."""
    module = getattr(value, "__module__", None)
    if isinstance(value, np.ufunc):
        module = "numpy"
    if not isinstance(module, str) or module.partition(".")[0] not in _LIBRARIES:
        return False
    name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    try:
        return operator.attrgetter(name)(sys.modules.get(module)) is value
    except AttributeError:
        return False


@functools.lru_cache(1000)
def chains_of(code: types.CodeType) -> tuple[Chain, ...]:
    """Return the globals that code loads, each with attributes: ``np``, ``int8``.

    It is kept, as it takes ten times as long as to make an environment.
    """
    chains: list[list[str]] = []
    is_open = False
    for part in codes_of(code):
        for each in dis.get_instructions(part):
            if each.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
                chains.append([each.argval])
                is_open = True
            elif is_open and each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                chains[-1].append(each.argval)
            elif each.opname != "EXTENDED_ARG":
                is_open = False
    return tuple(sorted(set(map(tuple, chains))))


def _after(chains: Iterable[Chain], name: str) -> tuple[Chain, ...]:
    """Return the rest of the chains that begin with a name."""
    return tuple(chain[1:] for chain in chains if chain[:1] == (name,))


class _Copier:
    """Copies values that rules read, and describes them.

    Attributes
    ----------
    lines : list of str
        They differ for values that compile to different code.
    functions : dict of object to (function, object)
        The copy of each function that rules call, and what it is to them.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.functions: dict[Any, tuple[types.FunctionType, Any]] = {}
        self.exceptions: list[type[Exception]] = []
        # Of functions that are copied at present, each called by the one before.
        self._callers: list[Any] = []

    def copy(self, name: str, value: Any, chains: tuple[Chain, ...] = ()) -> Any:
        """Return a copy of a value that a rule reads under a name, and describe it.

        Parameters
        ----------
        chains : tuple of tuples of str
            What the rule reads of the value: attributes, attributes of these, ...
        """
        cls, kind = type(value), type(value).__name__
        if cls in _NUMBERS:
            self._add(kind, value)
        elif isinstance(value, enum.Enum):
            self.copy(name, cls)
            self._add(value.name)
            value = int(value.value) if _are_ints(cls, chains) else value
        elif cls in (list, tuple) or _is_named_tuple(cls):
            self._add(kind, len(value), getattr(cls, "_fields", ()))
            items = [self.copy(name, item) for item in value]
            value = tuple(items) if cls in (list, tuple) else cls(*items)
        elif isinstance(value, type) and issubclass(value, enum.Enum):
            self._add(kind, value.__name__, [each.__name__ for each in value.__mro__])
            for key, member in value.__members__.items():
                self.copy(name, (key, member.name, member.value))
            if _are_ints(value, [chain[1:] for chain in chains]):
                # numba takes no member of an enum as an index.
                members = {
                    key: int(each.value) for key, each in value.__members__.items()
                }
                value = types.ModuleType(value.__name__)
                vars(value).update(members)
        elif isinstance(value, type) and _is_named_tuple(value):
            self._add(kind, value.__name__, getattr(value, "_fields", ()))
        elif isinstance(value, types.ModuleType):
            value = self._copy_module(name, value, chains)
        elif is_of_library(value) or _is_kernel(value):
            self._add(value.__module__, value.__qualname__)
        elif isinstance(value, type) and issubclass(value, Exception):
            value = self._copy_exception(name, value)
        else:
            value = self._copy_function(name, value)
        return value

    def _add(self, *parts: Any) -> None:
        self.lines.append(repr(parts))

    def _copy_exception(self, name: str, cls: type[Exception]) -> type[Exception]:
        if cls not in self.exceptions:
            self.exceptions.append(cls)
        number = self.exceptions.index(cls)
        if number >= len(RAISED):
            message = f"{name}: rules raise at most {len(RAISED)} classes of their own"
            raise InvalidOptionError(message)
        self._add("exception", number)
        return RAISED[number]

    def _copy_module(
        self, name: str, module: types.ModuleType, chains: tuple[Chain, ...]
    ) -> types.ModuleType:
        """Return a module with the attributes that a rule reads."""
        self._add("module", module.__name__)
        if module.__name__.partition(".")[0] in _LIBRARIES:
            return module
        result = types.ModuleType(module.__name__)
        for key in dict.fromkeys(chain[0] for chain in chains if chain):
            if hasattr(module, key):
                self._add(key)
                value = getattr(module, key)
                copy = self.copy(f"{name}.{key}", value, _after(chains, key))
                setattr(result, key, copy)
        return result

    def _copy_function(self, name: str, value: Any) -> Any:
        """Return a copy of a function that rules call, as what it is to them."""
        function: Any = getattr(value, "py_func", value)
        is_plain = function is value and not IS_COMPILED
        is_compiled = isinstance(value, Dispatcher) and getattr(
            value, "_can_compile", True
        )
        is_callable = is_plain or is_compiled or isinstance(value, Rule)
        if not (isinstance(function, types.FunctionType) and is_callable):
            message = f"{name} is {value!r:.100}: {_HINT}"
            raise InvalidOptionError(message)
        if value in self.functions:
            may_recur = self._callers[-1:] == [value] and not is_compiled
            if value in self._callers and not may_recur:
                message = (
                    f"{name} is called in a circle: a function with the decorator "
                    "roll_vec.rule may call itself, but no other one that calls it"
                )
                raise InvalidOptionError(message)
            self._add("function", list(self.functions).index(value))
            return self.functions[value][1]
        code, name = function.__code__, f"{name.partition(':')[0]}: {function.__name__}"
        cells = tuple(types.CellType() for _ in code.co_freevars)
        scope: dict[str, Any] = {"__name__": _MODULE}
        copy = types.FunctionType(code, scope, function.__name__, None, cells)
        copy.__qualname__ = function.__qualname__
        result: Any = copy
        if isinstance(value, Rule):
            result = Rule(copy)
        elif is_compiled:
            options = value.targetoptions
            pipeline = value._compiler.pipeline_class
            self._add(pipeline.__qualname__, _describe_options(options), value.locals)
            result = type(value)(copy, value.locals, options, pipeline)
        # Before what it reads, where it may stand again.
        self.functions[value] = copy, result
        self._callers.append(value)
        self._add(type(value).__name__, function.__qualname__)
        for part in codes_of(code):
            self._add(*_describe(part))
        defaults = function.__defaults__, *(function.__kwdefaults__ or {}).items()
        copied = self.copy(f"{name}: a default", defaults)
        copy.__defaults__, copy.__kwdefaults__ = copied[0], dict(copied[1:]) or None
        values = {}
        for key, each in globals_of(function).items():
            self._add(key)
            chains = _after(chains_of(code), key)
            values[key] = self.copy(f"{name}: {key}", each, chains)
        for key, cell in zip(code.co_freevars, cells, strict=True):
            if key in values:
                cell.cell_contents = values.pop(key)
        scope.update(values)
        self._callers.pop()
        return result


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


def _describe_options(options: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return numba's options of a function in one order."""
    return [
        (key, sorted(value) if isinstance(value, (set, frozenset)) else value)
        for key, value in sorted(options.items())
    ]


def _are_ints(cls: Any, chains: Iterable[Chain]) -> bool:
    """Return whether members of an enum, of which a rule reads chains, can be ints."""
    return issubclass(cls, int) and not any(chains)


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _is_kernel(value: Any) -> bool:
    """Return whether a value is a kernel of this package: the cache tells it apart."""
    function = getattr(value, "py_func", value)
    is_function = isinstance(function, types.FunctionType)
    return is_function and str(function.__module__).startswith(_KERNELS)
