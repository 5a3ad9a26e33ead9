"""Rollouts: the results of several steps, stacked in time, and the check of ``out``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.vector.infos import Infos, blank_array, split_infos, stack_infos


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
        stacked[key] = _stack_in_time(key, values, masks)
        stacked[f"_{key}"] = masks
    return stacked


def _stack_in_time(key: Any, values: list[Any], masks: NDArray[np.bool_]) -> Any:
    """Return one key's values of all steps; None are steps without the key."""
    num_steps, num_envs = masks.shape
    present = [value for value in values if value is not None]
    if all(isinstance(value, dict) for value in present):
        return stack_infos_in_time([value or {} for value in values], num_envs)
    forms: set[Any] = {
        None if isinstance(value, dict) else (value.dtype, value.shape[1:])
        for value in present
    }
    if len(forms) == 1:
        ((dtype, shape),) = forms
        whole = blank_array((num_steps, num_envs, *shape), dtype)
        for t, value in enumerate(values):
            if value is not None:
                whole[t] = value
        return whole
    # As infos of one step of all of them: all values decide the dtype.
    env_ids, rows = np.arange(num_envs), []
    for value, mask in zip(values, masks, strict=True):
        step = {} if value is None else {key: value, f"_{key}": mask}
        rows += split_infos(step, env_ids, exact=True)
    stacked = stack_infos(rows, None, len(rows))[key]
    return stacked.reshape(num_steps, num_envs, *stacked.shape[1:])


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
