"""Empty: a room with nothing but the goal."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.grids import draw_border
from roll_vec.envs.minigrid.starts import StartGame, start_agent
from roll_vec.envs.minigrid.things import GOAL


class Empty(StartGame):
    """Go to the green goal in an empty room.

    The goal is in the corner on the right and below.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, at least 4.
    """

    size: int = 8
    MINIMA: ClassVar[Any] = {"size": 4}

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        env.grid[env.width - 2, env.height - 2] = GOAL
        start_agent(env, rng)
