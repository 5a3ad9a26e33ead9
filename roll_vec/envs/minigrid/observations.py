"""Modes of observations: their spaces, and the rules that write them.

Each is equal to what a wrapper of MiniGrid returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space, Text

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.pictures import draw_grid, draw_view
from roll_vec.envs.minigrid.things import AGENT, TYPE
from roll_vec.envs.minigrid.views import write_code, write_view

MISSION_LENGTH = 400
# Of a cell of `one_hot`: 11 types, 6 colours, 3 states.
NUM_TYPES, NUM_BITS = 11, 20


@rule
def observe_parts(env: Any, out: Any) -> None:
    out.direction = env.direction
    write_view(env, out.image)


@rule
def observe_image(env: Any, out: Any) -> None:
    write_view(env, out)


@rule
def observe_one_hot(env: Any, out: Any) -> None:
    out.direction = env.direction
    write_view(env, out.image)
    for i in range(env.agent_view_size):
        for j in range(env.agent_view_size):
            kind, colour, state = out.image[i, j, :3]
            out.image[i, j, :3] = 0
            out.image[i, j, kind] = 1
            out.image[i, j, NUM_TYPES + colour] = 1
            out.image[i, j, NUM_TYPES + 6 + state] = 1


@rule
def observe_full(env: Any, out: Any) -> None:
    out.direction = env.direction
    for x in range(env.width):
        for y in range(env.height):
            write_code(out.image, x, y, env.grid[x, y])
    out.image[env.x, env.y] = AGENT, 0, env.direction


@rule
def observe_symbols(env: Any, out: Any) -> None:
    out.direction = env.direction
    for x in range(env.width):
        for y in range(env.height):
            kind = env.grid[x, y] & TYPE
            out.image[x, y] = x, y, kind if kind > 0 else -1
    out.image[env.x, env.y, 2] = AGENT


@rule
def observe_picture(env: Any, out: Any) -> None:
    out.direction = env.direction
    draw_grid(env, out.image, env.tiles)


@rule
def observe_view_picture(env: Any, out: Any) -> None:
    out.direction = env.direction
    draw_view(env, out.image, env.tiles)


OBS_MODES = {
    "dict": "MiniGrid's image, direction and mission",
    "image": "the image alone, as ImgObsWrapper",
    "full": "the image is that of the whole grid, as FullyObsWrapper",
    "one_hot": "the image has a plane for each type, colour and state, as "
    "OneHotPartialObsWrapper",
    "symbolic": "the image has x, y and the type of each cell, -1 where it is empty, "
    "as SymbolicObsWrapper",
    "text": "the mission, and what the agent sees, as BabyAI-Text",
    "rgb": "the image is a picture of the grid, as RGBImgObsWrapper",
    "rgb_view": "the image is a picture of the view, as RGBImgPartialObsWrapper",
}
OBSERVERS = {
    "dict": observe_parts,
    "image": observe_image,
    "full": observe_full,
    "one_hot": observe_one_hot,
    "symbolic": observe_symbols,
    "rgb": observe_picture,
    "rgb_view": observe_view_picture,
    # Of which `texts` makes the text.
    "text": observe_image,
}


def make_space(options: Any) -> Space[Any]:
    """Return the space of observations of these options."""
    size, pixels = options.agent_view_size, options.obs_tile_size
    columns, rows = options.width, options.height
    shape = {
        "full": (columns, rows, 3),
        "one_hot": (size, size, NUM_BITS),
        "rgb": (rows * pixels, columns * pixels, 3),
        "rgb_view": (size * pixels, size * pixels, 3),
    }.get(options.obs_mode, (size, size, 3))
    image: Space[Any] = Box(0, 255, shape, np.uint8)
    if options.obs_mode in ("image", "text"):
        return image
    if options.obs_mode == "symbolic":
        low, high = np.zeros((2, columns, rows, 3), np.int64)
        low[..., 2], high[...] = -1, (columns - 1, rows - 1, AGENT)
        image = Box(low, high, dtype=np.int64)  # type: ignore[arg-type]
    mission = Text(MISSION_LENGTH, charset=" ,abcdefghijklmnopqrstuvwxyz")
    return Dict({"image": image, "direction": Discrete(4), "mission": mission})
