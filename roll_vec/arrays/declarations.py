"""Types and tables that kernels are made of, from the declarations of an `ArrayEnv`."""

from __future__ import annotations

import dataclasses
import dis
import functools
import inspect
import math
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from roll_vec.arrays.rule_code import RuleCode, hash_lines
from roll_vec.arrays.rules import RULES
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.families import Declaration, GameKernels, make_family
from roll_vec.options import (
    MAX_INT,
    check_bool,
    check_int,
    check_number,
    check_optional_text,
)

Variable = tuple[np.dtype[Any], tuple[int, ...]]

_DTYPE_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 float32 float64"
_DTYPES = tuple(map(np.dtype, _DTYPE_NAMES.split()))
_BOOL = np.dtype(np.bool_)
_LIMIT = "max_steps"
_INT64 = range(-(1 << 63), 1 << 63)


def read_variables(owner: Any) -> dict[str, Variable]:
    """Return the dtype and the shape of each variable of one environment.

    Parameters
    ----------
    owner : ArrayEnv
        Its options may be lengths of shapes.

    Raises
    ------
    InvalidOptionError
    """
    variables = {}
    for (name, declared), axes in zip(
        owner.state.items(), _axes_of(owner), strict=True
    ):
        full_name = f"{type(owner).__name__}.state[{name!r}]"
        dtype: Any = declared[0] if isinstance(declared, tuple) else declared
        try:
            dtype = np.dtype(dtype)
        except TypeError:
            dtype = np.dtype(object)
        if dtype not in _DTYPES:
            accepted = f"one of {', '.join(each.name for each in _DTYPES)}"
            raise InvalidOptionError.expected(full_name, accepted, declared)
        lengths: list[Any] = [getattr(owner, str(each), each) for each in axes]
        for length, value in zip(axes, lengths, strict=True):
            is_integer = isinstance(value, (int, np.integer))
            if isinstance(value, bool) or not is_integer or value < 1:
                accepted = "a shape of positive numbers and names of options"
                raise InvalidOptionError.expected(full_name, accepted, length)
        variables[name] = dtype, tuple(map(int, lengths))
    return variables


def draws_numbers(owner: Any) -> bool:
    """Return whether a rule draws random numbers."""
    if owner.seeding == "stream":
        return True
    begin, *_ = owner.rules()
    return _reads_argument(begin, 1) or draws_in_step(owner)


def draws_in_step(owner: Any) -> bool:
    """Return whether the rule ``step`` draws random numbers."""
    _, step, *_ = owner.rules()
    return _reads_argument(step, 2)


def _reads_argument(function: Any, number: int) -> bool:
    """Return whether a rule reads an argument, by its number."""
    name = function.py_func.__code__.co_varnames[number]
    for each in dis.get_instructions(function.py_func):
        # One instruction of Python 3.13 may load two.
        loads_two = isinstance(each.argval, tuple)
        if name in (each.argval if loads_two else (each.argval,)):
            return True
    return False


def read_constants(owner: Any) -> dict[str, Any]:
    """Return what rules read as ``env.name`` beside variables: numbers and arrays.

    Parameters
    ----------
    owner : ArrayEnv
        A property of its class is a constant only if a rule reads it.

    Raises
    ------
    InvalidOptionError
        For a value that a rule reads and kernels cannot hold.
    """
    names = [field.name for field in dataclasses.fields(owner)]
    for cls in reversed(type(owner).__mro__):
        names += [name for name in vars(cls) if not name.startswith("_")]
    result: dict[str, Any] = {}
    for name in dict.fromkeys(names):
        if name in owner.common_names() or name in owner.state:
            continue
        member = inspect.getattr_static(type(owner), name, None)
        is_property = isinstance(member, (property, functools.cached_property))
        is_read = name in owner.code.names
        if callable(member) or (is_property and not is_read):
            continue
        value = getattr(owner, name)
        if name == _LIMIT:
            value = value or 0
        constant = read_constant(value)
        if constant is not None:
            result[name] = constant
        elif is_read:
            accepted = "numbers that rules can read: bools, floats, integers of 64 bits"
            full_name = f"{type(owner).__name__}.{name}"
            raise InvalidOptionError.expected(full_name, accepted, value)
    # Else rules read the limit of the batch.
    result.setdefault(_LIMIT, 0)
    return {**result, **owner.reset_options}


