"""Masks and lists of environments, and actions outside of a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError

# Masks of so many environments are searched in compiled code: a call of it takes as
# long as numpy takes for a thousand.
_MANY = 1 << 11


def list_rows(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the environments of a mask, (m,) int64, ascending."""
    if len(mask) < _MANY or len(mask) % 8 or not mask.flags.c_contiguous:
        return mask.nonzero()[0]
    # Here, as an import of numba takes a third of a second.
    from roll_vec.kernels import masks

    rows = np.empty(len(mask), np.int64)
    return rows[: masks.list_rows(mask, mask.view(np.uint64), rows)]


def check_indices(
    name: str, values: Any, count: int, accepted: str = "a sequence of integers"
) -> NDArray[np.int64]:
    """Return environments, or rows of a snapshot, as (m,) int64.

    Raises
    ------
    InvalidOptionError
        If they are not integers from 0 to ``count`` - 1.
    """
    array = np.asarray(values)
    if array.ndim != 1 or not (array.dtype.kind in "iu" or not array.size):
        raise InvalidOptionError.expected(name, accepted, values)
    outside = (array < 0) | (array >= count)
    if np.count_nonzero(outside):
        value = int(array[outside][0])
        raise InvalidOptionError.expected(name, f"0 to {count - 1}", value)
    return array.astype(np.int64, copy=False)


def check_mask(mask: Any, num_envs: int) -> NDArray[np.int64]:
    """Return the environments of a mask, (m,) int64, all for None.

    Raises
    ------
    InvalidOptionError
        As `parse_mask`.
    """
    array = parse_mask(mask, num_envs)
    return np.arange(num_envs) if array is None else array.nonzero()[0]


def parse_mask(mask: Any, num_envs: int) -> NDArray[np.bool_] | None:
    """Return a mask of environments as an array, None for None.

    Raises
    ------
    InvalidOptionError
        If it is no array of bool of the shape (num_envs,).
    """
    if mask is None:
        return None
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.shape != (num_envs,):
        accepted = f"None or an array of bool of shape ({num_envs},)"
        raise InvalidOptionError.expected("mask", accepted, mask)
    return array


def drop_idle_integers(actions: Any, mask: NDArray[np.bool_]) -> Any:
    """Return integer actions with 0 in place of those outside the mask.

    Actions are returned as they are if they are integers anyway, and if those inside
    the mask are not: the check of actions has the message.

    Parameters
    ----------
    actions : batch
    mask : (n,) bool
    """
    is_list = isinstance(actions, (list, tuple)) or (
        isinstance(actions, np.ndarray) and actions.ndim == 1
    )
    if not is_list or len(actions) != len(mask) or _are_integers(actions):
        return actions
    pairs = zip(actions, mask.tolist(), strict=True)
    own_actions = [action if is_inside else 0 for action, is_inside in pairs]
    return own_actions if _are_integers(own_actions) else actions


def _are_integers(actions: Any) -> bool:
    try:
        return np.asarray(actions).dtype.kind in "iu"
    except Exception:
        return False
