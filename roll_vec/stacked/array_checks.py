"""The check of an `ArrayEnv` when it is registered: each rule runs once, as Python."""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space
from gymnasium.spaces import Tuple as TupleSpace

from roll_vec.errors import InvalidOptionError
from roll_vec.kernels._jit import Rule
from roll_vec.kernels.rng.generator import PlainGenerator
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.kernels.rows import Items, Row, action_at
from roll_vec.options import keywords_of
from roll_vec.stacked.array_env import ArrayEnv
from roll_vec.stacked.rules import arrays_of, functions_of, uses_other_generators
from roll_vec.vector.env import BatchOptions

_ARGUMENTS = {
    "begin": ("env", "rng"),
    "step": ("env", "action", "rng"),
    "observe": ("env", "out"),
    "legal": ("env", "mask"),
}
_SEEDINGS = ("level", "stream")
# Arrays of a batch's state beside the variables, and what autoreset adds.
_RESERVED = (
    "elapsed_steps",
    "successes",
    "episodes_first_seeds",
    "episodes_numbers",
    "generator_states",
    "num_levels",
    "start_levels",
    "seeds",
    "has_ended",
)
# Infos that a batch or Gymnasium adds.
_OTHER_INFOS = (
    "final_obs",
    "final_info",
    "episode",
    "group_id",
    "seed",
    "level",
    "action_mask",
    "action_is_valid",
    "env_instruction",
)
_BATCH_KEYWORDS = {
    *keywords_of(BatchOptions),
    *("id", "num_envs", "num_threads", "prefetch", "max_episode_steps", "seed"),
}
_STEPS = 20
_MAX_ACTIONS = 1 << 16


def check_rules(options: ArrayEnv) -> None:
    """Check the declarations of a class, and run its rules for some steps.

    Raises
    ------
    InvalidOptionError
        Names the declaration, or the rule and its line.
    """
    cls = type(options)
    _check_declarations(options)
    variables, constants, _, output = options.types
    env = Row(
        variables(*options.allocate(1)), constants(*options.constants.values()), 0
    )
    view = Row(env._variables, env._options, 0, is_writable=False)
    words = np.zeros((PCG_WORDS, 1), np.uint64)
    words[:, 0] = (1, 2, 3, 5, 0, 0)
    rng = PlainGenerator(words, 0)
    begin, step, observe, legal = options.rules()

    def look() -> None:
        arrays = options.allocate_observations(1)
        if observe is None:
            value = getattr(env, str(options.observation))
            value = getattr(value, "array", value)
            space = options.observation_space
            if not space.contains(value):
                owner = f"{cls.__name__}.{options.observation}"
                raise InvalidOptionError.expected(owner, str(space), value)
        else:
            out = (
                Items(arrays[0][0], "out")
                if output is None
                else Row(output(*arrays), (), 0)
            )
            _run(cls, "observe", observe, view, out)
            for (name, space), array in zip(options.parts.items(), arrays, strict=True):
                value = array[0]
                if isinstance(space, Discrete):
                    value = value.item()
                if not space.contains(value):
                    owner = f"{cls.__name__}.observe" + (f": {name}" if name else "")
                    raise InvalidOptionError.expected(owner, str(space), value)
        if legal is not None:
            mask = np.zeros(len(options.action_names), np.int8)
            _run(cls, "legal", legal, view, Items(mask, "mask"))

    _run(cls, "begin", begin, env, rng)
    look()
    for number in range(_STEPS):
        action: Any
        if isinstance(options.actions, Box):
            options.actions.seed(number)
            action = action_at(options.actions.sample()[np.newaxis], 0)
        else:
            action = number % len(options.action_names)
        result = _run(cls, "step", step, env, action, rng)
        if not isinstance(result, tuple) or len(result) != 2:
            accepted = "reward, terminated as its return value"
            raise InvalidOptionError.expected(f"{cls.__name__}.step", accepted, result)
        reward, terminated = result
        if not isinstance(terminated, (bool, np.bool_)):
            owner = f"{cls.__name__}.step: terminated"
            raise InvalidOptionError.expected(owner, "a bool", terminated)
        if not isinstance(reward, (bool, int, float, np.number)):
            owner = f"{cls.__name__}.step: reward"
            raise InvalidOptionError.expected(owner, "a number", reward)
        look()
        if terminated:
            break


