"""Rollouts: the results of several steps, stacked in time, and the check of ``out``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.vector.infos import EXACT, Infos, blank_array


class Rollout(NamedTuple):
    """The results of T steps of N environments, stacked in time.

    Texts are a tuple of T tuples of N; the parts of nested observations are stacked.
    """

    observations: Any
    """(T, N, ...): after each step, as `step` returned them."""
    rewards: NDArray[np.float64]
    """(T, N)."""
    terminations: NDArray[np.bool_]
    """(T, N)."""
    truncations: NDArray[np.bool_]
    """(T, N)."""
    infos: Infos
    """The layout of `step` with arrays and masks of (T, N)."""


def stack_batches(
    space: spaces.Space[Any], batches: Sequence[Any], out: Any = None
) -> Any:
    """Return T batches of observations, stacked.

    Parameters
    ----------
    space : gymnasium.Space
        Of one environment.
    batches : sequence of T batches
    out : result of an earlier call, or None
        Its arrays are written to; `check_out` has accepted them.

    Returns
    -------
    (T, n, ...) array, or a dict or tuple of such arrays for a nested space
        For a space without arrays, such as texts, a tuple of T batches.
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


def replace_observations(
    space: spaces.Space[Any],
    batch: Any,
    env_ids: Sequence[int],
    observations: Sequence[Any],
) -> Any:
    """Return a new batch of observations, with others for some environments.

    Parameters
    ----------
    space : gymnasium.Space
        Of one environment.
    batch : a batch of the space, not changed
    env_ids : sequence of m int
    observations : sequence of m
        Each of one environment.
    """
    if isinstance(space, spaces.Dict):
        return {
            key: replace_observations(
                part, batch[key], env_ids, [one[key] for one in observations]
            )
            for key, part in space.items()
        }
    if isinstance(space, spaces.Tuple):
        return tuple(
            replace_observations(
                part, batch[i], env_ids, [one[i] for one in observations]
            )
            for i, part in enumerate(space)
        )
    new = batch.copy() if isinstance(batch, np.ndarray) else list(batch)
    for env_id, observation in zip(env_ids, observations, strict=True):
        new[env_id] = observation
    return new if isinstance(new, np.ndarray) else tuple(new)


def batch_observations(space: spaces.Space[Any], observations: Sequence[Any]) -> Any:
    """Return a new batch of observations of a space."""
    empty: Any = create_empty_array(space, len(observations))
    if not observations:
        return empty
    return concatenate(space, observations, empty)


def observation_at(space: spaces.Space[Any], batch: Any, env_id: int) -> Any:
    """Return the observation of one environment of a batch of the space."""
    if isinstance(space, spaces.Dict):
        parts = space.spaces.items()
        return {key: observation_at(each, batch[key], env_id) for key, each in parts}
    if isinstance(space, spaces.Tuple):
        pairs = zip(space.spaces, batch, strict=True)
        return tuple(observation_at(each, part, env_id) for each, part in pairs)
    return batch[env_id]


def stack_infos_in_time(steps: Sequence[Infos], num_envs: int) -> Infos:
    """Return the infos of T steps in one layout of (T, n) arrays and masks.

    An entry that a step lacks is zero, or None in an object array; its mask is False.
    Where steps have a key in different dtypes or shapes, integers beside floats become
    floats, and all else an object array.

    Parameters
    ----------
    steps : sequence of T dicts
        Each in Gymnasium's layout.
    num_envs : int
    """
    stacked: Infos = {}
    no_envs = np.zeros(num_envs, np.bool_)
    # A mask has no mask.
    keys = [key for step in steps for key in step if f"_{key}" in step]
    for key in dict.fromkeys(keys):
        values = [step.get(key) for step in steps]
        masks = np.stack([step.get(f"_{key}", no_envs) for step in steps])
        if all(isinstance(value, (dict, type(None))) for value in values):
            stacked[key] = stack_infos_in_time([v or {} for v in values], num_envs)
        else:
            stacked[key] = _stack_values(values, masks)
        stacked[f"_{key}"] = masks
    return stacked


