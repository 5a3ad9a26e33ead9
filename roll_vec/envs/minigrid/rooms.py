"""`RoomGrid`: the base class of games in rooms, and rules that draw rooms and doors."""

from __future__ import annotations

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import draw_walls, place, put_agent
from roll_vec.envs.minigrid.steps import find_front
from roll_vec.envs.minigrid.things import (
    CLOSED,
    COLOURS,
    DOOR,
    LOCKED,
    NUMBER_BIT,
    OBJECTS,
    TYPE,
    WALL,
)

ANY = -1


@rule
def number_thing(env, thing):
    """Give a thing a number of its own, from 1 on."""
    env.num_things += 1
    return thing + (env.num_things << NUMBER_BIT)


@rule
def find_box(env, i, j):
    s = env.room_size - 1
    return i * s, j * s, (i + 1) * s + 1, (j + 1) * s + 1


@rule
def draw_rooms(env, rng):
    env.grid[:] = 0
    env.doors[:] = False
    env.locked_rooms[:] = False
    env.num_things = 0
    s = env.room_size - 1
    for j in range(env.num_rows):
        for i in range(env.num_cols):
            draw_walls(env, i * s, j * s, env.room_size, env.room_size)
    for j in range(env.num_rows):
        for i in range(env.num_cols):
            if i < env.num_cols - 1:
                env.gates[i, j, 0] = rng.integers(j * s + 1, j * s + s)
            if j < env.num_rows - 1:
                env.gates[i, j, 1] = rng.integers(i * s + 1, i * s + s)
    env.x = env.num_cols // 2 * s + env.room_size // 2
    env.y = env.num_rows // 2 * s + env.room_size // 2
    env.direction = 0


@rule
def find_neighbour(i, j, side):
    """Return the room beyond a side: right, down, left, up."""
    return i + (side == 0) - (side == 2), j + (side == 1) - (side == 3)


@rule
def has_neighbour(env, i, j, side):
    p, q = find_neighbour(i, j, side)
    return 0 <= p < env.num_cols and 0 <= q < env.num_rows


@rule
def find_gate(env, i, j, side):
    """Return the cell of a door."""
    s = env.room_size - 1
    if side == 0:
        return i * s + s, env.gates[i, j, 0]
    if side == 1:
        return env.gates[i, j, 1], j * s + s
    if side == 2:
        return i * s, env.gates[i - 1, j, 0]
    return env.gates[i, j - 1, 1], j * s


@rule
def join_rooms(env, i, j, side):
    p, q = find_neighbour(i, j, side)
    env.doors[i, j, side] = True
    env.doors[p, q, (side + 2) % 4] = True


@rule
def add_door(env, rng, i, j, side, colour, locked):
    """Add a door; ANY side, colour or lock is drawn.  Return its colour."""
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
def remove_wall(env, i, j, side):
    left, top, right, bottom = find_box(env, i, j)
    for k in range(1, env.room_size - 1):
        if side % 2 == 0:
            env.grid[right - 1 if side == 0 else left, top + k] = 0
        else:
            env.grid[left + k, bottom - 1 if side == 1 else top] = 0
    join_rooms(env, i, j, side)


@rule
def add_object(env, rng, i, j, kind, colour):
    """Add an object to a room; ANY kind or colour is drawn.

    Return it; 0: there was no place, where MiniGrid raises an error.
    """
    if kind == ANY:
        kind = OBJECTS[rng.integers(3)]
    if colour == ANY:
        colour = COLOURS[rng.integers(6)]
    thing = number_thing(env, kind + colour)
    x, _ = place(env, rng, thing, find_box(env, i, j), 2, 1001)
    return thing if x >= 0 else 0


@rule
def add_distractors(env, rng, count):
    """Add objects that may be equal, in any rooms; False: there was no place."""
    for _ in range(count):
        colour = COLOURS[rng.integers(6)]
        kind = OBJECTS[rng.integers(3)]
        i = rng.integers(env.num_cols)
        j = rng.integers(env.num_rows)
        if add_object(env, rng, i, j, kind, colour) == 0:
            return False
    return True


@rule
def place_agent_in_room(env, rng, i, j):
    """Place the agent in a room, not in front of an object; ANY room is drawn.

    False: there was no place, where MiniGrid raises an error.
    """
    if i == ANY:
        i = rng.integers(env.num_cols)
    if j == ANY:
        j = rng.integers(env.num_rows)
    thing = 1
    while thing != 0 and thing != WALL:
        put_agent(env, -1, -1, 0)
        x, y = place(env, rng, 0, find_box(env, i, j), 1, 1001)
        if x < 0:
            return False
        put_agent(env, x, y, rng.integers(4))
        x, y = find_front(env)
        thing = env.grid[x, y]
    return True


@rule
def count_rooms(env):
    """Return how many rooms the agent can go to, locks aside."""
    i, j = env.x // (env.room_size - 1), env.y // (env.room_size - 1)
    reached, count, before = 1 << j * env.num_cols + i, 1, 0
    while before < count:
        before = count
        for q in range(env.num_rows):
            for p in range(env.num_cols):
                if not reached & 1 << q * env.num_cols + p:
                    continue
                for side in range(4):
                    if env.doors[p, q, side]:
                        k, l = find_neighbour(p, q, side)
                        bit = 1 << l * env.num_cols + k
                        count += not reached & bit
                        reached |= bit
    return count


@rule
def connect_all(env, rng):
    while count_rooms(env) < env.num_rows * env.num_cols:
        i = rng.integers(env.num_cols)
        j = rng.integers(env.num_rows)
        side = rng.integers(4)
        if not has_neighbour(env, i, j, side) or env.doors[i, j, side]:
            continue
        p, q = find_neighbour(i, j, side)
        if env.locked_rooms[i, j] or env.locked_rooms[p, q]:
            continue
        add_door(env, rng, i, j, side, COLOURS[rng.integers(6)], 0)


@rule
def are_reachable(env):
    """Whether the agent can go next to each object and move none; doors open."""
    for x in range(env.width):
        for y in range(env.height):
            env.reached[x, y] = False
    env.reached[env.x, env.y] = True
    has_changed = True
    while has_changed:
        has_changed = False
        for x in range(1, env.width - 1):
            for y in range(1, env.height - 1):
                kind = env.grid[x, y] & TYPE
                if env.reached[x, y] and (kind == 0 or kind == DOOR):
                    for side in range(4):
                        p, q = find_neighbour(x, y, side)
                        if not env.reached[p, q]:
                            env.reached[p, q] = has_changed = True
    for x in range(env.width):
        for y in range(env.height):
            thing = env.grid[x, y]
            if thing != 0 and thing != WALL and not env.reached[x, y]:
                return False
    return True


class RoomGrid(MiniGrid):
    """A MiniGrid game in rooms."""

    room_size: int = 7
    num_rows: int = 3
    num_cols: int = 3

    state = {
        **MiniGrid.state,
        "gates": (np.int16, ("num_cols", "num_rows", 2)),
        "doors": (np.bool_, ("num_cols", "num_rows", 4)),
        "locked_rooms": (np.bool_, ("num_cols", "num_rows")),
        "num_things": np.int16,
        "reached": (np.bool_, ("width", "height")),
    }

    @property
    def width(self):
        return (self.room_size - 1) * self.num_cols + 1

    @property
    def height(self):
        return (self.room_size - 1) * self.num_rows + 1
