"""Modes of observations: their spaces, and the rules that write them.

Each is equal to what a wrapper of MiniGrid returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space, Text
from numpy.typing import NDArray

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.pictures import draw_grid, draw_view
from roll_vec.envs.minigrid.things import AGENT, EMPTY, TYPE
from roll_vec.envs.minigrid.views import (
    find_thing,
    find_view_cell,
    look_at_row,
    write_code,
    write_view,
)
from roll_vec.errors import UnsupportedError

# The longest mission, and the longest in observations that are vectors.
MISSION_LENGTH, MAX_LETTERS = 400, 96
_ALPHABET = "abcdefghijklmnopqrstuvwxyz ,"
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
def spread_codes(env: Any, image: Any) -> None:
    """Make a view one-hot, (S, S, 20); the first three numbers of a cell are codes."""
    for i in range(env.agent_view_size):
        for j in range(env.agent_view_size):
            kind, colour, state = image[i, j, :3]
            image[i, j, :3] = 0
            image[i, j, kind] = 1
            image[i, j, NUM_TYPES + colour] = 1
            image[i, j, NUM_TYPES + 6 + state] = 1


@rule
def observe_one_hot(env: Any, out: Any) -> None:
    out.direction = env.direction
    write_view(env, out.image)
    spread_codes(env, out.image)


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
def observe_flat(env: Any, out: Any) -> None:
    # The letters of the mission follow later, see `encode_letters`.
    size, visible, ahead = env.agent_view_size, 0, 1 << env.agent_view_size // 2
    for j in range(size - 1, -1, -1):
        visible, ahead = look_at_row(env, j, ahead)
        for i in range(size):
            thing = find_thing(env, *find_view_cell(env, i, j))
            if i == size // 2 and j == size - 1:
                thing = env.carrying
            if visible & 1 << i:
                first, kind = 3 * (i * size + j), max(thing & TYPE, EMPTY)
                out[first : first + 3] = kind, thing >> 4 & 7, thing >> 7 & 3


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
    "one_hot": "the image with 20 planes, as OneHotPartialObsWrapper",
    "symbolic": "x, y and type of each cell, -1 if empty, as SymbolicObsWrapper",
    "flat": "the image and the letters of the mission as one vector, as FlatObsWrapper",
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
    "flat": observe_flat,
    # Of which `texts` makes the text.
    "text": observe_image,
}


def encode_letters(mission: str) -> NDArray[np.uint8]:
    """Return the letters of a mission, one-hot, as an array of one axis.

    Raises
    ------
    UnsupportedError
        For a mission of more than `MAX_LETTERS` letters, as MiniGrid refuses it.
    """
    if len(mission) > MAX_LETTERS:
        message = (
            f"obs_mode='flat': expected missions of at most {MAX_LETTERS} letters, got "
            f"{len(mission)}: {mission!r}"
        )
        raise UnsupportedError(message)
    letters = np.zeros((MAX_LETTERS, len(_ALPHABET)), np.uint8)
    for place, letter in enumerate(mission.lower()):
        letters[place, _ALPHABET.index(letter)] = 1
    return letters.ravel()


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
    if options.obs_mode == "flat":
        length = size * size * 3 + MAX_LETTERS * len(_ALPHABET)
        return Box(0, 255, (length,), np.uint8)
    image: Space[Any] = Box(0, 255, shape, np.uint8)
    if options.obs_mode in ("image", "text"):
        return image
    if options.obs_mode == "symbolic":
        low, high = np.zeros((2, columns, rows, 3), np.int64)
        low[..., 2], high[...] = -1, (columns - 1, rows - 1, AGENT)
        image = Box(low, high, dtype=np.int64)
    # Playground's mission is empty.
    mission = Text(MISSION_LENGTH, min_length=0, charset=_ALPHABET)
    return Dict({"image": image, "direction": Discrete(4), "mission": mission})
