"""Fetch: one object of several to pick up."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import (
    draw_border,
    place_agent_anywhere,
    place_anywhere,
)
from roll_vec.envs.minigrid.solver import PICK, Task
from roll_vec.envs.minigrid.steps import end_task, move
from roll_vec.envs.minigrid.things import COLOURS, KEY, LOOKS, NUMBER_BIT, name_thing
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int

PHRASES = ("get a", "go get a", "fetch a", "go fetch a", "you must fetch a")


class Fetch(MiniGrid):
    """Pick up the object of the mission, and no other one.

    Objects are keys and balls; some may be equal.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, at least 4.
    numObjs : int
        The number of objects, at least 1; the agent needs a cell beside them.

    Episode end
    -----------
    terminated
        The agent picks up an object: success, if it is that of the mission.
    """

    size: int = 8
    numObjs: int = 3
    see_through_walls: bool = True
    state: ClassVar[Any] = {**MiniGrid.state, "objects": (np.uint16, "numObjs")}
    MINIMA: ClassVar[Any] = {"size": 4}
    STEPS_PER_CELL: ClassVar[int] = 5

    def check_options(self) -> None:
        """Refuse more objects than there is room for."""
        super().check_options()
        check_int("numObjs", self.numObjs, 1, (self.size - 2) ** 2 - 1)

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        for k in range(env.numObjs):
            env.objects[k] = KEY + rng.integers(2) + COLOURS[rng.integers(6)]
            place_anywhere(env, rng, env.objects[k])
        place_agent_anywhere(env, rng)
        # The object, and above it the phrase.
        env.mission = env.objects[rng.integers(env.numObjs)]
        env.mission += rng.integers(5) << NUMBER_BIT

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        move(env, action)
        is_right = env.carrying == env.mission & LOOKS
        return end_task(env, is_right, env.carrying != 0)

    def tasks(self, env: Row) -> Any:
        """Return what the mission wants; see `MiniGrid.tasks`."""
        return [[Task(PICK, [env.mission & LOOKS])]]

    def mission_text(self, mission: Any) -> str:
        """Return the text of a mission."""
        return f"{PHRASES[mission >> NUMBER_BIT]} {name_thing(mission)}"
