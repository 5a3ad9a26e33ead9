"""Memory: an object at the start, and the same one at the end of a hallway."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import draw_border, draw_column, draw_row, put_agent
from roll_vec.envs.minigrid.solver import REACH, Task
from roll_vec.envs.minigrid.steps import PICKUP, TOGGLE, end_task, move
from roll_vec.envs.minigrid.things import BALL, GREEN, KEY, WALL
from roll_vec.kernels.rows import Row


class Memory(MiniGrid):
    """Go to the object at the end of the hallway that is like the one at its start.

    One is a key, the other a ball.  The action pickup acts as toggle: nothing can be
    picked up.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, odd, at least 7.  MiniGrid's default, 8, is one
        that it refuses.
    random_length : bool
        True: the length of the hallway is random.

    Episode end
    -----------
    terminated
        The agent is beside one of the two objects at the end: success, if it is like
        the one at the start.
    """

    size: int = 7
    random_length: bool = False
    state: ClassVar[Any] = {**MiniGrid.state, "end_x": np.int16, "success_y": np.int16}
    MISSION: ClassVar[Any] = "go to the matching object at the end of the hallway"
    MINIMA: ClassVar[Any] = {"size": 7}
    NEEDS_ODD_SIZE: ClassVar[bool] = True
    STEPS_PER_CELL: ClassVar[int] = 5

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        middle, end_x = env.height // 2, env.width - 3
        if env.random_length:
            end_x = rng.integers(4, env.width - 2)
        for side in (-1, 1):
            draw_row(env, 1, middle + 2 * side, 4, WALL)
            draw_row(env, 4, middle + side, end_x - 4, WALL)
        draw_column(env, end_x, 0, env.height, WALL)
        draw_column(env, end_x + 2, 0, env.height, WALL)
        env.grid[end_x, middle] = 0
        put_agent(env, rng.integers(1, end_x + 1), middle, 0)
        first = KEY + rng.integers(2)
        upper = BALL - rng.integers(2)
        env.grid[1, middle - 1] = first + GREEN
        env.grid[end_x + 1, middle - 2] = upper + GREEN
        env.grid[end_x + 1, middle + 2] = KEY + BALL - upper + GREEN
        env.end_x = end_x + 1
        env.success_y = middle - 1 if first == upper else middle + 1

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        move(env, TOGGLE if action == PICKUP else action)
        is_end = env.x == env.end_x and abs(env.y - env.height // 2) == 1
        is_right = is_end and env.y == env.success_y
        return end_task(env, is_right, is_end)

    def tasks(self, env: Row) -> Any:
        """Return what the mission wants; see `MiniGrid.tasks`."""
        return [[Task(REACH, [env.end_x * self.height + env.success_y])]]
