"""FourRooms: four rooms with openings between them."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import (
    draw_border,
    draw_column,
    draw_row,
    place_agent_anywhere,
    place_anywhere,
    put_agent,
)
from roll_vec.envs.minigrid.starts import read_cell
from roll_vec.envs.minigrid.things import GOAL, WALL


class FourRooms(MiniGrid):
    """Go to the green goal, which is in any of four rooms.

    Each room has an opening to its two neighbours.

    Parameters
    ----------
    agent_pos, goal_pos : (int, int) or None
        Column and row of the agent at first, and of the goal; None: a random empty
        cell.  The direction of the agent is random.

    Episode end
    -----------
    terminated
        The agent is on the goal: success.
    """

    agent_pos: tuple[int, int] | None = None
    goal_pos: tuple[int, int] | None = None
    size = 19
    MISSION: ClassVar[Any] = "reach the goal"

    def check_options(self) -> None:
        """Refuse cells that are not inside."""
        super().check_options()
        for name in ("agent_pos", "goal_pos"):
            self._set(**{name: read_cell(self, name)})

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 100

    @property
    def agent_cell(self) -> tuple[int, int]:
        """The cell where the agent starts; (-1, -1): it is drawn."""
        return self.agent_pos or (-1, -1)

    @property
    def goal_cell(self) -> tuple[int, int]:
        """The cell of the goal; (-1, -1): it is drawn."""
        return self.goal_pos or (-1, -1)

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        half = env.size // 2
        for j in range(2):
            for i in range(2):
                x, y = i * half, j * half
                if i == 0:
                    draw_column(env, half, y, half, WALL)
                    env.grid[half, rng.integers(y + 1, y + half)] = 0
                if j == 0:
                    draw_row(env, x, half, half, WALL)
                    env.grid[rng.integers(x + 1, x + half), half] = 0
        x, y = env.agent_cell
        if x < 0:
            place_agent_anywhere(env, rng)
        else:
            env.grid[x, y] = 0
            put_agent(env, x, y, rng.integers(4))
        x, y = env.goal_cell
        if x < 0:
            place_anywhere(env, rng, GOAL)
        else:
            env.grid[x, y] = GOAL