def read_constant(value: Any) -> Any:
    """Return a number or an array of numbers that kernels can hold, else None."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, (int, np.integer)):
        return int(value) if int(value) in _INT64 else None
    if not isinstance(value, (tuple, list, np.ndarray)):
        return None
    try:
        # A copy: kernels are compiled anew for an array that is read-only.
        array = np.array(value, order="C")
    except ValueError:  # for rows of several lengths
        return None
    if array.dtype.kind == "f" and not isinstance(value, np.ndarray):
        # numpy makes floats of integers beside one of more than 63 bits.
        numbers = np.array(value, object).ravel().tolist()
        if any(isinstance(each, int) and each not in _INT64 for each in numbers):
            return None
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    return array if array.dtype in _DTYPES else None


def check_option(name: str, value: Any, default: Any) -> Any:
    """Return the value of an option, of the type that its default has."""
    if isinstance(default, (bool, np.bool_)):
        return check_bool(name, value)
    if isinstance(default, (int, np.integer)):
        return check_int(name, value, -MAX_INT)
    if isinstance(default, (float, np.floating)):
        return check_number(name, value, -math.inf, math.inf)
    if isinstance(default, str):
        return check_optional_text(name, value)
    if isinstance(default, tuple) and not isinstance(value, (tuple, list, np.ndarray)):
        raise InvalidOptionError.expected(name, "a tuple, a list or an array", value)
    return value


def declare(owner: Any) -> Declaration:
    """Return the parts of a family beside its rules.

    Parameters
    ----------
    owner : ArrayEnv
    """
    # First the infos that are flags, a bool each; last those of resets.
    ranks = {name: owner.variables[name] != (_BOOL, ()) for name in owner.infos}
    ranks |= {name: 2 for name in owner.infos if name in owner.reset_infos}
    infos = tuple(sorted(ranks, key=ranks.__getitem__))
    outputs, copies_variable = tuple(owner.parts), False
    if owner.rules()[2] is None:
        (space,), outputs = owner.parts.values(), (str(owner.observation),)
        copies_variable = owner.variables[outputs[0]][0] == space.dtype
    axes = _axes_of(owner)
    output_lengths: tuple[Any, ...] = ()
    if outputs == ("",):
        # A length is a number or the name of an option with this value; None: unknown.
        known = dict.fromkeys(length for each in axes for length in each)
        names = {getattr(owner, str(each), each): each for each in known}
        observed = owner.allocate_observations(0)[0].shape[1:]
        output_lengths = tuple(names.get(length) for length in observed)
    return Declaration(
        variables=tuple(owner.variables),
        options=tuple(owner.kernel_constants),
        infos=infos,
        outputs=outputs,
        texts=tuple(dict.fromkeys(owner.text_variables.values())),
        level=tuple(owner.level_variables),
        reset_infos=tuple(name for name in infos if name in owner.reset_infos),
        lengths=tuple(axes),
        output_lengths=output_lengths,
        num_flags=list(ranks.values()).count(0),
        is_discrete=not isinstance(owner.actions, Box),
        draws=owner.has_generator,
        is_stream=owner.seeding == "stream",
        copies_variable=copies_variable,
    )


def _axes_of(owner: Any) -> list[tuple[Any, ...]]:
    """Return the lengths of the axes of each variable, as ``state`` declares them."""
    shapes = [
        each[1] if isinstance(each, tuple) else () for each in owner.state.values()
    ]
    return [each if isinstance(each, tuple) else (each,) for each in shapes]


def kernel_constants_of(owner: Any) -> dict[str, Any]:
    """Return the constants that kernels need: those that rules mention, and lengths.

    Others may have another type in another environment of the class, and kernels would
    be compiled anew.  So they would in another order: a subclass may make an option a
    constant.
    """
    lengths = {length for axes in _axes_of(owner) for length in axes}
    names = owner.code.names | lengths | set(owner.reset_options)
    return {
        name: owner.constants[name] for name in sorted(names & set(owner.constants))
    }


@functools.lru_cache(maxsize=64)
def make_kernels(
    code: RuleCode, declaration: Declaration, tuned_step: Any
) -> GameKernels:
    """Return kernels; they are compiled once for equal rules."""
    # An edit of a kernel of the package compiles all of them anew.
    tuned = tuned_step and (tuned_step.__module__, tuned_step.__qualname__)
    key = hash_lines([code.digest, repr((declaration, tuned))])
    # A picture that is not observed is drawn as Python.
    rules = code.rules[: len(RULES)]
    family: GameKernels = make_family(rules, declaration, key, tuned_step)
    return family
