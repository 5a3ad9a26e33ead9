"""Rollouts: the results of several steps, stacked in time, and the check of ``out``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.vector.infos import Infos


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
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        kind: type = dict if isinstance(space, spaces.Dict) else tuple
        keys = list(space) if isinstance(space, spaces.Dict) else range(len(space))
        present = value if isinstance(value, dict) else range(len(value or ()))
        if not isinstance(value, kind) or {*present} != {*keys}:
            accepted = f"a {kind.__name__} with {list(keys)}"
            raise InvalidOptionError.expected(name, accepted, value)
        for key in keys:
            yield from _arrays_of(f"{name}[{key!r}]", value[key], space[key], num_envs)
        return
    batch = create_empty_array(space, num_envs)
    if isinstance(batch, np.ndarray):
        yield name, value, batch


def _check_array(
    name: str, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> None:
    if not isinstance(array, np.ndarray):
        accepted = f"{dtype} of shape {shape}"
        raise InvalidOptionError.expected(name, accepted, array)
    # numpy takes 2 us to name a dtype.
    if array.dtype != dtype or array.shape != shape:
        form = f"{array.dtype} of shape {array.shape}"
        message = f"{name}: expected {dtype} of shape {shape}, got {form}"
        raise InvalidOptionError(message)
    if not (array.flags.c_contiguous and array.flags.writeable):
        message = f"{name}: expected an array to write into, in C order"
        raise InvalidOptionError(message)
