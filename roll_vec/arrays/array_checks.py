"""The check of an `ArrayEnv` when it is registered: each rule runs once, as Python."""

from __future__ import annotations

import dataclasses
import inspect
import keyword
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.rule_code import copy_rules
from roll_vec.arrays.rules import (
    describe_error,
    describe_frame,
    frame_of,
    functions_of,
    reads_numpys_numbers,
    uses_other_generators,
)
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels._jit import IS_COMPILED, Rule
from roll_vec.kernels.families import takes_seed
from roll_vec.kernels.rng.generator import PlainGenerator
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.kernels.rows import Items, Row, action_at, clear_row
from roll_vec.options import check_int, keywords_of
from roll_vec.vector.env import BatchOptions

_ARGUMENTS = {
    "begin": ("env", "rng"),
    "step": ("env", "action", "rng"),
    "observe": ("env", "out"),
    "legal": ("env", "mask"),
}
_SEEDINGS = ("level", "stream")
# The arrays of snapshots beside variables.
RESERVED = (
    *("elapsed_steps", "successes", "generator_states", "seeds", "has_ended"),
    *("episodes_first_seeds", "episodes_numbers", "level_numbers", "next_episode"),
)
# Infos that a batch or Gymnasium adds.
_OTHER_INFOS = (
    "final_obs",
    "final_info",
    "episode",
    "seed",
    "level",
    "action_mask",
    "action_is_valid",
    "env_instruction",
)
_BATCH_KEYWORDS = {
    *keywords_of(BatchOptions),
    *("id", "num_envs", "num_threads", "max_episode_steps", "seed"),
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
    name = type(options).__name__
    _check_levels(options, name)
    _check_rules_of(options, name)
    _check_names(options, name)
    _check_spaces(options, name)
    variables, output = options.declaration.variables, options.declaration.outputs
    env = options.row_of(options.allocate(1))
    view = Row(env._variables, env._options, 0, is_writable=False)
    words = np.zeros((PCG_WORDS, 1), np.uint64)
    words[:, 0] = (1, 2, 3, 5, 0, 0)
    rng = PlainGenerator(words, 0)
    begin, step, observe, legal = options.rules()
    if options.level_variables:
        provider: Any = options.make_provider(1)
        levels, indices = provider.get(np.zeros(1, np.uint64))
        for array, values in zip(env._variables, levels, strict=False):
            array[...] = values[indices]

    def look() -> None:
        arrays = options.allocate_observations(1)
        clear_row(arrays, 0)
        if observe is None:
            space = options.observation_space
            value = _item(getattr(env._variables, str(options.observation)), space)
            owner = f"{name}.{options.observation}"
            _require(space.contains(value), owner, str(space), value)
        else:
            out = (
                Items(arrays[0][0], "out")
                if output is None
                else Row(output(*arrays), (), 0)
            )
            _require_none(name, "observe", _run(name, "observe", observe, view, out))
            for (part, space), array in zip(options.parts.items(), arrays, strict=True):
                value = _item(array, space)
                owner = f"{name}.observe" + (f": {part}" if part else "")
                _require(space.contains(value), owner, str(space), value)
        if legal is not None:
            mask = Items(np.zeros(len(options.action_names), np.int8), "mask")
            _require_none(name, "legal", _run(name, "legal", legal, view, mask))
        if options.writes_texts:
            # It gets a copy, as in a batch.
            copies = variables(*(array.copy() for array in env._variables))
            copy = Row(copies, env._options, 0)
            text = _run(name, "text", options.text, copy)
            _require(isinstance(text, str), f"{name}.text", "a str", text)

    seed = (0,) if takes_seed(begin) else ()
    _require_none(name, "begin", _run(name, "begin", begin, env, rng, *seed))
    look()
    for number in range(_STEPS):
        action: Any
        if isinstance(options.actions, Box):
            options.actions.seed(number)
            action = action_at(options.actions.sample()[np.newaxis], 0)
        else:
            action = number % len(options.action_names)
        result = _run(name, "step", step, env, action, rng)
        is_pair = isinstance(result, tuple) and len(result) == 2
        accepted = "reward, terminated as its return value"
        _require(is_pair, f"{name}.step", accepted, result)
        reward, terminated = result
        is_bool = isinstance(terminated, (bool, np.bool_))
        _require(is_bool, f"{name}.step: terminated", "a bool", terminated)
        is_number = isinstance(reward, (bool, int, float, np.number))
        _require(is_number, f"{name}.step: reward", "a number", reward)
        look()
        if terminated:
            break


def _item(array: NDArray[Any], space: Any) -> Any:
    """Return the first item of an array as an element of a space."""
    return array[0].item() if isinstance(space, Discrete) else np.asarray(array[0])


def _require(is_right: bool, owner: str, accepted: str, value: Any) -> None:
    if not is_right:
        raise InvalidOptionError.expected(owner, accepted, value)


def _require_none(name: str, rule: str, result: Any) -> None:
    """Refuse a result that nobody would use."""
    _require(result is None, f"{name}.{rule}", "no return value", result)


def _check_rules_of(options: ArrayEnv, name: str) -> None:
    """Check that rules are rules, and what they read of their modules."""
    for rule_name, arguments in _ARGUMENTS.items():
        each = getattr(options, rule_name, None)
        if each is None and (
            rule_name == "legal" or (rule_name == "observe" and options.observation)
        ):
            continue
        owner, text = f"{name}.{rule_name}", f"def {rule_name}({', '.join(arguments)})"
        accepted = f"`{text}` marked with @roll_vec.rule"
        _require(isinstance(each, Rule), owner, accepted, each)
        parameters = inspect.signature(cast(Rule, each)).parameters
        value = f"def {rule_name}({', '.join(parameters)})"
        is_right = len(parameters) == len(arguments)
        if rule_name == "begin" and options.seeding == "level":
            is_right |= takes_seed(each)
        _require(is_right, owner, f"`{text}`", value)
    for function in functions_of(options.rules()):
        # Code that `exec` runs may have no module.
        if str(function.__module__).partition(".")[0] == "roll_vec":
            continue  # `roll_vec.envs.rounding` rounds as numpy on purpose
        owner = f"{name}.{function.__name__}"
        for key, is_type in reads_numpys_numbers(function):
            message = (
                f"{owner}: {key} of the module has numpy's numbers, which wrap and "
                f"round in their own way: make it an attribute of the class, "
                f"env.{key}, or use numbers of Python"
            )
            if is_type:
                message = (
                    f"{owner}: {key} makes numpy's numbers, which wrap and round in "
                    "their own way: write int(x), float(x) or bool(x); a variable of "
                    "the state wraps or rounds what is written to it to its dtype"
                )
            raise InvalidOptionError(message)
        if uses_other_generators(function):
            message = (
                f"{owner}: `random` and `np.random` have no seeds in rules: draw from "
                "`rng`"
            )
            raise InvalidOptionError(message)
    # It refuses values that no digest covers.
    copy_rules(name, options.rules(), ())


def _check_names(options: ArrayEnv, name: str) -> None:
    """Check the names of options, variables and infos."""
    cls, variables = type(options), options.variables
    class_options = {
        each.name for each in dataclasses.fields(options)
    } - cls.common_names()
    accepted = "names of options that are no keywords of gymnasium.make_vec"
    for option in sorted(class_options):
        _require(option not in _BATCH_KEYWORDS, name, accepted, option)
    owner = f"{name}.state"
    accepted = f"names of variables, none of {', '.join(RESERVED)}"
    free = "names that the class does not have otherwise"
    other_names = {*options.constants, *class_options, *cls.common_names()}
    for variable in variables:
        is_name = variable.isidentifier() and not keyword.iskeyword(variable)
        is_name = is_name and variable[0] != "_" and variable not in RESERVED
        _require(is_name, owner, accepted, variable)
        _require(variable not in other_names, owner, free, variable)
    for declaration in ("infos", "reset_infos", "hidden_infos"):
        infos, accepted = getattr(options, declaration), "a tuple of different names"
        # ("won") is a str.
        is_right = isinstance(infos, (tuple, list)) and len({*infos}) == len(infos)
        _require(is_right, f"{name}.{declaration}", accepted, infos)
    owner, names = f"{name}.infos", f"names of variables, {', '.join(variables)}"
    accepted = f"none of the package's own, {', '.join(_OTHER_INFOS)}"
    # Infos of a base class of this package are right.
    bases = [cls for cls in type(options).__mro__ if "infos" in vars(cls)]
    is_ours = bases[0].__module__.startswith("roll_vec.")
    for info in options.reset_infos:
        accepted_here = "none of hidden_infos"
        is_shown = info not in options.hidden_infos
        _require(is_shown, f"{name}.reset_infos", accepted_here, info)
    for info in (*options.infos, *options.reset_infos):
        _require(info in variables, owner, names, info)
        _require(is_ours or info not in _OTHER_INFOS, owner, accepted, info)
    if "success" in options.infos:
        is_bool = variables["success"] == (np.dtype(bool), ())
        value = options.state["success"]
        _require(is_bool, f"{name}.state['success']", "np.bool_", value)
    owner = f"{name}.state_limits"
    for variable, limits in options.state_limits.items():
        _require(variable in variables, owner, names, variable)
        is_pair = isinstance(limits, (tuple, list)) and len(limits) == 2
        accepted = "a pair, the least and the greatest value"
        _require(is_pair, f"{owner}[{variable!r}]", accepted, limits)
    if options.reset_options and options.seeding != "stream":
        message = (
            f"{name}.reset_options: needs seeding='stream': elsewhere an episode is "
            "that of its seed"
        )
        raise InvalidOptionError(message)
    observation, accepted = options.observation, f"a variable, {', '.join(variables)}"
    is_right = observation is None or observation in variables
    _require(is_right, f"{name}.observation", accepted, observation)
    accepted = f"one of {', '.join(_SEEDINGS)}"
    seeding = options.seeding
    _require(seeding in _SEEDINGS, f"{name}.seeding", accepted, seeding)
    check_int(f"{name}.ROWS_PER_THREAD", options.ROWS_PER_THREAD, 1)


def _check_levels(options: ArrayEnv, name: str) -> None:
    """Check the declaration of levels, and the tuned step."""
    cls, names = type(options), options.level_variables
    first = tuple(options.variables)[: len(names)]
    is_right = isinstance(names, (tuple, list)) and tuple(names) == first
    accepted = "a tuple of the first variables of the state"
    _require(is_right, f"{name}.level_variables", accepted, names)
    if names:
        has_seeds, draws = options.seeding == "level", cls.draw_levels
        accepted = "'level' beside level_variables"
        _require(has_seeds, f"{name}.seeding", accepted, options.seeding)
        is_there = draws is not ArrayEnv.draw_levels
        _require(is_there, f"{name}.draw_levels", "a method that draws levels", None)
    tuned_step = cls.tuned_step
    is_kernel = tuned_step is None or hasattr(tuned_step, "py_func")
    is_kernel = is_kernel or (not IS_COMPILED and callable(tuned_step))
    accepted = "None or a kernel, roll_vec.kernels._jit.kernel"
    _require(is_kernel, f"{name}.tuned_step", accepted, tuned_step)


def _check_spaces(options: ArrayEnv, name: str) -> None:
    """Check the actions and the space of observations."""
    actions, is_right = options.actions, False
    if isinstance(actions, (tuple, list)):
        names = {str(each).strip().casefold() for each in actions} - {""}
        are_texts = all(isinstance(each, str) for each in actions)
        is_right = are_texts and len(names) == len(actions) > 0
    elif type(actions) is int:
        is_right = 0 < actions <= _MAX_ACTIONS
    elif isinstance(actions, Box):
        is_right = True
        if type(options).__dict__.get("legal") is not None:
            message = f"{name}.legal: actions of a Box have no masks"
            raise InvalidOptionError(message)
    accepted = f"different names, a number up to {_MAX_ACTIONS}, or a Box"
    _require(is_right, f"{name}.actions", accepted, actions)
    accepted = "a Box or Discrete, or a Dict or Tuple of these"
    for part in options.parts.values():
        is_right = isinstance(part, (Box, Discrete))
        _require(is_right, f"{name}.observation_space", accepted, part)


def _run(name: str, rule_name: str, rule: Callable[..., Any], *arguments: Any) -> Any:
    """Run a rule as Python; an error names its line."""
    try:
        return rule(*arguments)
    except Exception as error:
        frame = frame_of(error, rule)
        line = describe_frame(frame, rule) if frame else "its call"
        message = f"{name}.{rule_name}: {line}: {describe_error(error)}"
        raise InvalidOptionError(message) from error
