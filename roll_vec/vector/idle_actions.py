"""Actions of environments outside the mask of a step, which may be anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
