"""Checks of text actions, made before any state changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidActionError, list_env_ids, shorten


def check_text(action: Any) -> str:
    """Return a text as Python's str.

    Raises
    ------
    InvalidActionError
    """
    if type(action) is str:
        return action
    if not isinstance(action, str):
        raise InvalidActionError.expected("action", "a str", action)
    # Otherwise numpy's strings would get into the infos.
    return str(action)


def check_texts(actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
    """Return a batch of texts as Python's str.

    Parameters
    ----------
    actions : list, tuple or array of n str
    skip_mask : (n,) bool
        Environments whose actions are ignored and may be anything.

    Raises
    ------
    InvalidActionError
        For anything else, a single str included.
    """
    num_envs = len(skip_mask)
    if isinstance(actions, np.ndarray) and actions.ndim == 1:
        actions = actions.tolist()
    is_list = isinstance(actions, (list, tuple))
    if not is_list or len(actions) != num_envs:
        value = len(actions) if is_list else actions
        raise InvalidActionError.expected(
            "actions", f"{num_envs} strings, one an environment", value
        )
    texts = list(actions)
    if set(map(type, texts)) != {str}:
        # Otherwise numpy's strings would get into the infos.
        texts = [str(text) if isinstance(text, str) else text for text in texts]
        wrong = [
            env_id
            for env_id, text in enumerate(texts)
            if type(text) is not str and not skip_mask[env_id]
        ]
        if wrong:
            values = ", ".join(shorten(texts[env_id]) for env_id in wrong[:8])
            env_ids = list_env_ids(np.array(wrong))
            message = (
                f"actions: expected strings, got {values} in environments {env_ids}"
            )
            raise InvalidActionError(message)
    return texts
