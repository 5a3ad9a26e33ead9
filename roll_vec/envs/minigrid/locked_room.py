"""LockedRoom: six rooms at a hallway, one of them locked."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import (
    draw_border,
    draw_column,
    draw_other_colour,
    draw_row,
    place_agent,
)
from roll_vec.envs.minigrid.things import (
    CLOSED,
    COLOUR_NAMES,
    DOOR,
    GOAL,
    KEY,
    LOCKED,
    WALL,
)


@rule
def draw_cell(env: Any, rng: Any, room: int) -> Any:
    """Draw a cell (x, y) of a room; rooms are counted by rows."""
    x, y = room % 2 * env.right, room // 2 * env.room_height
    i = rng.integers(x + 1, x + env.left)
    return i, rng.integers(y + 1, y + env.room_height)


class LockedRoom(MiniGrid):
    """Take the key from its room, unlock the locked room, and go to the green goal.

    Three rooms are on each side of a hallway.  Their doors have six colours.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, odd, at least 13.

    Episode end
    -----------
    terminated
        The agent is on the goal: success.
    """

    size: int = 19
    state: ClassVar[Any] = {**MiniGrid.state, "colours": (np.uint8, 6)}
    MINIMA: ClassVar[Any] = {"size": 13}
    NEEDS_ODD_SIZE: ClassVar[bool] = True

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 10 * self.size

    @property
    def left(self) -> int:
        """The column of the wall on the left of the hallway."""
        return self.size // 2 - 2

    @property
    def right(self) -> int:
        """The column of the wall on the right of the hallway."""
        return self.size // 2 + 2

    @property
    def room_height(self) -> int:
        """Rows from a room to the one below."""
        return self.size // 3

    @rule
    def begin(env: Any, rng: Any) -> None:
        size, left, right, height = env.size, env.left, env.right, env.room_height
        draw_border(env)
        draw_column(env, left, 0, size, WALL)
        draw_column(env, right, 0, size, WALL)
        for k in range(3):
            draw_row(env, 0, k * height, left, WALL)
            draw_row(env, right, k * height, size - right, WALL)
        locked = rng.integers(6)
        x, y = draw_cell(env, rng, locked)
        env.grid[x, y] = GOAL
        used = 0  # colours, as bits
        for k in range(6):
            colour = draw_other_colour(rng, used)
            used |= 1 << (colour >> 4)
            env.colours[k] = colour
            door = DOOR + colour + (LOCKED if k == locked else CLOSED)
            env.grid[right if k % 2 else left, k // 2 * height + 3] = door
        room = locked
        while room == locked:
            room = rng.integers(6)
        x, y = draw_cell(env, rng, room)
        env.grid[x, y] = KEY + env.colours[locked]
        place_agent(env, rng, (left, 0, right, size))
        env.mission = (env.colours[locked] >> 4) * 8 + (env.colours[room] >> 4)

    def mission_text(self, mission: Any) -> str:
        """Return the text of a mission."""
        locked, room = COLOUR_NAMES[mission // 8], COLOUR_NAMES[mission % 8]
        return (
            f"get the {locked} key from the {room} room, "
            f"unlock the {locked} door and go to the goal"
        )
