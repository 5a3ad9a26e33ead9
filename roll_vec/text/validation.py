"""What is to be a text, checked before anything moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidActionError, describe_rows, shorten

__all__ = ["check_text", "check_texts", "text_hint"]


def check_text(action: Any) -> str:
    """Return a text as Python's string.

    Raises
    ------
    InvalidActionError
    """
    if type(action) is str:
        return action
    if not isinstance(action, str):
        message = f"action: expected a str, got {shorten(action)}"
        raise InvalidActionError(message)
    # numpy's strings would find their way into the infos.
    return str(action)


def text_hint(actions: Any) -> str:
    """Return the end of a message about actions that are to be integers.

    Empty unless they are texts, which the environment takes in another mode.
    """
    if isinstance(actions, np.ndarray):
        actions = actions.ravel()[:1].tolist()
    elif not isinstance(actions, (list, tuple)):
        actions = [actions]
    if not any(isinstance(action, str) for action in actions):
        return ""
    return "; names of actions are taken with action_mode='text'"


def check_texts(actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
    """Return a batch of texts as Python's strings.

    Parameters
    ----------
    actions : list, tuple or array of n str
    skip_mask : (n,) bool
        Rows that are not looked at and may be anything.

    Raises
    ------
    InvalidActionError
        If it is anything else, a single str included.
    """
    num_envs = len(skip_mask)
    if isinstance(actions, np.ndarray) and actions.ndim == 1:
        actions = actions.tolist()
    if not isinstance(actions, (list, tuple)):
        message = (
            f"actions: expected {num_envs} strings, one an environment, "
            f"got {shorten(actions)}"
        )
        raise InvalidActionError(message)
    if len(actions) != num_envs:
        message = (
            f"actions: expected {num_envs} strings, one an environment, "
            f"got {len(actions)}"
        )
        raise InvalidActionError(message)
    texts = list(actions)
    if set(map(type, texts)) != {str}:
        # numpy's strings would find their way into the infos.
        texts = [str(text) if isinstance(text, str) else text for text in texts]
        wrong = [
            row
            for row, text in enumerate(texts)
            if type(text) is not str and not skip_mask[row]
        ]
        if wrong:
            shown = ", ".join(shorten(texts[row]) for row in wrong[:8])
            rows = describe_rows(np.array(wrong))
            message = f"actions: expected strings, got {shown} in environments {rows}"
            raise InvalidActionError(message)
    return texts
