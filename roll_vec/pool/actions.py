"""Checks of action batches, made before any environment of a pool steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from roll_vec.errors import InvalidActionError, list_env_ids, shorten
from roll_vec.text.validation import check_texts


def check_action_batch(
    single_space: spaces.Space[Any],
    space: spaces.Space[Any],
    actions: Any,
    skip_mask: NDArray[np.bool_],
    accepts_noop: bool = False,
) -> list[Any]:
    """Return one action for each environment, as `SyncVectorEnv` would pass it.

    A text is a Python str, whatever sequence held it.

    Parameters
    ----------
    single_space, space : gymnasium.Space
        Of one environment, and of the batch.
    actions : batch
        A sequence of n str for Text, (n,) integers for Discrete, otherwise anything
        that Gymnasium can iterate over.
    skip_mask : (n,) bool
        Environments whose actions are not checked.
    accepts_noop : bool
        Whether the integer 0 is accepted below a space that starts at 1.

    Raises
    ------
    InvalidActionError
    """
    num_envs = len(skip_mask)
    if isinstance(single_space, spaces.Text):
        return check_texts(actions, skip_mask)
    if isinstance(single_space, spaces.Discrete):
        return _check_integers(single_space, actions, skip_mask, accepts_noop)
    try:
        action_list = list(iterate(space, actions))
    except Exception as error:
        message = (
            f"actions: expected a batch of {space}, got {shorten(actions)}: {error}"
        )
        raise InvalidActionError(message) from error
    if len(action_list) != num_envs:
        raise InvalidActionError.expected(
            "actions", f"{num_envs} of them", len(action_list)
        )
    return action_list


def _check_integers(
    space: spaces.Discrete,
    actions: Any,
    skip_mask: NDArray[np.bool_],
    accepts_noop: bool,
) -> list[Any]:
    num_envs = len(skip_mask)
    try:
        array = np.asarray(actions)
    except Exception as error:
        raise InvalidActionError.expected(
            "actions", f"{num_envs} integers", actions
        ) from error
    is_integer = np.issubdtype(array.dtype, np.integer)
    if array.shape != (num_envs,) or not is_integer:
        message = f"actions: expected shape ({num_envs},), got {array.shape}"
        if array.shape == (num_envs,):
            message = f"actions: expected integers, got {array.dtype}"
        raise InvalidActionError(message)
    low, high = int(space.start), int(space.start + space.n) - 1
    if accepts_noop and low == 1:
        low = 0
    is_wrong = ((array < low) | (array > high)) & ~skip_mask
    if np.count_nonzero(is_wrong):
        env_ids = np.flatnonzero(is_wrong)
        message = (
            f"actions of environments {list_env_ids(env_ids)}: expected integers from "
            f"{low} to {high}, got {array[env_ids[0]]}"
        )
        if low > 0 and array[env_ids[0]] < low:
            message += f"; agents that count from 0 play action + {low}"
        raise InvalidActionError(message)
    return list(actions)
