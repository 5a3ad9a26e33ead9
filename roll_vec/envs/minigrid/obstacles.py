"""`ObstacleGame`: the base of games with lava, or walls, before the goal."""

from __future__ import annotations

from typing import Any

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import draw_border, put_agent
from roll_vec.envs.minigrid.things import GOAL, LAVA, WALL
from roll_vec.options import check_choice

OBSTACLES = {"lava": LAVA, "wall": WALL}


@rule
def draw_ends(env: Any) -> None:
    """Draw the border, the agent in one corner, and the goal in the opposite one."""
    draw_border(env)
    put_agent(env, 1, 1, 0)
    env.grid[env.width - 2, env.height - 2] = GOAL


class ObstacleGame(MiniGrid):
    """Base class of games in which the agent passes obstacles on its way to the goal.

    Parameters
    ----------
    obstacle_type : str
        ``lava``, or ``wall``, which ends no episode.
    """

    obstacle_type: str = "lava"

    def check_options(self) -> None:
        """Refuse other obstacles."""
        super().check_options()
        check_choice("obstacle_type", self.obstacle_type, OBSTACLES)

    @property
    def obstacle(self) -> int:
        """The code of an obstacle."""
        return OBSTACLES[self.obstacle_type]

    @property
    def MISSION(self) -> str:
        """The text of the mission."""
        is_lava = self.obstacle_type == "lava"
        task = "avoid the lava" if is_lava else "find the opening"
        return f"{task} and get to the green goal square"
