"""GoToDoor: a room with four doors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.grids import draw_walls, place_agent
from roll_vec.envs.minigrid.targets import TargetGame
from roll_vec.envs.minigrid.things import CLOSED, COLOURS, DOOR


class GoToDoor(TargetGame):
    """Go to the door of the mission, and say done beside it.

    Each wall has a door, of four colours.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, at least 5; those of the room are random, from 5.
    """

    size: int = 5
    state: ClassVar[Any] = {**TargetGame.state, "doors": (np.int16, (4, 2))}
    MINIMA: ClassVar[Any] = {"size": 5}

    @rule
    def begin(env: Any, rng: Any) -> None:
        width = rng.integers(5, env.size + 1)
        height = rng.integers(5, env.size + 1)
        draw_walls(env, 0, 0, width, height)
        env.doors[0] = rng.integers(2, width - 2), 0
        env.doors[1] = rng.integers(2, width - 2), height - 1
        env.doors[2] = 0, rng.integers(2, height - 2)
        env.doors[3] = width - 1, rng.integers(2, height - 2)
        used = 0  # colours, as bits
        for k in range(4):
            colour = COLOURS[rng.integers(6)]
            while used >> (colour >> 4) & 1:
                colour = COLOURS[rng.integers(6)]
            used |= 1 << (colour >> 4)
            x, y = env.doors[k]
            env.grid[x, y] = DOOR + colour + CLOSED
        place_agent(env, rng, (0, 0, width, height))
        x, y = env.doors[rng.integers(4)]
        env.target_pos[:] = x, y
        env.mission = env.grid[x, y]
