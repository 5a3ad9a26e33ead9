"""Arguments that frameworks have in common: the autoreset mode, actions from 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidActionError, InvalidOptionError, UnknownOptionError
from roll_vec.factories import make_vec
from roll_vec.vector.env import RollVectorEnv

__all__ = ["check_batch", "make_batch", "shift_actions"]


def check_batch(value: object, batch_class: type[object], accepted: str) -> None:
    """Raise an error for an argument ``batch`` of another class.

    Raises
    ------
    InvalidOptionError
    """
    if not isinstance(value, batch_class):
        raise InvalidOptionError.expected("batch", accepted, value)


def make_batch(
    env_id: str,
    num_envs: int,
    autoreset_mode: str,
    keywords: Mapping[str, Any],
    *,
    count_name: str = "num_envs",
) -> RollVectorEnv:
    """Make a batch in the autoreset mode that a framework expects.

    Parameters
    ----------
    env_id : str
    num_envs : int
    autoreset_mode : str
    keywords : mapping from str to object
        Of `roll_vec.make_vec`.
    count_name : str
        The framework's name of ``num_envs``.

    Raises
    ------
    InvalidOptionError
        For another mode too.
    UnknownOptionError
        For ``num_envs`` too, where the framework has its own name.
    """
    if "num_envs" in keywords:
        message = (
            f"got an unexpected keyword argument 'num_envs'; did you mean {count_name}?"
        )
        raise UnknownOptionError(message)
    options = {"autoreset_mode": autoreset_mode, **keywords}
    if options["autoreset_mode"] != autoreset_mode:
        accepted, value = repr(autoreset_mode), options["autoreset_mode"]
        raise InvalidOptionError.expected("autoreset_mode", accepted, value)
    return make_vec(env_id, num_envs, **options)


def shift_actions(actions: Any, start: int, num_actions: int) -> NDArray[Any]:
    """Return actions that count from 0 as those of a batch, which counts from a start.

    Parameters
    ----------
    actions : (m,) int
        Others are returned unchanged: the batch refuses them, and names their type.
    start, num_actions : int
        Of the batch's action space.

    Raises
    ------
    InvalidActionError
        For numbers outside 0 to ``num_actions - 1``.
    """
    codes = np.asarray(actions)
    if codes.dtype.kind not in "iu":
        return codes
    if codes.size and (codes.min() < 0 or codes.max() >= num_actions):
        accepted = f"0 to {num_actions - 1}, as actions count from 0 here"
        raise InvalidActionError.expected("actions", accepted, codes.tolist())
    return codes + start
