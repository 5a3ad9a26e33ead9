"""Rules that write what the agent sees."""

from __future__ import annotations

from typing import Any

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.steps import is_shut
from roll_vec.envs.minigrid.things import CODE, EMPTY, TYPE, WALL


@rule
def look_along(visible: int, is_open: int, size: int) -> Any:
    """Return the visible cells of a row of the view, and of the row ahead.

    A row is a number with a bit for each cell.  This is ``Grid.process_vis``: a cell
    that is visible and open shows its neighbours and those ahead, first from the left
    to the right, then back.
    """
    right, left = is_open & (1 << size - 1) - 1, is_open & (1 << size) - 2
    for _ in range(size - 1):
        visible |= (visible & right) << 1
    ahead = visible & right | (visible & right) << 1
    for _ in range(size - 1):
        visible |= (visible & left) >> 1
    return visible, ahead | visible & left | (visible & left) >> 1


@rule
def write_code(image: Any, i: int, j: int, thing: int) -> None:
    """Write the type, the colour and the state of a thing."""
    image[i, j, 0] = thing & TYPE if thing & TYPE else EMPTY
    image[i, j, 1] = thing >> 4 & 7
    image[i, j, 2] = thing >> 7 & 3


@rule
def write_view(env: Any, image: Any) -> None:
    """Write what the agent sees, (S, S, 3); cells that it does not see stay 0."""
    d = env.direction
    dx, dy = (d == 0) - (d == 2), (d == 1) - (d == 3)
    size, half = env.agent_view_size, env.agent_view_size // 2
    visible = 1 << half
    for j in range(size - 1, -1, -1):
        x = env.x + dx * (size - 1 - j) + dy * half
        y = env.y + dy * (size - 1 - j) - dx * half
        shut, codes = 0, 0  # of a row: 1 and 9 bits for each cell
        for i in range(size):
            thing = WALL
            if 0 <= x < env.width and 0 <= y < env.height:
                thing = env.grid[x, y]
            shut |= int(thing == WALL or is_shut(thing)) << i
            codes |= (thing & CODE) << 9 * i
            x -= dy
            y += dx
        ahead = -1
        if env.see_through_walls:
            visible = -1
        else:
            visible, ahead = look_along(visible, ~shut, size)
        for i in range(size):
            if visible & 1 << i:
                write_code(image, i, j, codes >> 9 * i)
        visible = ahead
    write_code(image, half, size - 1, env.carrying)
