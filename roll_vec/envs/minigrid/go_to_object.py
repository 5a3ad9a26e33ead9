"""GoToObject: a room with objects."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.grids import (
    draw_another_object,
    draw_border,
    place_agent_anywhere,
    place_anywhere,
)
from roll_vec.envs.minigrid.targets import TargetGame
from roll_vec.options import check_int


class GoToObject(TargetGame):
    """Go to the object of the mission, and say done beside it.

    Objects are keys, balls and boxes; no two are equal.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, at least 4.
    numObjs : int
        The number of objects, from 1 to 18; the agent needs a cell beside them.
    """

    size: int = 6
    numObjs: int = 2
    state: ClassVar[Any] = {
        **TargetGame.state,
        "objects": (np.uint16, "numObjs"),
        "places": (np.int16, ("numObjs", 2)),
    }
    MINIMA: ClassVar[Any] = {"size": 4}
    STEPS_PER_CELL: ClassVar[int] = 5

    def check_options(self) -> None:
        """Refuse more objects than there are, or than there is room for."""
        super().check_options()
        check_int("numObjs", self.numObjs, 1, min(18, (self.size - 2) ** 2 - 1))

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        for k in range(env.numObjs):
            env.objects[k] = draw_another_object(env, rng, k)
            env.places[k] = place_anywhere(env, rng, env.objects[k])
        place_agent_anywhere(env, rng)
        target = rng.integers(env.numObjs)
        env.mission = env.objects[target]
        env.target_pos[:] = env.places[target]
