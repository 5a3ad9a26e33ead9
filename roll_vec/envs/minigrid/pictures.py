"""Pictures of the grid and of the view, as observations and as frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.things import NUM_LOOKS, number_look
from roll_vec.envs.minigrid.tiles import AGENT, NUM_OVERLAYS, SEEN, make_tiles
from roll_vec.envs.minigrid.views import find_thing, find_view_cell, look_at_row
from roll_vec.kernels.rows import Items, Row


@rule
def draw_tile(image: Any, row: int, column: int, tile: Any) -> None:
    """Copy a tile, (S, S, 3), to a place of a picture of such tiles."""
    size = len(tile)
    for k in range(size):
        start = column * size
        image[row * size + k, start : start + size] = tile[k]


@rule
def draw_seen(env: Any, image: Any, tiles: Any, is_view: bool) -> None:
    """Draw the cells that the agent sees, lighter, into the grid or all of the view."""
    size = env.agent_view_size
    ahead = 1 << size // 2
    for j in range(size - 1, -1, -1):
        visible, ahead = look_at_row(env, j, ahead)
        for i in range(size):
            x, y = find_view_cell(env, i, j)
            look = 0
            if visible & 1 << i:
                look = SEEN * NUM_LOOKS + number_look(find_thing(env, x, y))
            if is_view:
                draw_tile(image, j, i, tiles[look])
            elif look > 0 and 0 <= x < env.width and 0 <= y < env.height:
                draw_tile(image, y, x, tiles[look])


@rule
def draw_grid(env: Any, image: Any, tiles: Any) -> None:
    """Draw the grid, the cells that the agent sees lighter, and the agent.

    Parameters
    ----------
    image : (S * height, S * width, 3) array
    tiles : (6 * NUM_LOOKS, S, S, 3) array
        As `make_tiles` returns it.
    """
    for x in range(env.width):
        for y in range(env.height):
            draw_tile(image, y, x, tiles[number_look(env.grid[x, y])])
    if env.highlight:
        draw_seen(env, image, tiles, False)
    look = number_look(env.grid[env.x, env.y])
    draw_tile(image, env.y, env.x, tiles[look + (AGENT + env.direction) * NUM_LOOKS])


@rule
def draw_view(env: Any, image: Any, tiles: Any) -> None:
    """Draw the view, the cells that the agent sees lighter, and the agent.

    Its cell has what the agent carries.  Parameters are those of `draw_grid`; ``image``
    has a tile for each cell of the view.
    """
    draw_seen(env, image, tiles, True)
    look = number_look(env.carrying) + (AGENT + 3) * NUM_LOOKS
    draw_tile(image, env.agent_view_size - 1, env.agent_view_size // 2, tiles[look])


def draw_picture(options: Any, env: Row) -> NDArray[np.uint8]:
    """Return a picture of an environment, as MiniGrid's ``render`` does.

    Returns
    -------
    (H, W, 3) uint8
    """
    # Rules run as Python here: they draw a number for each tile.
    shape, draw = (options.height, options.width), draw_grid
    if options.agent_pov:
        shape, draw = (options.agent_view_size, options.agent_view_size), draw_view
    numbers = np.arange(NUM_OVERLAYS * NUM_LOOKS).reshape(-1, 1, 1, 1)
    codes = np.zeros((*shape, 1), np.int64)
    draw(env, Items(codes), Items(numbers))
    size = options.tile_size
    tiles = make_tiles(size, options.highlight or options.agent_pov)[codes[..., 0]]
    return tiles.swapaxes(1, 2).reshape(shape[0] * size, shape[1] * size, 3)
