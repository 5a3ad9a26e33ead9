"""DistShift: two strips of lava, the second in another row for the test."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.grids import draw_border, draw_row
from roll_vec.envs.minigrid.starts import StartGame, start_agent
from roll_vec.envs.minigrid.things import GOAL, LAVA
from roll_vec.options import check_int


class DistShift(StartGame):
    """Go around the strips of lava to the green goal.

    The first strip is in the row of the goal.

    Parameters
    ----------
    width : int
        Columns of the grid, at least 4; strips are 6 cells shorter.
    height : int
        Rows of the grid, at least 3.
    strip2_row : int
        The row of the second strip, from 1 to height - 2.

    Episode end
    -----------
    terminated
        The agent is on the goal: success.
    terminated
        The agent is in lava.
    """

    width: int = 9
    height: int = 7
    strip2_row: int = 2
    MINIMA: ClassVar[Any] = {"width": 4, "height": 3}

    def check_options(self) -> None:
        """Refuse a strip that is not inside."""
        super().check_options()
        check_int("strip2_row", self.strip2_row, 1, self.height - 2)

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        env.grid[env.width - 2, 1] = GOAL
        draw_row(env, 3, 1, env.width - 6, LAVA)
        draw_row(env, 3, env.strip2_row, env.width - 6, LAVA)
        start_agent(env, rng)
