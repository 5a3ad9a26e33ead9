"""Texts of states: what the agent sees, and the grid as characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.minigrid.things import (
    COLOUR_NAMES,
    DOOR,
    EMPTY,
    NUM_LOOKS,
    STATE_NAMES,
    TYPE,
    TYPE_NAMES,
    WALL,
    number_look,
)
from roll_vec.kernels.rows import Row
from roll_vec.render.ansi import colour_grid

_WALL = WALL & TYPE
# Of looks, and behind them of the agent's directions: characters, and parameters of
# `roll_vec.render.ansi`.
_COLOUR_CODES = ("31", "32", "34", "35", "33", "90")
_LETTERS = ("W", "F", "_", "K", "A", "B", "G", "V", "D", "L")
_LOOKS = [letter + name[0].upper() for letter in _LETTERS for name in COLOUR_NAMES]
_LOOKS[12:18] = ["__"] * 6
_GLYPHS = dict(enumerate(["  ", *_LOOKS, ">>", "VV", "<<", "^^"]))
_COLOURS = dict(enumerate(["", *_COLOUR_CODES * len(_LETTERS), *["1;31"] * 4]))


def _count_steps(count: int, side: str) -> str:
    return f"{count} step{'s' if count > 1 else ''} {side}"


def describe(mission: str, image: NDArray[np.uint8]) -> str:
    """Return the mission, and what the agent carries and sees.

    Facts, words and their order are those of BabyAI-Text.  Walls are those that are
    nearest straight ahead, to the left and to the right, with nothing before them.

    Parameters
    ----------
    mission : str
    image : (S, S, 3) uint8
        The view, as `write_view` writes it.
    """
    view: list[list[list[int]]] = image.tolist()
    half, last = len(view) // 2, len(view) - 1
    # What the agent carries.
    (kind, *looks), view[half][last] = view[half][last], [EMPTY, 0, 0]
    texts = [f"You carry a {_name(kind, *looks)}"] if kind != EMPTY else []
    ways = {
        "forward": view[half][-2::-1],
        "left": [column[last] for column in view[half - 1 :: -1]],
        "right": [column[last] for column in view[half + 1 :]],
    }
    for side, cells in ways.items():
        kinds = [(n, cell[0]) for n, cell in enumerate(cells, 1) if cell[0] > EMPTY]
        if kinds and kinds[0][1] == _WALL:
            texts.append(f"You see a wall {_count_steps(kinds[0][0], side)}")
    for i, column in enumerate(view):
        aside, side = abs(i - half), "left" if i < half else "right"
        for j, (kind, *looks) in enumerate(column):
            if kind > _WALL:
                counts = [(aside, side), (last - j, "forward")]
                steps = " and ".join(_count_steps(*each) for each in counts if each[0])
                # As BabyAI-Text, which writes "a" before "open", too.
                texts.append(f"You see a {_name(kind, *looks)} {steps}")
    seen = ", ".join(texts) or "You see nothing"
    return f"Goal of the agent: {mission}\nObservation: {seen}"


def _name(kind: int, colour: int, state: int) -> str:
    name = f"{COLOUR_NAMES[colour]} {TYPE_NAMES[kind]}"
    return f"{STATE_NAMES[state]} {name}" if kind == DOOR else name


def print_grid(env: Row, colour: bool) -> str:
    """Return the grid as text, two characters a cell, as ``pprint_grid`` does."""
    rows = env.grid.array.T.tolist()
    codes = np.array([[number_look(thing) for thing in row] for row in rows])
    codes[env.y, env.x] = NUM_LOOKS + env.direction
    return colour_grid(codes, _GLYPHS, _COLOURS, colour=colour)
