"""A batch in the autoreset mode that a framework expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roll_vec.errors import InvalidOptionError, UnknownOptionError
from roll_vec.registration.factories import make_vec
from roll_vec.vector.env import RollVectorEnv


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
