"""Actions of a pool, checked as a whole before any environment moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidActionError,
    UnbatchedActionError,
    describe_rows,
    shorten,
)
from roll_vec.text.validation import check_texts, text_hint

__all__ = ["check_action_batch"]


def check_action_batch(
    single_space: spaces.Space[Any],
    space: spaces.Space[Any],
    actions: Any,
    skip_mask: NDArray[np.bool_],
    takes_none: bool = False,
) -> list[Any]:
    """Return one action an environment, as `SyncVectorEnv` would hand them over.

    Texts are Python's str, whatever sequence they came in.

    Parameters
    ----------
    single_space, space : gymnasium.Space
        Of one environment, and of the batch.
    actions : batch
        A sequence of n str for Text, (n,) integers for Discrete, otherwise what
        Gymnasium can iterate over.
    skip_mask : (n,) bool
        Rows whose action is not looked at.
    takes_none : bool
        Whether the integer 0 is accepted below a space that starts at 1.

    Raises
    ------
    InvalidActionError
        An `UnbatchedActionError` where there is but one.
    """
    num_envs = len(skip_mask)
    try:
        len(actions)
    except TypeError:
        message = f"actions: expected {num_envs} of them, got {shorten(actions)}"
        raise UnbatchedActionError(message) from None
    if isinstance(single_space, spaces.Text):
        return check_texts(actions, skip_mask)
    if isinstance(single_space, spaces.Discrete):
        return _check_integers(single_space, actions, skip_mask, takes_none)
    try:
        rows = list(iterate(space, actions))
    except Exception as error:
        message = (
            f"actions: expected a batch of {space}, got {shorten(actions)}: {error}"
        )
        raise InvalidActionError(message) from error
    if len(rows) != num_envs:
        message = f"actions: expected {num_envs} of them, got {len(rows)}"
        raise InvalidActionError(message)
    return rows


def _check_integers(
    space: spaces.Discrete, actions: Any, skip_mask: NDArray[np.bool_], takes_none: bool
) -> list[Any]:
    num_envs = len(skip_mask)
    try:
        array = np.asarray(actions)
    except Exception as error:
        message = f"actions: expected {num_envs} integers, got {shorten(actions)}"
        raise InvalidActionError(message) from error
    if array.shape != (num_envs,):
        hint = text_hint(actions) if takes_none else ""
        message = f"actions: expected shape ({num_envs},), got {array.shape}{hint}"
        raise InvalidActionError(message)
    if not np.issubdtype(array.dtype, np.integer):
        hint = text_hint(actions) if takes_none else ""
        message = f"actions: expected integers, got {array.dtype}{hint}"
        raise InvalidActionError(message)
    low, high = int(space.start), int(space.start + space.n) - 1
    if takes_none and low == 1:
        low = 0
    wrong = ((array < low) | (array > high)) & ~skip_mask
    if np.count_nonzero(wrong):
        rows = np.flatnonzero(wrong)
        message = (
            f"actions of environments {describe_rows(rows)}: expected integers from "
            f"{low} to {high}, got {array[rows[0]]}"
        )
        if low > 0 and array[rows[0]] < low:
            message += f"; agents that count from 0 play action + {low}"
        raise InvalidActionError(message)
    return list(actions)
