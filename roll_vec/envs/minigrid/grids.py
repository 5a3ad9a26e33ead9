"""Rules that draw levels: walls, things on random cells, and the agent."""

from __future__ import annotations

from typing import Any

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.things import COLOURS, KEY, WALL

# Draws of a cell until there is an error: MiniGrid has no bound.  Where one cell of a
# thousand is empty, these miss it with a chance below 10**-400.
ENDLESS = 1 << 20
NO_CELL = "no cell is empty where a thing or the agent should be placed"


@rule
def draw_row(env: Any, x: int, y: int, length: int, thing: int) -> None:
    """Put a thing on each cell from (x, y) to the right."""
    for i in range(length):
        env.grid[x + i, y] = thing


@rule
def draw_column(env: Any, x: int, y: int, length: int, thing: int) -> None:
    """Put a thing on each cell from (x, y) downwards."""
    for j in range(length):
        env.grid[x, y + j] = thing


@rule
def draw_walls(env: Any, x: int, y: int, width: int, height: int) -> None:
    """Put walls around a rectangle; (x, y) is its corner on the left and above."""
    draw_row(env, x, y, width, WALL)
    draw_row(env, x, y + height - 1, width, WALL)
    draw_column(env, x, y, height, WALL)
    draw_column(env, x + width - 1, y, height, WALL)


@rule
def draw_border(env: Any) -> None:
    """Put walls around the grid."""
    draw_walls(env, 0, 0, env.width, env.height)


@rule
def place(
    env: Any, rng: Any, thing: int, box: Any, distance: int, max_tries: int
) -> Any:
    """Put a thing on a random empty cell, and return the cell (x, y).

    The draws are those of ``place_obj``: x, then y, until a cell is empty.

    Parameters
    ----------
    box : (left, top, right, bottom)
        The cells to choose from; the last column and row are outside.
    distance : int
        The fewest moves between the cell and the agent; 1: not the agent's cell.
    max_tries : int
        (-1, -1) is returned after so many draws; after `ENDLESS` ones it is an error.
    """
    left, top, right, bottom = box
    for _ in range(max_tries):
        x = rng.integers(max(left, 0), min(right, env.width))
        y = rng.integers(max(top, 0), min(bottom, env.height))
        is_far = abs(x - env.x) + abs(y - env.y) >= distance
        if env.grid[x, y] == 0 and is_far:
            env.grid[x, y] = thing
            return x, y
    if max_tries == ENDLESS:
        raise RuntimeError(NO_CELL)
    return -1, -1


@rule
def place_anywhere(env: Any, rng: Any, thing: int) -> Any:
    """Put a thing on a random empty cell of the grid, and return the cell."""
    return place(env, rng, thing, (0, 0, env.width, env.height), 1, ENDLESS)


@rule
def put_agent(env: Any, x: int, y: int, direction: int) -> None:
    """Put the agent on a cell; directions are right, down, left and up, from 0."""
    env.x, env.y, env.direction = x, y, direction


@rule
def place_agent(env: Any, rng: Any, box: Any) -> None:
    """Put the agent on a random empty cell of a box, in a random direction."""
    put_agent(env, -1, -1, 0)
    x, y = place(env, rng, 0, box, 1, ENDLESS)
    put_agent(env, x, y, rng.integers(4))


@rule
def place_agent_anywhere(env: Any, rng: Any) -> None:
    """Put the agent on a random empty cell of the grid, in a random direction."""
    place_agent(env, rng, (0, 0, env.width, env.height))


@rule
def draw_other_colour(rng: Any, used: int) -> int:
    """Draw a colour that is not used; ``used`` has the bit 1 << number of those."""
    count = 0
    for colour in COLOURS:
        count += not used >> (colour >> 4) & 1
    left, result = rng.integers(count), -1
    for colour in COLOURS:
        if not used >> (colour >> 4) & 1:
            if left == 0:
                result = colour
            left -= 1
    return result


@rule
def draw_object(rng: Any) -> Any:
    """Draw a key, a ball or a box of any colour."""
    return KEY + rng.integers(3) + COLOURS[rng.integers(6)]


@rule
def draw_another_object(env: Any, rng: Any, k: int) -> Any:
    """Draw a key, a ball or a box that is not one of the first k of ``env.objects``."""
    while True:
        thing, is_new = draw_object(rng), True
        for i in range(k):
            is_new &= env.objects[i] != thing
        if is_new:
            return thing
