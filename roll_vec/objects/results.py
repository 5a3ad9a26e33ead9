"""Checks of the tuples that `reset` and `step` of a single environment return."""

from __future__ import annotations

from typing import Any

from roll_vec.errors import shorten

_HINT = "a reset without an info returns (observation, {})"


def split_step(result: Any) -> tuple[Any, Any, Any, Any, dict[Any, Any]]:
    """Return the five values of `step`, unchanged.

    Raises
    ------
    TypeError
        If there are more or fewer values, or the info is no dict.
    """
    if type(result) is tuple and len(result) == 5 and type(result[4]) is dict:
        return result
    if not isinstance(result, (tuple, list)) or len(result) != 5:
        message = (
            f"step returned {_count(result)}, expected 5: observation, reward, "
            "terminated, truncated, info"
        )
        if isinstance(result, (tuple, list)) and len(result) == 4:
            message += " (four are the old Gym's: done is now terminated or truncated)"
        raise TypeError(message)
    observation, reward, terminated, truncated, info = result
    if not isinstance(info, dict):
        message = f"step returned the info {shorten(info)}, expected a dict"
        raise TypeError(message)
    return observation, reward, terminated, truncated, info


def split_reset(result: Any) -> tuple[Any, dict[Any, Any]]:
    """Return the two values of `reset`, unchanged.

    Raises
    ------
    TypeError
        If there are more or fewer values, or the info is no dict.
    """
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        message = (
            f"reset returned {_count(result)}, expected 2 values: observation, info; "
            f"{_HINT}"
        )
        raise TypeError(message)
    observation, info = result
    if not isinstance(info, dict):
        message = f"reset returned the info {shorten(info)}, expected a dict; {_HINT}"
        raise TypeError(message)
    return observation, info


def _count(result: Any) -> str:
    """Return the number of values, or a single value itself, for a message."""
    if isinstance(result, (tuple, list)):
        return f"{len(result)} value{'s' * (len(result) != 1)}"
    return shorten(result)
