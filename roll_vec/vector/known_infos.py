"""The infos that roll_vec itself reads: faults, success, and the loss of a dead end.

A pool writes the key ``error`` where an environment had a fault, with a `FaultMessage`.
An ``error`` of any other type is an info of the environment.

The infos ``success`` and ``is_success`` (as Gymnasium-Robotics and Stable-Baselines3
have it) of an episode's last step say whether it was one; `success_of` has the rule.
Without them stacked arrays know (FrozenLake has Gymnasium's infos, which do not have
the keys), and of any other environment nobody does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import FaultMessage

DEAD_END_LOSS = 100.0
"""The loss of an action into a dead end, in moves: the step limit of Sokoban's id.

It stands in the info ``advantage``; no other action costs as many moves.
"""

UNKNOWN = -1
"""The environment does not say whether the episode was a success."""

SUCCESS_KEYS = ("success", "is_success")
"""Of these infos the first one counts that says anything."""


# ---------------------------------------------------------------------- faults


def fault_info(message: str) -> dict[str, Any]:
    """Return the info of a step or reset that a fault has ended."""
    return {"error": FaultMessage(message)}


def fault_of(info: Mapping[str, Any]) -> str | None:
    """Return the fault of one environment's step or reset, by its info; None: none."""
    error = info.get("error")
    return str(error) if isinstance(error, FaultMessage) else None


def faults_of(
    infos: Mapping[str, Any] | Iterable[Mapping[str, Any]],
) -> dict[int, str]:
    """Return the faults of a step or reset of a batch, by its infos.

    Parameters
    ----------
    infos : mapping or list of mappings
        In Gymnasium's layout, or that of its wrapper ``DictInfoToList``.  In SAME_STEP
        mode those of a step are in ``infos["final_info"]``, and ``infos`` has those of
        the resets after it.

    Returns
    -------
    dict of int to str
        The environments that had a fault, ascending, and what happened.  Infos of
        environments are none, whatever their keys are.
    """
    if not isinstance(infos, Mapping):
        faults = enumerate(map(fault_of, infos))
        return {row: fault for row, fault in faults if fault is not None}
    errors = infos.get("error")
    if not isinstance(errors, np.ndarray) or errors.dtype != object:
        return {}
    pairs = enumerate(errors.tolist())
    return {row: str(error) for row, error in pairs if isinstance(error, FaultMessage)}


# --------------------------------------------------------------------- success


def success_of(value: Any) -> bool | None:
    """Return the success that the value of an info says; None: it says nothing.

    A bool is itself, and a number is a success if it is 1: 0.5 is none.  An array,
    tensor or list of one element, of any shape and dtype, is its element.  None, texts,
    and arrays of several elements say nothing.
    """
    if isinstance(value, (Number, np.bool_)):
        return bool(value == 1)
    try:
        array = np.asarray(value)
    except Exception:  # of a user's class
        return None
    if array.size != 1 or array.dtype.kind not in "biufcO":
        return None
    element = array.item()
    # An object that is no array is the element of the array of it.
    return None if element is value else success_of(element)


def read_success(info: Mapping[str, Any]) -> bool | None:
    """Return the success of one environment's step, by its info alone."""
    successes = (success_of(info.get(key)) for key in SUCCESS_KEYS)
    return next((success for success in successes if success is not None), None)


def episode_success(envs: Any, env_id: int, info: Mapping[str, Any]) -> bool | None:
    """Return the success of one environment's episode; None: it does not say.

    Parameters
    ----------
    envs, env_id
        As for `episode_successes`.
    info : mapping
        Of the last step of this environment.
    """
    if (success := read_success(info)) is not None:
        return success
    value = _array_successes(envs.unwrapped)[env_id]
    return None if value == UNKNOWN else bool(value)


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
    successes = _array_successes(envs.unwrapped)[env_ids]
    for key in reversed(SUCCESS_KEYS):
        if key not in infos or isinstance(infos[key], dict):
            continue
        values = _codes(np.asarray(infos[key])[env_ids])
        mask = infos.get(f"_{key}")
        if mask is not None:
            values[~np.asarray(mask)[env_ids]] = UNKNOWN
        successes = np.where(values == UNKNOWN, successes, values)
    return successes


def _codes(values: NDArray[Any]) -> NDArray[np.int8]:
    """Return (m,) int8 `success_of` of each row of an array, None as `UNKNOWN`."""
    if values.dtype.kind in "biuf" and values.size == len(values):
        codes: Any = values.reshape(-1) == 1
    else:
        successes = (success_of(value) for value in values)
        codes = [UNKNOWN if success is None else success for success in successes]
    return np.array(codes, np.int8)


def _array_successes(batch: Any) -> NDArray[np.int8]:
    """Return (num_envs,) int8 what stacked arrays know; `UNKNOWN` of all others."""
    if not getattr(batch, "has_success", False):
        return np.full(batch.num_envs, UNKNOWN, np.int8)
    values: NDArray[np.bool_] = batch.successes
    return values.astype(np.int8)