def _check_declarations(options: ArrayEnv) -> None:
    cls = type(options)
    name = cls.__name__
    for rule_name, arguments in _ARGUMENTS.items():
        each = getattr(cls, rule_name, None)
        if each is None and (
            rule_name == "legal" or (rule_name == "observe" and options.observation)
        ):
            continue
        text = f"def {rule_name}({', '.join(arguments)})"
        if not isinstance(each, Rule):
            accepted = f"`{text}` marked with @roll_vec.rule"
            raise InvalidOptionError.expected(f"{name}.{rule_name}", accepted, each)
        parameters = inspect.signature(each.py_func).parameters
        if len(parameters) != len(arguments):
            value = f"def {rule_name}({', '.join(parameters)})"
            raise InvalidOptionError.expected(f"{name}.{rule_name}", f"`{text}`", value)
    for function in functions_of(options.rules()):
        for key in arrays_of(function):
            message = (
                f"{name}.{function.__name__}: {key} of the module has numpy's numbers, "
                f"which wrap and round in their own way: make it an attribute of the "
                f"class, env.{key}, or use numbers of Python"
            )
            raise InvalidOptionError(message)
        if uses_other_generators(function):
            message = (
                f"{name}.{function.__name__}: `random` and `np.random` have no seeds "
                "in rules: draw from `rng`"
            )
            raise InvalidOptionError(message)
    own = {each.name for each in dataclasses.fields(options)} - cls.common_names()
    for option in sorted(own & _BATCH_KEYWORDS):
        accepted = "names of options that are no keywords of gymnasium.make_vec"
        raise InvalidOptionError.expected(name, accepted, option)
    variables = options.variables
    for variable in variables:
        is_name = variable.isidentifier() and not keyword.iskeyword(variable)
        if not is_name or variable.startswith("_") or variable in _RESERVED:
            accepted = f"names of variables, none of {', '.join(_RESERVED)}"
            raise InvalidOptionError.expected(f"{name}.state", accepted, variable)
        is_taken = variable in options.constants or variable in own
        if is_taken or variable in cls.common_names():
            accepted = "names that the class does not have otherwise"
            raise InvalidOptionError.expected(f"{name}.state", accepted, variable)
    for info in options.infos:
        if info not in variables:
            accepted = f"names of variables, {', '.join(variables)}"
            raise InvalidOptionError.expected(f"{name}.infos", accepted, info)
        if info in _OTHER_INFOS:
            accepted = f"none of the package's own, {', '.join(_OTHER_INFOS)}"
            raise InvalidOptionError.expected(f"{name}.infos", accepted, info)
    if "success" in options.infos and variables["success"] != (np.dtype(bool), ()):
        owner, value = f"{name}.state['success']", options.state["success"]
        raise InvalidOptionError.expected(owner, "np.bool_", value)
    if options.observation is not None and options.observation not in variables:
        accepted = f"a variable, {', '.join(variables)}"
        raise InvalidOptionError.expected(
            f"{name}.observation", accepted, options.observation
        )
    if options.seeding not in _SEEDINGS:
        accepted = f"one of {', '.join(_SEEDINGS)}"
        raise InvalidOptionError.expected(f"{name}.seeding", accepted, options.seeding)
    actions, accepted = (
        options.actions,
        f"different names, a number up to {_MAX_ACTIONS}, or a Box",
    )
    is_names = isinstance(actions, (tuple, list)) and all(
        isinstance(each, str) and each.strip() for each in actions
    )
    if is_names:
        is_names = (
            len({each.strip().casefold() for each in actions}) == len(actions) > 0
        )
    is_number = type(actions) is int and 0 < actions <= _MAX_ACTIONS
    if not (is_names or is_number or isinstance(actions, Box)):
        raise InvalidOptionError.expected(f"{name}.actions", accepted, actions)
    if isinstance(actions, Box) and cls.__dict__.get("legal") is not None:
        message = f"{name}.legal: actions of a Box have no masks"
        raise InvalidOptionError(message)
    space = options.observation_space
    parts: list[Space[Any]] = [space]
    if isinstance(space, Dict):
        parts = list(space.spaces.values())
    elif isinstance(space, TupleSpace):
        parts = list(space.spaces)
    for part in parts:
        if not isinstance(part, (Box, Discrete)):
            accepted = "a Box or Discrete, or a Dict or Tuple of these"
            owner = f"{name}.observation_space"
            raise InvalidOptionError.expected(owner, accepted, part)


def _run(cls: type[Any], name: str, rule: Callable[..., Any], *arguments: Any) -> Any:
    """Run a rule as Python; an error names its line."""
    try:
        return rule(*arguments)
    except Exception as error:
        function = rule.py_func  # type: ignore[attr-defined]
        frames = traceback.extract_tb(error.__traceback__)
        file = function.__code__.co_filename
        own = [frame for frame in frames if frame.filename == file]
        where = f"line {own[-1].lineno}: {own[-1].line}" if own else "its call"
        message = f"{cls.__name__}.{name}: {where}: {error}"
        raise InvalidOptionError(message) from error
