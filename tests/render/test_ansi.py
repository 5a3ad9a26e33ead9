"""Grids as coloured text: runs of a colour, characters without colours."""

import numpy as np

from roll_vec.render.ansi import (
    colour_grid,
    paint,
    strip_colours,
)

LOOKUP = {0: " # ", 1: " _ ", 5: " P "}
COLOURS = {0: "90", 1: "2", 5: "1;36"}
GRID = np.array([[0, 0, 1], [5, 1, 0]], dtype=np.uint8)


def test_board_without_colours_is_the_characters():
    text = colour_grid(GRID, LOOKUP, COLOURS, colour=False)
    assert text == " #  #  _ \n P  _  # "


def test_board_with_colours_says_the_same():
    text = colour_grid(GRID, LOOKUP, COLOURS)
    assert strip_colours(text) == colour_grid(GRID, LOOKUP, {}, colour=False)


def test_board_colours_a_run_of_cells_once_and_ends_every_colour():
    text = colour_grid(GRID, LOOKUP, {0: "90", 5: "1;36"})
    first, second = text.split("\n")
    assert first == "\x1b[90m #  # \x1b[0m _ "
    assert second == "\x1b[1;36m P \x1b[0m _ \x1b[90m # \x1b[0m"


def test_board_with_a_code_that_has_no_characters_shows_a_question_mark():
    assert colour_grid(np.array([[9]], dtype=np.uint8), LOOKUP, {}) == "?"


def test_paint_leaves_text_without_a_colour_alone():
    assert paint("text", "") == "text"
    assert paint("", "31") == ""
    assert paint("text", "31") == "\x1b[31mtext\x1b[0m"
