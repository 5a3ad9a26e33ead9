"""Codes of the things in cells: a number for each, 0 for an empty cell.

From the lowest bit on: 4 bits of the type, 3 of the colour, 2 of the state of a door, 7
of the number of the thing in its level (0 without one), and 7 of what a box contains,
type and colour.  Types, colours and states have MiniGrid's own numbers.
"""

from __future__ import annotations

from typing import Any

from roll_vec.arrays.rules import rule

TYPE_NAMES = (
    "unseen",
    "empty",
    "wall",
    "floor",
    "door",
    "key",
    "ball",
    "box",
    "goal",
    "lava",
    "agent",
)
COLOUR_NAMES = ("red", "green", "blue", "purple", "yellow", "grey")
STATE_NAMES = ("open", "closed", "locked")

EMPTY, DOOR, KEY, BALL, BOX, AGENT = 1, 4, 5, 6, 7, 10
RED, GREEN, BLUE, PURPLE, YELLOW, GREY = range(0, 6 << 4, 1 << 4)
CLOSED, LOCKED = 1 << 7, 2 << 7
WALL, FLOOR, GOAL, LAVA = 2 + GREY, 3 + BLUE, 8 + GREEN, 9 + RED
# The bits of a type, of type and colour, of a state, and of all that can be seen.
TYPE, LOOKS, STATE, CODE = 15, 127, 3 << 7, 511
NUMBER_BIT, CONTENT_BIT = 9, 16
NUMBERS = 127
# In MiniGrid's order of the names, in which colours are drawn.
COLOURS = (BLUE, GREEN, GREY, PURPLE, RED, YELLOW)
OBJECTS = (KEY, BALL, BOX)
# The looks of things: 0 of an empty cell, then six colours of each of these.
TYPES_AND_STATES = (*((kind, 0) for kind in range(2, 10)), (4, 1), (4, 2))
NUM_LOOKS = 61


@rule
def number_look(thing: Any) -> Any:
    """Return the number of a thing's looks: of its type, colour and state."""
    kind, state = thing & TYPE, thing >> 7 & 3
    if kind <= EMPTY:
        return 0
    return 1 + 6 * (kind - 2 if state == 0 else 7 + state) + (thing >> 4 & 7)


def name_thing(thing: int) -> str:
    """Return the colour and the type of a thing, such as ``red ball``."""
    return f"{COLOUR_NAMES[thing >> 4 & 7]} {TYPE_NAMES[thing & TYPE]}"
