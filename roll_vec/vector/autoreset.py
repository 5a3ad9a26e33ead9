"""The autoreset modes, partial resets, and the true next observations of a step."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.options import did_you_mean
from roll_vec.vector.infos import Infos

__all__ = ["final_obs", "parse_autoreset_mode", "parse_reset_mask"]


def parse_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return the mode for Gymnasium's enum or its value as a string.

    Raises
    ------
    InvalidOptionError
        If it is neither.
    """
    try:
        return AutoresetMode(mode)
    except ValueError:
        modes = [known.value for known in AutoresetMode]
        accepted = ", ".join(map(repr, modes))
        message = f"autoreset_mode: expected one of {accepted}, got {mode!r}"
        raise InvalidOptionError(message + did_you_mean(mode, modes)) from None


def parse_reset_mask(
    options: dict[str, Any] | None, num_envs: int
) -> NDArray[np.bool_] | None:
    """Return ``options["reset_mask"]``, None where there is none.

    Raises
    ------
    TypeError
        If it is no array of bool.
    ValueError
        If its shape is not ``(num_envs,)`` or it has no True.
    """
    if options is None or "reset_mask" not in options:
        return None
    mask = options["reset_mask"]
    # Gymnasium's checks in their order and their words, which its tests look for.
    if not isinstance(mask, np.ndarray):
        message = f"`options['reset_mask']` must be a numpy array, got {type(mask)}"
        raise TypeError(message)
    if mask.shape != (num_envs,):
        message = (
            f"`options['reset_mask']` must have shape `({num_envs},)`, got {mask.shape}"
        )
        raise ValueError(message)
    if mask.dtype != np.bool_:
        message = (
            f"`options['reset_mask']` must have `dtype=np.bool_`, got {mask.dtype}"
        )
        raise TypeError(message)
    if not mask.any():
        message = (
            "`options['reset_mask']` must contain a boolean array with at least one "
            f"True value, got reset_mask={mask}"
        )
        raise ValueError(message)
    return mask


def final_obs(observations: Any, infos: Infos) -> Any:
    """Return the batch of true next observations of a step, dense.

    Gymnasium gives the last observations of episodes that ended in SAME_STEP mode
    as an object array with None elsewhere.  This is the observations of the step
    with those put in, which is what a value target needs, in any mode.

    Parameters
    ----------
    observations : (n, ...) array or tuple of n
        As returned by `step`; left alone.
    infos : dict
        As returned by the same `step`.

    Returns
    -------
    The same form as ``observations``, new.
    """
    if "final_obs" not in infos:
        return observations if isinstance(observations, tuple) else observations.copy()
    mask, finals = infos["_final_obs"], infos["final_obs"]
    if isinstance(observations, tuple):
        pairs = zip(observations, finals, mask, strict=True)
        return tuple(final if has else obs for obs, final, has in pairs)
    dense = observations.copy()
    dense[mask] = np.stack(finals[mask])
    return dense
