"""RedBlueDoors: two doors, and the order in which to open them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import draw_border, draw_walls, place_agent
from roll_vec.envs.minigrid.solver import OPEN, Task
from roll_vec.envs.minigrid.steps import end_task, move
from roll_vec.envs.minigrid.things import BLUE, CLOSED, DOOR, RED
from roll_vec.kernels.rows import Row


class RedBlueDoors(MiniGrid):
    """Open the red door, then the blue door.

    The agent is in a room between both doors.

    Parameters
    ----------
    size : int
        Columns and rows of the room, at least 3; the grid has twice the columns.

    Episode end
    -----------
    terminated
        The blue door is open: success, if the red door was open before.
    """

    size: int = 8
    state: ClassVar[Any] = {**MiniGrid.state, "red_y": np.int16, "blue_y": np.int16}
    MISSION: ClassVar[Any] = "open the red door then the blue door"
    MINIMA: ClassVar[Any] = {"size": 3}
    STEPS_PER_CELL: ClassVar[int] = 10

    @property
    def width(self) -> int:
        """Columns of the grid."""
        return 2 * self.size

    @rule
    def begin(env: Any, rng: Any) -> None:
        size, left = env.size, env.size // 2
        draw_border(env)
        draw_walls(env, left, 0, size, size)
        place_agent(env, rng, (left, 0, left + size, size))
        env.red_y = rng.integers(1, size - 1)
        env.grid[left, env.red_y] = DOOR + RED + CLOSED
        env.blue_y = rng.integers(1, size - 1)
        env.grid[left + size - 1, env.blue_y] = DOOR + BLUE + CLOSED

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        left = env.size // 2
        is_right = env.grid[left, env.red_y] == DOOR + RED
        move(env, action)
        is_end = env.grid[left + env.size - 1, env.blue_y] == DOOR + BLUE
        return end_task(env, is_right and is_end, is_end)

    def tasks(self, env: Row) -> Any:
        """Return what the mission wants; see `MiniGrid.tasks`."""
        is_open = env.grid[self.size // 2, env.red_y] == DOOR + RED
        doors = [DOOR + BLUE] if is_open else [DOOR + RED, DOOR + BLUE]
        return [[Task(OPEN, [door])] for door in doors]
