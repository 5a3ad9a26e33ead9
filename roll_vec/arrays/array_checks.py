"""The check of an `ArrayEnv` when it is registered: each rule runs once, as Python."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Text

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.grid_env import GridEnv
from roll_vec.arrays.rules import describe_error, describe_frame
from roll_vec.arrays.text_parts import values_of
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels._jit import Rule
from roll_vec.kernels.calls import OUTCOME
from roll_vec.kernels.families import takes_seed
from roll_vec.kernels.rng.generator import PlainGenerator
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.kernels.rows import Items, Row, action_at, clear_rows
from roll_vec.options import keywords_of
from roll_vec.vector.env import BatchOptions

_SEEDINGS = ("level", "stream")
# The arrays of snapshots beside variables.
RESERVED = (
    *("elapsed_steps", "successes", "generator_states", "has_ended"),
    *("episodes_first_seeds", "episodes_numbers"),
)
_BATCH_KEYWORDS = {
    *keywords_of(BatchOptions),
    *("id", "num_envs", "num_threads", "max_episode_steps", "seed"),
}
_STEPS = 20
_MAX_ACTIONS = 1 << 16


def check_rules(options: ArrayEnv, max_episode_steps: int | None = None) -> None:
    """Check the declarations of a class, and run its rules for some steps.

    ``max_episode_steps`` is what rules read where the class has no limit of its own.

    Raises
    ------
    InvalidOptionError
        Names the declaration, or the rule and its line.
    """
    name = type(options).__name__
    _check_levels(options, name)
    for rule_name, each in zip(options.rule_names, options.rules(), strict=True):
        is_optional = rule_name == "legal"
        if rule_name == "observe":
            is_optional = options.observation is not None
        is_rule = isinstance(each, Rule) or (each is None and is_optional)
        accepted = f"`def {rule_name}(...)` marked with @roll_vec.rule"
        _require(is_rule, f"{name}.{rule_name}", accepted, each)
    draw = getattr(type(options), "draw", None)
    is_right = draw is None or (isinstance(draw, Rule) and isinstance(options, GridEnv))
    accepted = "`def draw(env, out)` marked with @roll_vec.rule, of a roll_vec.GridEnv"
    _require(is_right, f"{name}.draw", accepted, draw)
    _check_names(options, name)
    _check_texts(options, name)
    _check_spaces(options, name)
    words = np.zeros((PCG_WORDS, 1), np.uint64)
    words[:, 0] = (1, 2, 3, 5, 0, 0)
    rng, variables = PlainGenerator(words, 0), options.allocate(1)
    limit = getattr(options, "max_steps", None) or max_episode_steps or 0
    env = options.row_of(variables, max_steps=limit)
    begin, step, *_ = options.rules()
    if options.level_variables:
        provider: Any = options.make_provider(1)
        levels, indices = provider.get(np.zeros(1, np.uint64))
        for array, values in zip(variables, levels, strict=False):
            array[...] = values[indices]
    seed = (0,) if takes_seed(begin) else ()
    _write(options, "begin", begin, env, rng, *seed)
    _look(options, variables, limit)
    for number in range(_STEPS):
        action: Any
        if isinstance(options.actions, Box):
            options.actions.seed(number)
            action = action_at(options.actions.sample()[np.newaxis], 0)
        else:
            action = number % len(options.action_names)
        result = _run(options, "step", step, env, action, rng)
        is_outcome = isinstance(result, tuple) and len(result) in (2, 3)
        accepted = f"{OUTCOME} as its return value"
        _require(is_outcome, f"{name}.step", accepted, result)
        reward, *ends = result
        for end, value in zip(("terminated", "truncated"), ends, strict=False):
            is_bool = isinstance(value, (bool, np.bool_))
            _require(is_bool, f"{name}.step: {end}", "a bool", value)
        is_number = isinstance(reward, (bool, int, float, np.number))
        _require(is_number, f"{name}.step: reward", "a number", reward)
        _look(options, variables, limit)
        if any(ends):
            break


def _look(options: ArrayEnv, variables: Any, limit: int) -> None:
    """Check the observation, the mask and the text of an environment."""
    name, (*_, observe, legal) = type(options).__name__, options.rules()
    view = options.row_of(variables, is_writable=False, max_steps=limit)
    arrays, owner = options.allocate_observations(1), f"{name}.observe"
    arrays = arrays[: len(options.parts)]
    if observe is None:
        owner = f"{name}.{options.observation}"
        arrays = (options.named(variables)[str(options.observation)],)
    else:
        clear_rows(arrays, 0, 1)
        out: Any = Items(arrays[0][0], "out")
        if "" not in options.parts:
            out = Row(namedtuple("Row", options.parts)(*arrays), (), 0)
        _write(options, options.rule_names[2], observe, view, out)
    for (part, space), array in zip(options.parts.items(), arrays, strict=True):
        is_number = isinstance(space, Discrete)
        value = array[0].item() if is_number else np.asarray(array[0])
        full_name = f"{owner}: {part}" if part else owner
        _require(space.contains(value), full_name, str(space), value)
    if isinstance(options, GridEnv) and options.draw is not None:
        codes = np.zeros(options.grid_shape, np.uint8)
        _write(options, "draw", options.draw, view, Items(codes, "out"))
        highest, count = int(codes.max()), options.FAMILY.num_codes
        _require(highest < count, f"{name}.draw", f"codes below {count}", highest)
    for part, variable in options.text_variables.items():
        values, method = options.named(variables)[variable], f"{part}_text"
        text = _run(options, method, getattr(options, method), *values_of(values))
        # Of texts that are the end of an array there is none.
        text_space = _texts_of(options).get(part)
        is_right = text_space is None or text_space.contains(text)
        _require(is_right, f"{name}.{method}", str(text_space), text)
    if legal is not None:
        mask = Items(np.zeros(len(options.action_names), np.int8), "mask")
        _write(options, "legal", legal, view, mask)
    if options.writes_texts:
        # It gets a copy, as in a batch.
        copies = tuple(array.copy() for array in variables)
        copy = options.row_of(copies, max_steps=limit)
        text = _run(options, "text", options.text, copy)
        _require(isinstance(text, str), f"{name}.text", "a str", text)
    draw_frame = getattr(options, "draw_frame", None)
    if draw_frame is not None:
        for mode in options.metadata["render_modes"]:
            if mode == "human":
                continue
            frame = _run(options, "draw_frame", draw_frame, view, mode)
            is_right, accepted = isinstance(frame, str), f"a str for {mode!r}"
            if mode == "rgb_array":
                dtype, shape = getattr(frame, "dtype", None), np.shape(frame)
                is_right = dtype == np.uint8 and [len(shape), *shape[2:]] == [3, 3]
                accepted = "a picture (H, W, 3) of uint8 for 'rgb_array'"
            _require(is_right, f"{name}.draw_frame", accepted, frame)


def _run(
    options: ArrayEnv, name: str, rule: Callable[..., Any], *arguments: Any
) -> Any:
    """Run a rule as Python; an error names its line."""
    try:
        return rule(*arguments)
    except Exception as error:
        line = describe_frame(error, rule, options.code.files) or "its call"
        owner = f"{type(options).__name__}.{name}"
        message = f"{owner}: {line}: {describe_error(error)}"
        raise InvalidOptionError(message) from error


def _write(options: ArrayEnv, name: str, rule: Any, *arguments: Any) -> None:
    """Run a rule as Python, and refuse a result that nobody would use."""
    result, owner = _run(options, name, rule, *arguments), type(options).__name__
    _require(result is None, f"{owner}.{name}", "no return value", result)


def _require(is_right: bool, owner: str, accepted: str, value: Any) -> None:
    if not is_right:
        raise InvalidOptionError.expected(owner, accepted, value)


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
        is_name = not variable.startswith("_") and variable not in RESERVED
        _require(is_name, owner, accepted, variable)
        _require(variable not in other_names, owner, free, variable)
    for declaration in ("infos", "reset_infos", "hidden_infos"):
        infos, accepted = getattr(options, declaration), "a tuple of different names"
        # ("won") is a str.
        is_right = isinstance(infos, (tuple, list)) and len({*infos}) == len(infos)
        _require(is_right, f"{name}.{declaration}", accepted, infos)
    owner, names = f"{name}.infos", f"names of variables, {', '.join(variables)}"
    for info in (*options.infos, *options.reset_infos):
        _require(info in variables, owner, names, info)
    if "success" in options.infos:
        is_bool = variables["success"] == (np.dtype(bool), ())
        value = options.state["success"]
        _require(is_bool, f"{name}.state['success']", "np.bool_", value)
    owner, accepted = f"{name}.state_limits", "a pair, the least and the greatest value"
    for variable, limits in options.state_limits.items():
        _require(variable in variables, owner, names, variable)
        is_pair = isinstance(limits, (tuple, list)) and len(limits) == 2
        _require(is_pair, f"{owner}[{variable!r}]", accepted, limits)
    observation, accepted = options.observation, f"a variable, {', '.join(variables)}"
    is_right = observation is None or observation in variables
    _require(is_right, f"{name}.observation", accepted, observation)


def _check_levels(options: ArrayEnv, name: str) -> None:
    """Check the declarations of seeds and levels."""
    names, owner, seeding = options.level_variables, f"{name}.seeding", options.seeding
    first = tuple(options.variables)[: len(names)]
    is_right = isinstance(names, (tuple, list)) and tuple(names) == first
    accepted = "a tuple of the first variables of the state"
    _require(is_right, f"{name}.level_variables", accepted, names)
    _require(seeding in _SEEDINGS, owner, f"one of {', '.join(_SEEDINGS)}", seeding)
    if names:
        accepted = "'level' beside level_variables"
        _require(seeding == "level", owner, accepted, seeding)
        is_there = type(options).draw_levels is not ArrayEnv.draw_levels
        _require(is_there, f"{name}.draw_levels", "a method that draws levels", None)
    if options.reset_options:
        accepted = "'stream' beside reset_options"
        _require(seeding == "stream", owner, accepted, seeding)


def _texts_of(options: ArrayEnv) -> dict[str, Text]:
    """Return the parts of the observation space that are texts."""
    space = options.observation_space
    parts = space.spaces.items() if isinstance(space, Dict) else ()
    return {name: part for name, part in parts if isinstance(part, Text)}


def _check_texts(options: ArrayEnv, name: str) -> None:
    """Check the declaration of texts, and their methods."""
    texts, parts = options.texts, _texts_of(options)
    is_right = isinstance(texts, Mapping) and texts.keys() == parts.keys()
    accepted = f"a variable for each Text of a Dict observation space, {[*parts]}"
    _require(is_right, f"{name}.texts", accepted, texts)
    for part, variable in texts.items():
        accepted = f"a variable, {', '.join(options.variables)}"
        is_variable = variable in options.variables
        _require(is_variable, f"{name}.texts[{part!r}]", accepted, variable)
        method = getattr(options, f"{part}_text", None)
        accepted = f"a method `def {part}_text(self, value)`"
        _require(callable(method), f"{name}.{part}_text", accepted, method)


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
    accepted = f"different names, a number up to {_MAX_ACTIONS}, or a Box"
    _require(is_right, f"{name}.actions", accepted, actions)
    accepted = "a Box or Discrete, or a Dict or Tuple of these; a Dict may have texts"
    _require(
        len(options.parts) > 0, f"{name}.observation_space", accepted, options.texts
    )
    for part in options.parts.values():
        is_right = isinstance(part, (Box, Discrete))
        _require(is_right, f"{name}.observation_space", accepted, part)
