"""MultiRoom: a chain of rooms with doors between them."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import (
    ENDLESS,
    draw_other_colour,
    draw_walls,
    place,
    place_agent,
)
from roll_vec.envs.minigrid.things import CLOSED, DOOR, GOAL
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_int

# Sides of a room, as of directions.
RIGHT, DOWN, LEFT, UP = range(4)
NO_SIDE = -1
# Where so many have too few rooms, an episode would hardly ever begin.
CHAINS = 2000


@rule
def find_room(env: Any, k: int) -> Any:
    """Return the box of a room, with its walls: left, top, right, bottom."""
    left, top, width, height, _, _ = env.rooms[k]
    return left, top, left + width, top + height


@rule
def try_room(env: Any, rng: Any, k: int, side: int, x: int, y: int) -> bool:
    """Draw the size and the place of room k; return whether it fits.

    Its entry is the cell (x, y) on this side; the first room has its corner there.  It
    may touch the room before it alone.
    """
    width = rng.integers(4, env.maxRoomSize + 1)
    height = rng.integers(4, env.maxRoomSize + 1)
    left, top = x, y
    if k > 0:
        if side in (RIGHT, LEFT):
            left = x - width + 1 if side == RIGHT else x
            top = rng.integers(y - height + 2, y)
        else:
            left = rng.integers(x - width + 2, x)
            top = y - height + 1 if side == DOWN else y
    if left < 0 or top < 0 or left + width > env.width or top + height >= env.height:
        return False
    for i in range(k - 1):
        p, q, right, bottom = find_room(env, i)
        is_beside = left + width < p or right <= left
        if not (is_beside or top + height < q or bottom <= top):
            return False
    env.rooms[k] = left, top, width, height, x, y
    return True


@rule
def try_next_room(env: Any, rng: Any, k: int, entry: int) -> Any:
    """Try 8 times to add room k behind a room with this side of its entry.

    Return the side of the entry of room k, or NO_SIDE.
    """
    left, top, right, bottom = find_room(env, k - 1)
    for _ in range(8):
        side = rng.integers(3)
        side += side >= entry
        if side in (RIGHT, LEFT):
            x = right - 1 if side == RIGHT else left
            y = top + rng.integers(1, bottom - top - 1)
        else:
            x = left + rng.integers(1, right - left - 1)
            y = bottom - 1 if side == DOWN else top
        entry_behind = (side + 2) % 4
        if try_room(env, rng, k, entry_behind, x, y):
            return entry_behind
    return NO_SIDE


@rule
def try_chain(env: Any, rng: Any) -> int:
    """Draw rooms until there are ``env.num_rooms``, or one has no place for the next.

    Return how many there are.
    """
    x = rng.integers(0, env.width - 2)
    y = rng.integers(0, env.width - 2)
    entry, count = LEFT, int(try_room(env, rng, 0, LEFT, x, y))
    while 0 < count < env.num_rooms and entry != NO_SIDE:
        entry = try_next_room(env, rng, count, entry)
        count += entry != NO_SIDE
    return count


@functools.lru_cache
def has_room(num_rooms: int, maxRoomSize: int, width: int, height: int) -> bool:
    """Return whether one of some random chains has so many rooms."""
    env = SimpleNamespace(num_rooms=num_rooms, maxRoomSize=maxRoomSize)
    env.width, env.height = width, height
    env.rooms, rng = np.zeros((num_rooms, 6), np.int64), np.random.default_rng(0)
    return any(try_chain(env, rng) == num_rooms for _ in range(CHAINS))


class MultiRoom(MiniGrid):
    """Go through all rooms to the green goal, which is in the last one.

    A door leads from each room to the next one.  MultiRoom-N4-S5-v0 has six rooms, as
    in MiniGrid; its version 1, of MiniGrid 3.1.0, has four.

    Parameters
    ----------
    minNumRooms, maxNumRooms : int
        The fewest and the most rooms, at least 1.  Numbers that hardly ever have room
        are refused; MiniGrid looks for it for ever.
    maxRoomSize : int
        The most columns and rows of a room with its walls, at least 4.
    width, height : int
        Columns and rows of the grid.

    Episode end
    -----------
    terminated
        The agent is on the goal: success.
    """

    minNumRooms: int = 6
    maxNumRooms: int = 6
    maxRoomSize: int = 10
    width: int = 25
    height: int = 25
    state: ClassVar[Any] = {
        **MiniGrid.state,
        "num_rooms": np.int16,
        # Left, top, width, height, and the cell of the entry.
        "rooms": (np.int16, ("maxNumRooms", 6)),
    }
    MISSION: ClassVar[Any] = "traverse the rooms to get to the goal"
    MINIMA: ClassVar[Any] = {
        "minNumRooms": 1,
        "maxRoomSize": 4,
        "width": 4,
        "height": 5,
    }

    def check_options(self) -> None:
        """Refuse numbers of rooms that are no range, or that hardly ever have room."""
        super().check_options()
        # The smallest room has 16 cells, and shares 4 with the one before.
        most = max((self.width * (self.height - 1) - 4) // 12, 1)
        check_int("maxNumRooms", self.maxNumRooms, self.minNumRooms, most)
        width, height = self.width, self.height
        if not has_room(self.maxNumRooms, self.maxRoomSize, width, height):
            accepted = f"fewer rooms, which have room on a grid of {width}x{height}"
            raise InvalidOptionError.expected("maxNumRooms", accepted, self.maxNumRooms)

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 20 * self.maxNumRooms

    @rule
    def begin(env: Any, rng: Any) -> None:
        env.num_rooms = rng.integers(env.minNumRooms, env.maxNumRooms + 1)
        while try_chain(env, rng) < env.num_rooms:
            pass
        used = 0  # the colour of the door before, as a bit
        for k in range(env.num_rooms):
            left, top, width, height, x, y = env.rooms[k]
            draw_walls(env, left, top, width, height)
            if k > 0:
                colour = draw_other_colour(rng, used)
                env.grid[x, y] = DOOR + colour + CLOSED
                used = 1 << (colour >> 4)
        place_agent(env, rng, find_room(env, 0))
        place(env, rng, GOAL, find_room(env, env.num_rooms - 1), 1, ENDLESS)
