"""The state of one environment object, by its `get_state` and `set_state`.

Wrappers have states, too.  Those of `gymnasium.make` and `TextWrapper` are known here:
the state of such a layer is a dict of its attributes, and ``env``, the state of the
layer below.  A layer without attributes adds nothing.  A wrapper that has `get_state`
and `set_state` itself stands for all layers below it.  No other wrapper is looked into.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any, TypeAlias

import gymnasium
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from roll_vec.errors import InvalidStateError, UnsupportedError
from roll_vec.objects.base_envs import SeededEnv
from roll_vec.seeding import make_generator

_WRAPPER_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    TimeLimit: ("_elapsed_steps",),
    OrderEnforcing: ("_has_reset",),
    PassiveEnvChecker: (),
}

# The key of the position in the stream of seeds in the state of a `SeededEnv`.
_POSITION = "seed_stream"

# Any environment, with or without the methods.
Env: TypeAlias = Any


def supports_state(env: Env) -> bool:
    """Return whether an environment and its wrappers can get and set a state."""
    cls: Any = type(_split_layers(env)[1])
    return _has_methods(cls)


def get_env_state(env: Env) -> Any:
    """Return the state of an environment and its wrappers.

    The position in the stream of seeds of a `SeededEnv`, and the generator
    ``np_random`` of any other environment, are part of it, whatever its `get_state`
    returns.

    Raises
    ------
    UnsupportedError
        If a layer has no state that can be got.
    InvalidStateError
        If `get_state` of a `SeededEnv` returns no dict.
    """
    wrappers, env = _split_layers(env)
    _check_methods(env)
    state = env.get_state()
    if _lacks_stream(env):
        if not isinstance(state, Mapping):
            name = f"{type(env).__name__}.get_state"
            raise InvalidStateError.expected(name, "a dict", state)
        state = {**state, _POSITION: env.unwrapped.get_stream()}
    elif _lacks_generator(env):
        generator = env._np_random
        state = {
            "state": state,
            "np_random": None if generator is None else generator.bit_generator.state,
            "np_random_seed": env._np_random_seed,
        }
    for layer, names in reversed(wrappers):
        if names:
            state = {**{name: getattr(layer, name) for name in names}, "env": state}
    return state


def set_env_state(env: Env, state: Any) -> None:
    """Go to a state of `get_env_state`, of this environment or of one like it.

    Raises
    ------
    InvalidStateError
        If it is no state of such layers; nothing has changed then.
    UnsupportedError
    """
    env, state, position, attributes = _split_state(env, state)
    if position is not None:
        env.unwrapped.set_stream(position)
    env.set_state(state)
    # Again: the method may draw and reset.
    if position is not None:
        env.unwrapped.set_stream(position)
    for layer, values in attributes:
        for name, value in values.items():
            setattr(layer, name, value)


def _split_layers(env: Env) -> tuple[list[tuple[Env, tuple[str, ...]]], Env]:
    """Return the wrappers that are known, with names of attributes, and the rest."""
    wrappers = []
    while (names := _attributes_of(env)) is not None:
        wrappers.append((env, names))
        env = env.env
    return wrappers, env


def _split_state(env: Env, state: Any) -> tuple[Env, Any, Any, list[tuple[Env, Any]]]:
    """Return the layer with methods, and the parts of a state.

    Returns
    -------
    (env, state, position, attributes)
        The layer; its state; the position in the stream of seeds, None if it is a part
        of that state or there is none, which leaves the stream as it is;
        attributes of all layers, as pairs of a layer and a dict.
    """
    wrappers, env = _split_layers(env)
    _check_methods(env)
    position: Any = None
    attributes: list[tuple[Env, dict[str, Any]]] = []
    for layer, names in wrappers:
        if names:
            _check_keys(layer, state, {*names, "env"})
            attributes.append((layer, {name: state[name] for name in names}))
            state = state["env"]
        elif isinstance(layer, PassiveEnvChecker):
            # It compares the first results with those before them: it has not got these
            # any longer, and would raise.
            checks = {"checked_step": True, "checked_data_reuse": True}
            attributes.append((layer, checks))
    if _lacks_stream(env) and isinstance(state, Mapping):
        position = state.get(_POSITION)
        state = {name: value for name, value in state.items() if name != _POSITION}
    elif _lacks_generator(env):
        _check_keys(env, state, {"state", "np_random", "np_random_seed"})
        words = state["np_random"]
        generator = None if words is None else make_generator(words)
        values = {"_np_random": generator, "_np_random_seed": state["np_random_seed"]}
        attributes.append((env, values))
        state = state["state"]
    return env, state, position, attributes


def _lacks_stream(env: Env) -> bool:
    """Return whether `get_state` of an environment omits its stream of seeds."""
    base = env.unwrapped
    return isinstance(base, SeededEnv) and not base.state_has_stream


def _lacks_generator(env: Env) -> bool:
    """Return whether `get_state` of an environment omits its ``np_random``."""
    # Where it is a property, as in our classes, the state has it.
    is_property = isinstance(getattr(type(env), "_np_random", None), property)
    return not is_property and not isinstance(env, gymnasium.Wrapper)


def _check_keys(env: Env, state: Any, names: set[str]) -> None:
    if not isinstance(state, Mapping) or state.keys() != names:
        accepted = f"a state of {type(env).__name__} with {sorted(names)}"
        raise InvalidStateError.expected("state", accepted, state)


def _attributes_of(env: Env) -> tuple[str, ...] | None:
    """Return the names of the state of a wrapper; None for any other layer."""
    names = _WRAPPER_ATTRIBUTES.get(type(env))
    if names is None and isinstance(env, gymnasium.Wrapper):
        names = getattr(env, "state_attributes", None)
    return names


@functools.lru_cache(maxsize=256)
def _has_methods(cls: type[Any]) -> bool:
    """Return whether a class has both methods, and `set_state` has one argument.

    MuJoCo's `set_state` has two and is another method of the same name.
    """
    names = ("get_state", "set_state")
    if not all(callable(getattr(cls, name, None)) for name in names):
        return False
    try:
        inspect.signature(cls.get_state).bind(None)
        inspect.signature(cls.set_state).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True


def _check_methods(env: Env) -> None:
    cls: Any = type(env)
    if not _has_methods(cls):
        message = f"{type(env).__name__} has no get_state and set_state"
        raise UnsupportedError(message)
