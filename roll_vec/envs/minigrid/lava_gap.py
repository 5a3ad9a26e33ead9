"""LavaGap: a river of lava with one gap."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.grids import draw_column
from roll_vec.envs.minigrid.obstacles import ObstacleGame, draw_ends


class LavaGap(ObstacleGame):
    """Go through the gap in the lava to the green goal.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, at least 5.
    """

    size: int = 7
    MINIMA: ClassVar[Any] = {"size": 5}

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_ends(env)
        x = rng.integers(2, env.width - 2)
        y = rng.integers(1, env.height - 1)
        draw_column(env, x, 1, env.height - 2, env.obstacle)
        env.grid[x, y] = 0
