"""DoorKey: a key, a locked door, and the goal behind it."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import (
    ENDLESS,
    draw_border,
    draw_column,
    place,
    place_agent,
)
from roll_vec.envs.minigrid.things import DOOR, GOAL, KEY, LOCKED, WALL, YELLOW


class DoorKey(MiniGrid):
    """Pick up the key, open the door and go to the green goal.

    A wall splits the room; its door is locked.  The key is on the agent's side.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, at least 5.

    Episode end
    -----------
    terminated
        The agent is on the goal: success.
    """

    size: int = 8
    MINIMA: ClassVar[Any] = {"size": 5}
    STEPS_PER_CELL: ClassVar[int] = 10
    MISSION: ClassVar[Any] = "use the key to open the door and then get to the goal"

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        env.grid[env.width - 2, env.height - 2] = GOAL
        x = rng.integers(2, env.width - 2)
        draw_column(env, x, 0, env.height, WALL)
        place_agent(env, rng, (0, 0, x, env.height))
        env.grid[x, rng.integers(1, env.width - 2)] = DOOR + YELLOW + LOCKED
        place(env, rng, KEY + YELLOW, (0, 0, x, env.height), 1, ENDLESS)
