"""The parts that the games of Gymnasium's classic control have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.attributes import StateAttribute
from roll_vec.errors import InvalidOptionError, InvalidStateError
from roll_vec.kernels.rows import Row
from roll_vec.options import check_number
from roll_vec.render.gymnasium_renderers import GymnasiumRenderer

MAX_START = 1e6
STARTS = (-MAX_START, MAX_START)
"""Limits of a number with which an episode begins, and which steps make smaller."""


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
    """Base class of games whose numbers begin between two bounds.

    ``reset(options={"low": ..., "high": ...})`` sets these for the episodes that it
    begins.
    """

    seeding: ClassVar[str] = "stream"

    def check_reset_options(self, values: Mapping[str, float]) -> None:
        """Check that the lower bound is not above the higher one."""
        for name, value in values.items():
            check_number(f"options[{name!r}]", value, *STARTS)
        if values["low"] > values["high"]:
            accepted = f"at most the higher bound, {values['high']}"
            raise InvalidOptionError.expected("options['low']", accepted, values["low"])
