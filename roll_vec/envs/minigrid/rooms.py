"""`RoomGrid`: the base class of games in rooms, and rules that draw rooms and doors.

The rules are those of MiniGrid 3.2.0, ``core/roomgrid.py``, and of BabyAI's
``envs/babyai/core/roomgrid_level.py``; they draw the same random numbers.

A room (i, j) is that of column i and row j.  Its sides, as directions, are 0 right, 1
down, 2 left and 3 up.  Neighbours share a wall, which has one cell for a door: the
gate.  `ANY` stands for an argument that is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import draw_walls, place, put_agent
from roll_vec.envs.minigrid.solver import PICK, Task
from roll_vec.envs.minigrid.steps import PICKUP, end, find_front, move, reward_success
from roll_vec.envs.minigrid.things import (
    CLOSED,
    COLOURS,
    DOOR,
    LOCKED,
    LOOKS,
    NUMBER_BIT,
    NUMBERS,
    OBJECTS,
    WALL,
    name_thing,
)
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int

ANY = -1
# MiniGrid raises an error after so many draws of a cell, and of a door.
MAX_CELLS, MAX_DOORS = 1001, 5001


@rule
def draw_new(rng: Any, count: int, excluded: int) -> int:
    """Return a random number below a count; those in the bits ``excluded`` are none.

    Draws after one another are those of ``_rand_subset``.
    """
    rest = count
    for k in range(count):
        rest -= excluded >> k & 1
    rest = rng.integers(rest)
    for k in range(count):
        if not excluded >> k & 1:
            if rest == 0:
                return k
            rest -= 1
    return -1


@rule
def number_thing(env: Any, thing: int) -> Any:
    """Return a thing with a number of its own in this level, from 1 on."""
    env.num_things += 1
    return thing + (env.num_things << NUMBER_BIT)


@rule
def find_box(env: Any, i: int, j: int) -> Any:
    """Return the cells of a room with its walls: (left, top, right, bottom).

    The last column and row are outside.
    """
    s = env.room_size - 1
    return i * s, j * s, (i + 1) * s + 1, (j + 1) * s + 1


@rule
def find_neighbour(i: int, j: int, side: int) -> Any:
    """Return the room or the cell (i, j) beyond a side of one."""
    return i + (side == 0) - (side == 2), j + (side == 1) - (side == 3)


@rule
def has_neighbour(env: Any, i: int, j: int, side: int) -> Any:
    """Return whether a room has a neighbour at a side."""
    p, q = find_neighbour(i, j, side)
    return 0 <= p < env.num_cols and 0 <= q < env.num_rows


@rule
def find_gate(env: Any, i: int, j: int, side: int) -> Any:
    """Return the cell (x, y) of the gate to the neighbour at a side."""
    s = env.room_size - 1
    if side == 0:
        return i * s + s, env.gates[i, j, 0]
    if side == 1:
        return env.gates[i, j, 1], j * s + s
    if side == 2:
        return i * s, env.gates[i - 1, j, 0]
    return env.gates[i, j - 1, 1], j * s


@rule
def draw_rooms(env: Any, rng: Any) -> None:
    """Draw rooms without doors, and their gates; all else is removed.

    The agent stands in the middle of the room in the middle, which matters to what is
    placed before it: ``RoomGrid._gen_grid``.
    """
    env.grid[:] = 0
    env.doors[:] = False
    env.locked_rooms[:] = False
    env.num_things = 0
    s = env.room_size - 1
    for j in range(env.num_rows):
        for i in range(env.num_cols):
            draw_walls(env, i * s, j * s, env.room_size, env.room_size)
            if i < env.num_cols - 1:
                env.gates[i, j, 0] = rng.integers(j * s + 1, j * s + s)
            if j < env.num_rows - 1:
                env.gates[i, j, 1] = rng.integers(i * s + 1, i * s + s)
    middle = env.room_size // 2
    put_agent(env, env.num_cols // 2 * s + middle, env.num_rows // 2 * s + middle, 0)


@rule
def join_rooms(env: Any, i: int, j: int, side: int) -> None:
    """Note that there is a way to the neighbour at a side: a door or no wall."""
    p, q = find_neighbour(i, j, side)
    env.doors[i, j, side] = True
    env.doors[p, q, (side + 2) % 4] = True


@rule
def add_door(
    env: Any, rng: Any, i: int, j: int, side: int, colour: int, locked: int
) -> Any:
    """Add a door to the neighbour at a side, and return its colour.

    Parameters
    ----------
    side : int
        `ANY`: one that has a neighbour and no door; there must be one.
    colour : int
        One of `COLOURS`, or `ANY`.
    locked : int
        0, 1, or `ANY`.  The room is locked or not as its last door, the neighbour
        stays as it was.
    """
    while side == ANY:
        side = rng.integers(4)
        if not has_neighbour(env, i, j, side) or env.doors[i, j, side]:
            side = ANY
    if colour == ANY:
        colour = COLOURS[rng.integers(6)]
    if locked == ANY:
        locked = 1 - rng.integers(2)
    env.locked_rooms[i, j] = locked == 1
    x, y = find_gate(env, i, j, side)
    state = LOCKED if locked == 1 else CLOSED
    env.grid[x, y] = number_thing(env, DOOR + colour + state)
    join_rooms(env, i, j, side)
    return colour


@rule
def remove_wall(env: Any, i: int, j: int, side: int) -> None:
    """Remove the wall between a room and its neighbour at a side."""
    left, top, right, bottom = find_box(env, i, j)
    for k in range(1, env.room_size - 1):
        if side % 2 == 0:
            env.grid[right - 1 if side == 0 else left, top + k] = 0
        else:
            env.grid[left + k, bottom - 1 if side == 1 else top] = 0
    join_rooms(env, i, j, side)


@rule
def place_in_room(env: Any, rng: Any, i: int, j: int, thing: int) -> Any:
    """Put a thing on a random empty cell of a room, not beside the agent.

    Returns
    -------
    bool
        False: no cell was empty in 1,001 draws, where MiniGrid raises an error.
    """
    x, _ = place(env, rng, thing, find_box(env, i, j), 2, MAX_CELLS)
    return x >= 0


@rule
def add_object(env: Any, rng: Any, i: int, j: int, kind: int, colour: int) -> Any:
    """Add an object to a room.

    Parameters
    ----------
    kind : int
        One of `OBJECTS`, or `ANY`.
    colour : int
        One of `COLOURS`, or `ANY`.

    Returns
    -------
    int
        The object with its number; 0: there was no place, as in `place_in_room`.
    """
    if kind == ANY:
        kind = OBJECTS[rng.integers(3)]
    if colour == ANY:
        colour = COLOURS[rng.integers(6)]
    thing = number_thing(env, kind + colour)
    return thing if place_in_room(env, rng, i, j, thing) else 0


@rule
def has_looks(env: Any, looks: int) -> bool:
    """Return whether a thing of a type and colour is in the grid."""
    for x in range(env.width):
        for y in range(env.height):
            if env.grid[x, y] & LOOKS == looks:
                return True
    return False


@rule
def add_distractors(
    env: Any, rng: Any, i: int, j: int, count: int, is_unique: bool
) -> Any:
    """Add objects of random colours and types.

    Parameters
    ----------
    i, j : int
        The column and the row of their room; `ANY`: drawn for each.
    is_unique : bool
        True: no object of the level has the colour and the type of another one.

    Returns
    -------
    bool
        False: there was no place, as in `place_in_room`.
    """
    for _ in range(count):
        looks = 0
        while looks == 0:
            colour = COLOURS[rng.integers(6)]
            looks = OBJECTS[rng.integers(3)] + colour
            if is_unique and has_looks(env, looks):
                looks = 0
        p = rng.integers(env.num_cols) if i == ANY else i
        q = rng.integers(env.num_rows) if j == ANY else j
        if not place_in_room(env, rng, p, q, number_thing(env, looks)):
            return False
    return True


@rule
def find_thing(env: Any, number: int) -> int:
    """Return the thing in the grid that has a number; 0: it is not there."""
    for x in range(env.width):
        for y in range(env.height):
            if env.grid[x, y] >> NUMBER_BIT & NUMBERS == number:
                return env.grid[x, y]  # type: ignore[no-any-return]
    return 0


@rule
def place_agent_in_room(env: Any, rng: Any, i: int, j: int) -> Any:
    """Place the agent in a room, in a random direction, with no object in front.

    Parameters
    ----------
    i, j : int
        The column and the row of the room; each may be `ANY`.

    Returns
    -------
    bool
        False: there was no place, as in `place_in_room`.
    """
    if i == ANY:
        i = rng.integers(env.num_cols)
    if j == ANY:
        j = rng.integers(env.num_rows)
    # MiniGrid draws for ever where each empty cell has objects on all sides.
    for _ in range(MAX_CELLS):
        put_agent(env, -1, -1, 0)
        x, y = place(env, rng, 0, find_box(env, i, j), 1, MAX_CELLS)
        if x < 0:
            return False
        put_agent(env, x, y, rng.integers(4))
        x, y = find_front(env)
        if env.grid[x, y] == 0 or env.grid[x, y] == WALL:
            return True
    return False


@rule
def count_rooms(env: Any) -> Any:
    """Return to how many rooms the agent can go, if it can unlock all doors."""
    env.joined_rooms[:] = False
    env.joined_rooms[env.x // (env.room_size - 1), env.y // (env.room_size - 1)] = True
    count, before = 1, 0
    while before < count:
        before = count
        for j in range(env.num_rows):
            for i in range(env.num_cols):
                for side in range(4):
                    if env.joined_rooms[i, j] and env.doors[i, j, side]:
                        p, q = find_neighbour(i, j, side)
                        count += not env.joined_rooms[p, q]
                        env.joined_rooms[p, q] = True
    return count


@rule
def connect_all(env: Any, rng: Any, without: int = ANY) -> Any:
    """Add doors of random colours, not locked, until the agent can go to all rooms.

    Rooms that are locked get none.

    Parameters
    ----------
    without : int
        A colour that is not drawn; `ANY`: all are.

    Returns
    -------
    bool
        False: that was not so after 5,001 draws, where MiniGrid raises an error.
    """
    num_rooms = env.num_rows * env.num_cols
    count, excluded = count_rooms(env), 0
    for k in range(6):
        excluded |= int(COLOURS[k] == without) << k
    for _ in range(MAX_DOORS):
        if count == num_rooms:
            return True
        i = rng.integers(env.num_cols)
        j = rng.integers(env.num_rows)
        side = rng.integers(4)
        if not has_neighbour(env, i, j, side) or env.doors[i, j, side]:
            continue
        p, q = find_neighbour(i, j, side)
        if not env.locked_rooms[i, j] and not env.locked_rooms[p, q]:
            colour = COLOURS[draw_new(rng, 6, excluded)]
            add_door(env, rng, i, j, side, colour, 0)
            count = count_rooms(env)
    return False


class RoomGrid(MiniGrid):
    """Base class of MiniGrid's games in rooms.

    Parameters
    ----------
    room_size : int
        Columns and rows of a room with its walls, from 3 to 99.
    num_rows : int
        Rows of rooms, from 1 to 20.
    num_cols : int
        Columns of rooms, from 1 to 20.

    Attributes
    ----------
    gates : (num_cols, num_rows, 2) int16
        Of each room the row of the gate on the right, and the column of that below.
    doors : (num_cols, num_rows, 4) bool
        Whether there is a way through each side: right, down, left, up.
    locked_rooms : (num_cols, num_rows) bool
        Whether the last door that a room got is locked.
    joined_rooms : (num_cols, num_rows) bool
        Rooms to which the agent can go, while doors are drawn.
    num_things : int16
        Numbers of things that are in use.

    Notes
    -----
    MiniGrid raises a ``RecursionError`` where no empty cell was drawn in 1,001 draws,
    or rooms were not joined in 5,001.  Rules return a failure there, and a level of
    BabyAI is drawn again, as in MiniGrid.  In other games no keywords make it likely:
    an empty cell is missed with a chance below 10**-51.

    MiniGrid's ``reset`` never returns where the agent's room has empty cells, but each
    has objects on all four sides, as in the second episode of BabyAI-SynthS5R2-v0 from
    seed 3.  Here that is a failure, too.
    """

    room_size: int = 7
    num_rows: int = 3
    num_cols: int = 3

    state: ClassVar[Mapping[str, Any]] = {
        **MiniGrid.state,
        "gates": (np.int16, ("num_cols", "num_rows", 2)),
        "doors": (np.bool_, ("num_cols", "num_rows", 4)),
        "locked_rooms": (np.bool_, ("num_cols", "num_rows")),
        "joined_rooms": (np.bool_, ("num_cols", "num_rows")),
        "num_things": np.int16,
    }

    def check_options(self) -> None:
        """Refuse rooms that have no cell inside, and too many rooms."""
        super().check_options()
        check_int("room_size", self.room_size, 3, 99)
        check_int("num_rows", self.num_rows, 1, 20)
        check_int("num_cols", self.num_cols, 1, 20)

    @property
    def width(self) -> int:
        """Columns of the grid."""
        return (self.room_size - 1) * self.num_cols + 1

    @property
    def height(self) -> int:
        """Rows of the grid."""
        return (self.room_size - 1) * self.num_rows + 1


class PickupGrid(RoomGrid):
    """Base class of games in rooms whose mission is to pick up an object.

    Attributes
    ----------
    target : uint32
        The code of the object.

    Episode end
    -----------
    terminated
        The object of the mission is picked up: success.
    """

    state: ClassVar[Mapping[str, Any]] = {**RoomGrid.state, "target": np.uint32}

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        reward, terminated = move(env, action)
        if action == PICKUP and env.carrying == env.target:
            reward, terminated = reward_success(env), True
        return end(env, reward, terminated)

    def tasks(self, env: Row) -> Any:
        """Return what the mission wants; see `MiniGrid.tasks`."""
        return [[Task(PICK, [env.target])]]

    def mission_text(self, mission: Any) -> str:
        """Return the text of a mission, from the looks of the object."""
        return f"pick up the {name_thing(mission)}"


@rule
def set_target(env: Any, thing: int) -> None:
    """Make an object the target of a `PickupGrid`, and its mission."""
    env.target = thing
    env.mission = thing & LOOKS
