"""Actions of environments outside the mask of a step, which may be anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["drop_idle_integers"]


def drop_idle_integers(actions: Any, mask: NDArray[np.bool_]) -> Any:
    """Return integer actions with 0 in place of those outside the mask.

    Actions are returned as they are if they are integers anyway, and if those inside
    the mask are not: the check of actions has the message.

    Parameters
    ----------
    actions : batch
    mask : (n,) bool
    """
    if _as_integers(actions) is not None:
        return actions
    is_array = isinstance(actions, np.ndarray) and actions.ndim == 1
    if not is_array and not isinstance(actions, (list, tuple)):
        return actions
    env_ids = np.flatnonzero(mask).tolist()
    if len(actions) != len(mask) or len(env_ids) == len(mask):
        return actions
    result = np.zeros(len(mask), np.int64)
    if env_ids:
        inside = _as_integers([actions[env_id] for env_id in env_ids])
        if inside is None or inside.ndim != 1:
            return actions
        result = result.astype(inside.dtype)
        result[env_ids] = inside
    return result


def _as_integers(actions: Any) -> NDArray[Any] | None:
    """Return an array of integers, or None."""
    try:
        array = np.asarray(actions)
    except Exception:
        return None
    return array if array.dtype.kind in "iu" else None
