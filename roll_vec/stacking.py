"""Batches and infos of several steps, stacked in time; what they are written into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from roll_vec.engine import Rollout
from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.infos import Infos

if TYPE_CHECKING:
    from roll_vec.vector import RollVectorEnv

__all__ = ["check_out", "put_rows", "stack_batches", "stack_infos_in_time"]

_EXACT = 1 << 53  # up to here every integer is a float64


def stack_batches(
    space: spaces.Space[Any], batches: Sequence[Any], out: Any = None
) -> Any:
    """Return T batches of observations, stacked.

    Parameters
    ----------
    space : gymnasium.Space
        Of one environment.
    batches : sequence of T batches
    out : what an earlier call returned, or None
        Its arrays are written into.

    Returns
    -------
    (T, n, ...) array, dict or tuple of such for a nested space, or a tuple of T batches
        The last for what Gymnasium has no array for, as texts.
    """
    if isinstance(space, spaces.Dict):
        return {
            key: stack_batches(part, [b[key] for b in batches], out and out[key])
            for key, part in space.items()
        }
    if isinstance(space, spaces.Tuple):
        return tuple(
            stack_batches(part, [b[i] for b in batches], out and out[i])
            for i, part in enumerate(space)
        )
    if isinstance(batches[0], np.ndarray):
        return np.stack(batches, out=out)
    return tuple(batches)


def put_rows(
    space: spaces.Space[Any], batch: Any, rows: Sequence[int], values: Sequence[Any]
) -> Any:
    """Return a new batch of observations with others in some rows."""
    if isinstance(space, spaces.Dict):
        return {
            key: put_rows(part, batch[key], rows, [value[key] for value in values])
            for key, part in space.items()
        }
    if isinstance(space, spaces.Tuple):
        return tuple(
            put_rows(part, batch[i], rows, [value[i] for value in values])
            for i, part in enumerate(space)
        )
    changed = batch.copy() if isinstance(batch, np.ndarray) else list(batch)
    for row, value in zip(rows, values, strict=True):
        changed[row] = value
    return changed if isinstance(changed, np.ndarray) else tuple(changed)


def stack_infos_in_time(steps: Sequence[Infos], num_envs: int) -> Infos:
    """Return the infos of T steps in their layout with (T, n) arrays and masks.

    What a step lacks is zero, or None in an object array, with a False mask.  Where
    steps have a key in different dtypes or shapes, integers beside floats are floats,
    and all else is an object array.

    Parameters
    ----------
    steps : sequence of T dicts
        Each in Gymnasium's layout.
    num_envs : int
    """
    stacked: Infos = {}
    nobody = np.zeros(num_envs, np.bool_)
    # A mask has no mask.
    found = [key for step in steps for key in step if "_" + key in step]
    for key in dict.fromkeys(found):
        values = [step.get(key) for step in steps]
        masks = np.stack([step.get("_" + key, nobody) for step in steps])
        if all(isinstance(value, (dict, type(None))) for value in values):
            stacked[key] = stack_infos_in_time([v or {} for v in values], num_envs)
        else:
            stacked[key] = _stack_values(values, masks)
        stacked["_" + key] = masks
    return stacked


def _stack_values(values: list[Any], masks: NDArray[np.bool_]) -> NDArray[Any]:
    """Return one array of a key's values, which are None in steps that lack it."""
    dtype, shape = _common([value for value in values if value is not None])
    is_object = dtype == np.dtype(object)
    blank = None if is_object else 0
    stacked = np.full((*masks.shape, *shape), blank, dtype)
    for t, value in enumerate(values):
        if value is None:
            continue
        if not is_object or getattr(value, "dtype", None) == dtype:
            stacked[t] = value
        else:
            for row in np.flatnonzero(masks[t]).tolist():
                stacked[t, row] = _of_row(value, row)
    return stacked


def _common(values: list[Any]) -> tuple[Any, tuple[int, ...]]:
    """Return the dtype, and the shape of one environment's value, that hold all."""
    if any(isinstance(value, dict) for value in values):
        return object, ()
    forms = {(value.dtype, value.shape[1:]) for value in values}
    if len(forms) == 1:
        return forms.pop()
    if forms == {(np.dtype(np.int64), ()), (np.dtype(np.float64), ())} and all(
        value.dtype == np.float64 or np.abs(value).max() <= _EXACT for value in values
    ):
        return np.float64, ()
    return object, ()


def _of_row(value: Any, row: int) -> Any:
    """Return the value of one environment, from a nested layout its dict."""
    if isinstance(value, dict):
        return {
            key: _of_row(part, row)
            for key, part in value.items()
            if "_" + key in value and value["_" + key][row]
        }
    return value[row : row + 1].tolist()[0] if value.ndim == 1 else value[row]


# ------------------------------------------------------------------------ out


def check_out(out: Any, env: RollVectorEnv, num_steps: int) -> None:
    """Check that T steps of an environment can be written into a rollout.

    Raises
    ------
    InvalidOptionError
    """
    if not isinstance(out, Rollout):
        message = f"out: expected a Rollout of an earlier call, got {shorten(out)}"
        raise InvalidOptionError(message)
    batch = create_empty_array(env.single_observation_space, env.num_envs)
    flags = np.empty(env.num_envs, np.bool_)
    _check_like("observations", out.observations, batch, num_steps)
    _check_like("rewards", out.rewards, np.empty(env.num_envs), num_steps)
    _check_like("terminations", out.terminations, flags, num_steps)
    _check_like("truncations", out.truncations, flags, num_steps)
    if "final_obs" in out.infos:
        finals = out.infos["final_obs"]
        _check_like("infos['final_obs']", finals, batch, num_steps)


def _check_like(name: str, given: Any, batch: Any, num_steps: int) -> None:
    """Check that what is to be written into is T of a batch."""
    if isinstance(batch, dict):
        for key, part in batch.items():
            inner = given.get(key) if isinstance(given, dict) else None
            _check_like(f"{name}[{key!r}]", inner, part, num_steps)
    elif isinstance(batch, np.ndarray):
        shape = (num_steps, *batch.shape)
        if not isinstance(given, np.ndarray):
            got = shorten(given)
        elif given.shape != shape or given.dtype != batch.dtype:
            got = f"{given.dtype} of shape {given.shape}"
        elif not (given.flags.c_contiguous and given.flags.writeable):
            got = "one that is read-only or not in C order"
        else:
            return
        message = f"out.{name}: expected {batch.dtype} of shape {shape}, got {got}"
        raise InvalidOptionError(message)
