"""DynamicObstacles: balls that move at random."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import draw_border, place
from roll_vec.envs.minigrid.solver import find_plan
from roll_vec.envs.minigrid.starts import StartGame, start_agent
from roll_vec.envs.minigrid.steps import FORWARD, LEFT, end, find_front, move
from roll_vec.envs.minigrid.things import BALL, BLUE, GOAL
from roll_vec.kernels.rows import Row

# MiniGrid gives up after this many draws of a cell.
MAX_TRIES = 101
COLLISION_REWARD = -1.0


@rule
def move_obstacles(env: Any, rng: Any) -> None:
    """Move each ball to a random empty cell beside it, also across corners."""
    for k in range(env.num_obstacles):
        i, j = env.obstacles[k]
        box = i - 1, j - 1, i + 2, j + 2
        x, y = place(env, rng, BALL + BLUE, box, 1, MAX_TRIES)
        if x >= 0:
            env.grid[i, j] = 0
            env.obstacles[k] = x, y


class DynamicObstacles(StartGame):
    """Go to the green goal, and never forward into a ball or a wall.

    Balls move before the agent, but what was in front of it then decides.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, at least 5.
    n_obstacles : int
        The number of balls; more than size / 2 + 1 become size // 2.

    Rewards
    -------
    1 - 0.9 * steps / max_steps
        The agent is on the goal.
    -1
        It goes forward where a ball or a wall was.
    0
        Any other step.

    Episode end
    -----------
    terminated
        The agent is on the goal: success.
    terminated
        It goes forward where a ball or a wall was.
    """

    size: int = 8
    n_obstacles: int = 4
    state: ClassVar[Any] = {**MiniGrid.state, "obstacles": (np.int16, ("capacity", 2))}
    actions: ClassVar[Any] = ("left", "right", "forward")
    MINIMA: ClassVar[Any] = {"size": 5, "n_obstacles": 0}

    @property
    def num_obstacles(self) -> int:
        """The number of balls."""
        is_few = self.n_obstacles <= self.size / 2 + 1
        return self.n_obstacles if is_few else self.size // 2

    @property
    def capacity(self) -> int:
        """The length of the variable ``obstacles``, which is not empty."""
        return max(self.num_obstacles, 1)

    @property
    def unused_keywords(self) -> dict[str, str]:
        """The keywords that the class has no use for, each with the reason."""
        reason = "has no exact credit, as balls move at random"
        return {**super().unused_keywords, "advantage_info": reason}

    def solve(self, env: Row) -> list[int] | None:
        """Return the first action of the shortest way around the balls as they are.

        Where they leave no way the agent waits: it turns.
        """
        plan = find_plan(self._still, env, self.tasks(env))
        return plan[:1] if plan else [LEFT]

    @cached_property
    def _still(self) -> StillObstacles:
        """The same game with balls that do not move."""
        names = [field.name for field in dataclasses.fields(self)]
        return StillObstacles(**{name: getattr(self, name) for name in names})

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        env.grid[env.width - 2, env.height - 2] = GOAL
        start_agent(env, rng)
        box = 0, 0, env.width, env.height
        for k in range(env.num_obstacles):
            env.obstacles[k] = place(env, rng, BALL + BLUE, box, 1, MAX_TRIES)

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        x, y = find_front(env)
        ahead = env.grid[x, y]
        move_obstacles(env, rng)
        reward, terminated = move(env, action)
        if action == FORWARD and ahead not in (0, GOAL):
            return end(env, COLLISION_REWARD, True)
        return end(env, reward, terminated)


class StillObstacles(DynamicObstacles):
    """`DynamicObstacles` whose balls do not move, for plans."""

    step = MiniGrid.step