def _stack_values(values: list[Any], masks: NDArray[np.bool_]) -> NDArray[Any]:
    """Return one array of a key's values; None are steps without the key."""
    dtype, shape = _common_form([value for value in values if value is not None])
    is_object = np.dtype(dtype) == object
    stacked = blank_array((*masks.shape, *shape), dtype)
    for t, value in enumerate(values):
        if value is None:
            continue
        if not is_object or getattr(value, "dtype", None) == dtype:
            stacked[t] = value
        else:
            for env_id in np.flatnonzero(masks[t]).tolist():
                stacked[t, env_id] = _value_of(env_id, value)
    return stacked


def _common_form(values: list[Any]) -> tuple[Any, tuple[int, ...]]:
    """Return the dtype, and the shape for one environment, that hold all values."""
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


def _value_of(env_id: int, values: Any) -> Any:
    """Return the value of one environment; from a nested layout, a dict."""
    if isinstance(values, dict):
        return {
            key: _value_of(env_id, part)
            for key, part in values.items()
            if f"_{key}" in values and values[f"_{key}"][env_id]
        }
    # tolist() would lose the unit of times: Python's timedelta has none, and numpy's
    # finest units become bare integers.
    if values.ndim > 1 or values.dtype.kind in "mM":
        return values[env_id]
    return values[env_id : env_id + 1].tolist()[0]


# ------------------------------------------------------------------------ out


def check_out(
    out: Any, space: spaces.Space[Any], num_envs: int, num_steps: int
) -> None:
    """Check that the results of T steps can be written into a rollout.

    Parameters
    ----------
    out : object
    space : gymnasium.Space
        Of the observations of one environment.
    num_envs, num_steps : int

    Raises
    ------
    InvalidOptionError
        If an array has another shape or dtype, or two arrays share memory.
    """
    if not isinstance(out, Rollout):
        raise InvalidOptionError.expected("out", "a Rollout of an earlier call", out)
    if not isinstance(out.infos, dict):
        raise InvalidOptionError.expected("out.infos", "a dict", out.infos)
    flags = np.empty(num_envs, np.bool_)
    arrays = [
        *_arrays_of("out.observations", out.observations, space, num_envs),
        ("out.rewards", out.rewards, np.empty(num_envs)),
        ("out.terminations", out.terminations, flags),
        ("out.truncations", out.truncations, flags),
    ]
    if "final_obs" in out.infos:
        final = out.infos["final_obs"]
        arrays += _arrays_of("out.infos['final_obs']", final, space, num_envs)
    for name, array, batch in arrays:
        _check_array(name, array, (num_steps, *batch.shape), batch.dtype)
    for (one, first, _), (other, second, _) in itertools.combinations(arrays, 2):
        if np.may_share_memory(first, second):
            message = f"{other}: shares its memory with {one}"
            raise InvalidOptionError(message)


def _arrays_of(
    name: str, value: Any, space: spaces.Space[Any], num_envs: int
) -> Iterator[tuple[str, Any, NDArray[Any]]]:
    """Yield each array of stacked observations: its name, itself, a batch like it."""
    if isinstance(space, spaces.Dict):
        if not isinstance(value, dict) or value.keys() != set(space):
            accepted = f"a dict with the keys {sorted(space)}"
            raise InvalidOptionError.expected(name, accepted, value)
        for key, part in space.items():
            yield from _arrays_of(f"{name}[{key!r}]", value[key], part, num_envs)
    elif isinstance(space, spaces.Tuple):
        if not isinstance(value, tuple) or len(value) != len(space):
            raise InvalidOptionError.expected(name, f"a tuple of {len(space)}", value)
        for i, part in enumerate(space):
            yield from _arrays_of(f"{name}[{i}]", value[i], part, num_envs)
    else:
        batch = create_empty_array(space, num_envs)
        if isinstance(batch, np.ndarray):
            yield name, value, batch


def _check_array(
    name: str, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> None:
    if (
        isinstance(array, np.ndarray)
        and array.dtype == dtype
        and array.shape == shape
        and array.flags.c_contiguous
        and array.flags.writeable
    ):
        return
    accepted = f"{dtype} of shape {shape}"  # numpy takes 2 us to name a dtype
    if not isinstance(array, np.ndarray):
        raise InvalidOptionError.expected(name, accepted, array)
    form = f"{array.dtype} of shape {array.shape}"
    if form == accepted:
        form = "one that is read-only or not in C order"
    message = f"{name}: expected {accepted}, got {form}"
    raise InvalidOptionError(message)
