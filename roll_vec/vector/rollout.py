"""Rollouts: the results of several steps, stacked in time, and the check of ``out``."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.vector.infos import Infos
from roll_vec.vector.space_batches import map_leaves


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


def check_out(out: Any, space: Space[Any], num_envs: int, num_steps: int) -> None:
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
        If an array has another shape or dtype.
    """
    if not isinstance(out, Rollout):
        raise InvalidOptionError.expected("out", "a Rollout of an earlier call", out)
    if not isinstance(out.infos, dict):
        raise InvalidOptionError.expected("out.infos", "a dict", out.infos)
    flags = np.empty(num_envs, np.bool_)
    arrays = [
        ("out.rewards", out.rewards, np.empty(num_envs)),
        ("out.terminations", out.terminations, flags),
        ("out.truncations", out.truncations, flags),
    ]

    def add(leaf: Space[Any], value: Any, name: str) -> None:
        batch = create_empty_array(leaf, num_envs)
        if isinstance(batch, np.ndarray):
            arrays.append((name, value, batch))

    batches = {"out.observations": out.observations}
    if "final_obs" in out.infos:
        batches["out.infos['final_obs']"] = out.infos["final_obs"]
    for name, batch in batches.items():
        try:
            map_leaves(functools.partial(add, name=name), space, batch)
        except (IndexError, KeyError, TypeError):
            accepted = f"the form of a batch of {type(space).__name__}"
            raise InvalidOptionError.expected(name, accepted, batch) from None
    for name, array, like in arrays:
        dtype, shape = like.dtype, (num_steps, *like.shape)
        fits = isinstance(array, np.ndarray) and array.shape == shape
        if not fits or array.dtype != dtype or not array.flags.carray:
            value: Any = array
            if isinstance(array, np.ndarray):
                value = f"{array.dtype} of shape {array.shape}"
            accepted = f"a writable array in C order, {dtype} of shape {shape}"
            raise InvalidOptionError.expected(name, accepted, value)
