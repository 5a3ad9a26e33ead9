"""The success of episodes that have ended: one rule for all who report it.

The info ``success`` of the last step decides.  Without it stacked arrays know
(FrozenLake has Gymnasium's infos, which do not have the key), and of any other
environment nobody does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
"""The environment does not say whether the episode was a success."""


def episode_successes(
    envs: Any, infos: Mapping[str, Any], env_ids: NDArray[np.intp]
) -> NDArray[np.int8]:
    """Return (m,) int8 the success of episodes that end: 1, 0 or `UNKNOWN`.

    Parameters
    ----------
    envs : VectorEnv
        Before its next step or reset.
    infos : mapping
        Those of the last step of the episodes, in Gymnasium's layout: in SameStep mode
        ``final_info``.
    env_ids : (m,) int64
        The environments of the episodes.
    """
    success = _array_successes(envs.unwrapped)[env_ids]
    if "success" in infos:
        values = np.asarray(infos["success"])[env_ids]
        mask = infos.get("_success")
        is_known = slice(None) if mask is None else np.asarray(mask)[env_ids]
        success[is_known] = values[is_known].astype(np.bool_)
    return success


def episode_success(envs: Any, env_id: int, info: Mapping[str, Any]) -> bool | None:
    """Return the success of one environment's episode; None: it does not say.

    Parameters
    ----------
    envs, env_id
        As for `episode_successes`.
    info : mapping
        Of the last step of this environment.
    """
    if (success := info.get("success")) is not None:
        return bool(success)
    value = _array_successes(envs.unwrapped)[env_id]
    return None if value == UNKNOWN else bool(value)


def _array_successes(batch: Any) -> NDArray[np.int8]:
    """Return (num_envs,) int8 what stacked arrays know; `UNKNOWN` of all others."""
    # Pools, and mixed batches, whose environments are texts: their infos say it.
    if hasattr(batch, "faults") or not hasattr(batch, "successes"):
        return np.full(batch.num_envs, UNKNOWN, np.int8)
    values: NDArray[np.bool_] = batch.successes
    return values.astype(np.int8)
