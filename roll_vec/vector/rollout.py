"""Batches and infos of several steps, stacked in time; what they are written into."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.vector.engine import Rollout
from roll_vec.vector.infos import EXACT, Infos, blanks

if TYPE_CHECKING:
    from roll_vec.vector.env import RollVectorEnv

__all__ = ["check_out", "put_rows", "stack_batches", "stack_infos_in_time"]


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
        Its arrays are written into; `check_out` has found that they fit.

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
    """Return a new batch of observations with others in some rows.

    Parameters
    ----------
    space : gymnasium.Space
        Of one environment.
    batch : a batch of the space, left as it is
    rows : sequence of m int
    values : sequence of m
        Each an observation of one environment.
    """
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
    keys = [key for step in steps for key in step if f"_{key}" in step]
    for key in dict.fromkeys(keys):
        values = [step.get(key) for step in steps]
        masks = np.stack([step.get(f"_{key}", nobody) for step in steps])
        if all(isinstance(value, (dict, type(None))) for value in values):
            stacked[key] = stack_infos_in_time([v or {} for v in values], num_envs)
        else:
            stacked[key] = _stack_values(values, masks)
        stacked[f"_{key}"] = masks
    return stacked


def _stack_values(values: list[Any], masks: NDArray[np.bool_]) -> NDArray[Any]:
    """Return one array of a key's values, which are None in steps that lack it."""
    dtype, shape = _common([value for value in values if value is not None])
    is_object = np.dtype(dtype) == object
    stacked = blanks((*masks.shape, *shape), dtype)
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
        value.dtype == np.float64 or -EXACT <= value.min() <= value.max() <= EXACT
        for value in values
    ):
        return np.float64, ()
    return object, ()


def _of_row(value: Any, row: int) -> Any:
    """Return the value of one environment, from a nested layout its dict."""
    if isinstance(value, dict):
        return {
            key: _of_row(part, row)
            for key, part in value.items()
            if f"_{key}" in value and value[f"_{key}"][row]
        }
    # Python's durations have no unit, and numpy's finest ones would be bare integers.
    if value.ndim > 1 or value.dtype.kind in "mM":
        return value[row]
    return value[row : row + 1].tolist()[0]


# ------------------------------------------------------------------------ out


def check_out(out: Any, env: RollVectorEnv, num_steps: int) -> None:
    """Check that T steps of an environment can be written into a rollout.

    Raises
    ------
    InvalidOptionError
    """
    if not isinstance(out, Rollout):
        _refuse("", "a Rollout of an earlier call", out)
    if not isinstance(out.infos, dict):
        _refuse(".infos", "a dict", out.infos)
    space, num_envs = env.single_observation_space, env.num_envs
    flags = np.empty(num_envs, np.bool_)
    parts = [
        *_match(".observations", out.observations, space, num_envs),
        (".rewards", out.rewards, np.empty(num_envs)),
        (".terminations", out.terminations, flags),
        (".truncations", out.truncations, flags),
    ]
    if "final_obs" in out.infos:
        finals = out.infos["final_obs"]
        parts += _match(".infos['final_obs']", finals, space, num_envs)
    for name, given, batch in parts:
        _check_array(name, given, (num_steps, *batch.shape), batch.dtype)
    for (one, first, _), (other, second, _) in itertools.combinations(parts, 2):
        if np.may_share_memory(first, second):
            message = f"out{other}: shares its memory with out{one}"
            raise InvalidOptionError(message)


def _match(
    name: str, given: Any, space: spaces.Space[Any], num_envs: int
) -> Iterator[tuple[str, Any, NDArray[Any]]]:
    """Yield what is given for each array of a batch: its name, it, such a batch."""
    if isinstance(space, spaces.Dict):
        if not isinstance(given, dict) or given.keys() != set(space):
            _refuse(name, f"a dict with the keys {sorted(space)}", given)
        for key, part in space.items():
            yield from _match(f"{name}[{key!r}]", given[key], part, num_envs)
    elif isinstance(space, spaces.Tuple):
        if not isinstance(given, tuple) or len(given) != len(space):
            _refuse(name, f"a tuple of {len(space)}", given)
        for i, part in enumerate(space):
            yield from _match(f"{name}[{i}]", given[i], part, num_envs)
    else:
        batch = create_empty_array(space, num_envs)
        if isinstance(batch, np.ndarray):
            yield name, given, batch


def _check_array(
    name: str, given: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> None:
    wanted = f"{dtype} of shape {shape}"
    if not isinstance(given, np.ndarray):
        _refuse(name, wanted, given)
    got = f"{given.dtype} of shape {given.shape}"
    if got == wanted:
        if given.flags.c_contiguous and given.flags.writeable:
            return
        got = "one that is read-only or not in C order"
    message = f"out{name}: expected {wanted}, got {got}"
    raise InvalidOptionError(message)


def _refuse(name: str, wanted: str, given: Any) -> NoReturn:
    message = f"out{name}: expected {wanted}, got {shorten(given)}"
    raise InvalidOptionError(message)
