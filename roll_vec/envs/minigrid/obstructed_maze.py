"""ObstructedMaze: locked doors behind balls, keys in boxes, and a ball in a corner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.rooms import (
    PickupGrid,
    add_door,
    add_object,
    draw_new,
    draw_rooms,
    find_gate,
    find_neighbour,
    place_agent_in_room,
    place_in_room,
    set_target,
)
from roll_vec.envs.minigrid.things import (
    BALL,
    BLUE,
    BOX,
    COLOURS,
    CONTENT_BIT,
    GREEN,
    GREY,
    KEY,
)
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_int


@rule
def draw_colours(env: Any, rng: Any) -> None:
    """Draw the order of the colours of doors."""
    drawn = 0
    for k in range(6):
        choice = draw_new(rng, 6, drawn)
        env.colours[k] = COLOURS[choice]
        drawn |= 1 << choice


@rule
def add_locked_door(env: Any, rng: Any, i: int, j: int, side: int, colour: int) -> None:
    """Add a locked door, in front of it a ball if doors are blocked."""
    add_door(env, rng, i, j, side, colour, 1)
    if env.blocked:
        x, y = find_gate(env, i, j, side)
        x, y = find_neighbour(x, y, (side + 2) % 4)
        env.grid[x, y] = BALL + GREEN


@rule
def add_key(env: Any, rng: Any, i: int, j: int, colour: int) -> None:
    """Put a key into a room, in a box if keys are hidden."""
    thing = KEY + colour
    if env.key_in_box:
        thing = BOX + GREY + (thing << CONTENT_BIT)
    place_in_room(env, rng, i, j, thing)


class ObstructedMaze(PickupGrid):
    """Pick up the blue ball in the other one of two rooms.

    The door between them is locked, and its key is in the room of the agent.

    Parameters
    ----------
    key_in_box : bool
        True: keys are hidden in boxes.
    blocked : bool
        True: a ball lies in front of each locked door.
    """

    key_in_box: bool = True
    blocked: bool = True
    room_size: ClassVar[int] = 6  # type: ignore[misc]
    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 2  # type: ignore[misc]
    num_rooms_visited: ClassVar[int] = 2
    state: ClassVar[Mapping[str, Any]] = {**PickupGrid.state, "colours": (np.uint8, 6)}

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 4 * self.num_rooms_visited * self.room_size**2

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_rooms(env, rng)
        draw_colours(env, rng)
        add_locked_door(env, rng, 0, 0, 0, env.colours[0])
        add_key(env, rng, 0, 0, env.colours[0])
        set_target(env, add_object(env, rng, 1, 0, BALL, BLUE))
        place_agent_in_room(env, rng, 0, 0)


class ObstructedMazeFull(ObstructedMaze):
    """Pick up the blue ball in a corner of a maze of nine rooms.

    In each quarter a door leads from the room in the middle to one beside it, which has
    two locked doors to corners, and their keys.  A ball may lie on a key: then the ball
    alone is there, and the level may have no solution, as in MiniGrid.

    Parameters
    ----------
    agent_room : (int, int)
        The column and the row of the room where the agent starts, from 0 to 2.
    num_quarters : int
        The quarters with doors and keys, from 1 to 4: right, down, left, up.
    num_rooms_visited : int
        The limit of steps is 144 times this number.
    """

    agent_room: tuple[int, int] = (1, 1)
    num_quarters: int = 4
    num_rooms_visited: int = 25  # type: ignore[misc]
    num_rows: ClassVar[int] = 3  # type: ignore[misc]
    num_cols: ClassVar[int] = 3  # type: ignore[misc]
    # Whether a ball may not come to lie on a key: keys are placed behind balls.
    keys_last: ClassVar[bool] = False

    def check_options(self) -> None:
        """Refuse rooms and quarters that the maze has not."""
        super().check_options()
        room: Any = self.agent_room
        try:
            i, j = (check_int("agent_room", room[k], 0, 2) for k in range(len(room)))
        except (InvalidOptionError, TypeError, ValueError):
            accepted = "(i, j), a column and a row from 0 to 2"
            raise InvalidOptionError.expected("agent_room", accepted, room) from None
        self._set(agent_room=(i, j))
        check_int("num_quarters", self.num_quarters, 1, 4)
        check_int("num_rooms_visited", self.num_rooms_visited, 1, 1 << 20)

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_rooms(env, rng)
        draw_colours(env, rng)
        for side in range(env.num_quarters):
            i, j = find_neighbour(1, 1, side)
            add_door(env, rng, 1, 1, side, env.colours[side], 0)
            for k in (-1, 1):
                colour = env.colours[(side + k) % 6]
                add_locked_door(env, rng, i, j, (side + k) % 4, colour)
                if not env.keys_last:
                    add_key(env, rng, i, j, colour)
            if env.keys_last:
                for k in (-1, 1):
                    add_key(env, rng, i, j, env.colours[(side + k) % 6])
        # From the corner on the right and above, clockwise.
        corner = rng.integers(env.num_quarters)
        i, j = 2 * (corner < 2), 2 * (0 < corner < 3)
        set_target(env, add_object(env, rng, i, j, BALL, BLUE))
        i, j = env.agent_room
        place_agent_in_room(env, rng, i, j)


class ObstructedMazeFullV1(ObstructedMazeFull):
    """Pick up the blue ball in a corner of a maze of nine rooms.

    In each quarter a door leads from the room in the middle to one beside it, which has
    two locked doors to corners, and their keys.  Keys are placed behind all balls, so
    that no ball lies on a key.
    """

    keys_last: ClassVar[bool] = True
