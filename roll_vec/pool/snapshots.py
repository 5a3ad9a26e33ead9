"""Snapshots of environment objects.

A snapshot is the first of these that the environment allows, the first three as bytes
of `roll_vec.vector.values`::

    its own `get_state`, as plain data
    its own `get_state`, pickled: a part is no plain data
    the whole object, pickled
    a copy of the object, for pools in this process

No bytes at all stand for an object that a fault lost: the next reset builds another.

A state goes into an environment object that exists, or into a new one, and leaves alone
the attributes that the user has set in the pool.  A whole object brings its own.

`gymnasium.utils.EzPickle` makes new environments of pickles and of copies: such a class
needs `get_state` and `set_state`.
"""

from __future__ import annotations

import copy
import pickle
from contextlib import suppress
from typing import Any, TypeAlias

import gymnasium
from gymnasium.utils import EzPickle

from roll_vec.errors import UnsupportedError
from roll_vec.objects.states import get_env_state, supports_state
from roll_vec.vector.values import PICKLED_ENV, to_bytes

EnvSnapshot: TypeAlias = "bytes | gymnasium.Env[Any, Any]"
"""A snapshot of one environment object; a copy of it where it is no bytes."""


def take_snapshot(
    env: gymnasium.Env[Any, Any], name: str, in_caller_process: bool
) -> EnvSnapshot:
    """Return a snapshot of an environment object.

    Parameters
    ----------
    env : gymnasium.Env
    name : str
        The environment, for messages.
    in_caller_process : bool
        Whether a copy can serve as its snapshot.

    Raises
    ------
    UnsupportedError
        If there is no way that keeps its state.
    """
    if supports_state(env):
        state = get_env_state(env)
        # It may hold what cannot be pickled, and the object drop that.
        with suppress(Exception):
            return to_bytes(state)
    try:
        return PICKLED_ENV + _pickle_env(env)
    except Exception as error:
        obstacle = f"{type(error).__name__}: {error}"
    # A copy is made by the same methods of a class as a pickle.
    if in_caller_process and _forgetful_layer(env) is None:
        try:
            return copy.deepcopy(env)
        except Exception as error:
            obstacle += f"; it cannot be copied: {type(error).__name__}: {error}"
    cls = type(env.unwrapped).__name__
    message = (
        f"get_state: {name} ({cls}) has no get_state and set_state, and cannot be "
        f"pickled: {obstacle}; give {cls} both methods"
    )
    raise UnsupportedError(message)


def _pickle_env(env: gymnasium.Env[Any, Any]) -> bytes:
    layer = _forgetful_layer(env)
    if layer is not None:
        message = f"{type(layer).__name__} is pickled without its state"
        raise TypeError(message)
    return pickle.dumps(env)


def _forgetful_layer(env: gymnasium.Env[Any, Any]) -> Any:
    """Return the layer whose pickle is only the arguments of its constructor."""
    layer: Any = env
    while layer is not None:
        if (
            isinstance(layer, EzPickle)
            and type(layer).__getstate__ is EzPickle.__getstate__
        ):
            return layer
        layer = layer.env if isinstance(layer, gymnasium.Wrapper) else None
    return None
