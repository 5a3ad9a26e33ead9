"""Crossing: rivers of lava, or walls, with an opening on the way through each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import draw_column, draw_row
from roll_vec.envs.minigrid.obstacles import ObstacleGame, draw_ends

COLUMNS, ROWS = range(2)


@rule
def find_next_river(env: Any, axis: int, place: int) -> Any:
    """Return the column or row of the next river after one, or that of the border."""
    place += 1
    while place < env.size - 1 and not env.is_river[axis, place]:
        place += 1
    return place


class Crossing(ObstacleGame):
    """Go through the openings of rivers to the green goal.

    Rivers go straight through the room, from side to side or from top to bottom.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, odd, at least 5.
    num_crossings : int
        The number of rivers; a room has size - 3 of them at most.
    """

    size: int = 9
    num_crossings: int = 1
    state: ClassVar[Any] = {
        **MiniGrid.state,
        "rivers": (np.int16, "num_places"),
        "is_river": (np.bool_, (2, "size")),
        "path": (np.bool_, "num_places"),
    }
    MINIMA: ClassVar[Any] = {"size": 5, "num_crossings": 0}
    NEEDS_ODD_SIZE: ClassVar[bool] = True

    @property
    def num_places(self) -> int:
        """Places of rivers: every second column, then every second row."""
        return self.size - 3

    @property
    def num_rivers(self) -> int:
        """The number of rivers."""
        return min(self.num_crossings, self.num_places)

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_ends(env)
        for k in range(env.num_places):
            env.rivers[k] = k
        rng.shuffle(env.rivers)
        half, num_columns = env.num_places // 2, 0
        for k in range(env.num_rivers):
            axis, place = env.rivers[k] // half, env.rivers[k] % half * 2 + 2
            env.is_river[axis, place] = True
            if axis == COLUMNS:
                num_columns += 1
                draw_column(env, place, 1, env.size - 2, env.obstacle)
            else:
                draw_row(env, 1, place, env.size - 2, env.obstacle)
        # The order in which the way crosses rivers: True is one of a row.
        for k in range(env.num_rivers):
            env.path[k] = k >= num_columns
        rng.shuffle(env.path[: env.num_rivers])
        x, y = 0, 0
        for k in range(env.num_rivers):
            right = find_next_river(env, COLUMNS, x)
            bottom = find_next_river(env, ROWS, y)
            if env.path[k]:
                env.grid[rng.integers(x + 1, right), bottom] = 0
                y = bottom
            else:
                env.grid[right, rng.integers(y + 1, bottom)] = 0
                x = right
