"""Optional methods of single environments, through their wrappers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from roll_vec.errors import UnsupportedError


def find_method(
    env: gymnasium.Env[Any, Any], name: str, purpose: str
) -> Callable[..., Any]:
    """Return an optional method of an environment, or of one of its wrappers.

    Parameters
    ----------
    env : Env
    name : str
    purpose : str
        The use of the method, for the message.

    Raises
    ------
    UnsupportedError
        Names the environment's class, if there is no such method.
    """
    method = env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else None
    if not callable(method):
        kind = type(env.unwrapped).__name__
        message = f"{name}: {kind} has no method of this name, which {purpose}"
        raise UnsupportedError(message)
    return method  # type: ignore[no-any-return]
