"""The parts that the games of Gymnasium's classic control have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.attributes import StateAttribute
from roll_vec.errors import InvalidStateError
from roll_vec.kernels.rows import Row
from roll_vec.render.gymnasium_renderers import GymnasiumRenderer

STARTS = (-1e6, 1e6)
"""Limits of a number that steps make smaller."""


def stack(*names: str) -> StateAttribute:
    """Return the attribute ``state`` of Gymnasium: some variables as an array."""

    def read(env: Row) -> NDArray[np.float64]:
        return np.array([getattr(env, name) for name in names])

    def write(value: Any) -> Mapping[str, Any]:
        try:
            numbers = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (len(names),):
            accepted = f"the numbers {', '.join(names)}"
            raise InvalidStateError.expected("state", accepted, value)
        return dict(zip(names, numbers.tolist(), strict=True))

    return StateAttribute(read, write)


def renderer_of(env_class: str, state: StateAttribute) -> GymnasiumRenderer:
    """Return the renderer of a game whose pictures show its ``state`` alone."""
    return GymnasiumRenderer(env_class, lambda env: {"state": state.read(env)})


class ClassicControl(ArrayEnv):
    """Base class of games whose numbers begin between two bounds."""

    seeding: ClassVar[str] = "stream"
