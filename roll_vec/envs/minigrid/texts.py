"""Texts of states: what the agent sees, and the grid as characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.minigrid.things import (
    COLOUR_NAMES,
    DOOR,
    EMPTY,
    STATE,
    STATE_NAMES,
    TYPE,
    TYPE_NAMES,
    WALL,
)
from roll_vec.kernels.rows import Row

_WALL = WALL & TYPE
_LETTERS = dict(zip(TYPE_NAMES[2:10], "WFDKABGV", strict=True))
_AGENTS = ">V<^"


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
                texts.append(f"You see a {_name(kind, *looks)} {steps}")
    seen = ", ".join(texts) or "You see nothing"
    return f"Goal of the agent: {mission}\nObservation: {seen}"


def _name(kind: int, colour: int, state: int) -> str:
    name = f"{COLOUR_NAMES[colour]} {TYPE_NAMES[kind]}"
    return f"{STATE_NAMES[state]} {name}" if kind == DOOR else name


def print_grid(env: Row) -> str:
    """Return the grid as text, two characters a cell, as ``pprint_grid`` does."""
    rows = [
        [_print_thing(thing) for thing in column]
        for column in env.grid.array.T.tolist()
    ]
    rows[env.y][env.x] = 2 * _AGENTS[env.direction]
    return "\n".join(map("".join, rows))


def _print_thing(thing: int) -> str:
    kind, state = thing & TYPE, thing & STATE
    if kind <= EMPTY:
        return "  "
    colour = COLOUR_NAMES[thing >> 4 & 7][0].upper()
    if kind == DOOR:
        return ("__", f"D{colour}", f"L{colour}")[state >> 7]
    return _LETTERS[TYPE_NAMES[kind]] + colour
