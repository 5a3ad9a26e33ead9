"""Playground: nine rooms with objects, and nothing to do."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import (
    draw_border,
    draw_column,
    draw_object,
    draw_row,
    place_agent_anywhere,
    place_anywhere,
)
from roll_vec.envs.minigrid.things import CLOSED, COLOURS, DOOR, WALL

NUM_OBJECTS = 12


@rule
def draw_door(env: Any, rng: Any, x: int, y: int) -> None:
    """Put a closed door of a random colour on a cell."""
    env.grid[x, y] = DOOR + COLOURS[rng.integers(6)] + CLOSED


class Playground(MiniGrid):
    """Explore nine rooms with doors, keys, balls and boxes.

    There is no mission.

    Rewards
    -------
    0
        Each step.

    Episode end
    -----------
    truncated
        The limit of steps alone ends an episode.
    """

    size = 19

    # There is nothing to solve.
    solve: ClassVar[Any] = None

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 100

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        room = env.size // 3
        for j in range(3):
            for i in range(3):
                left, top = i * room, j * room
                right, bottom = left + room, top + room
                if i < 2:
                    draw_column(env, right, top, room, WALL)
                    draw_door(env, rng, right, rng.integers(top + 1, bottom - 1))
                if j < 2:
                    draw_row(env, left, bottom, room, WALL)
                    draw_door(env, rng, rng.integers(left + 1, right - 1), bottom)
        place_agent_anywhere(env, rng)
        for _ in range(NUM_OBJECTS):
            place_anywhere(env, rng, draw_object(rng))
