"""Tile art and coloured text: shapes, read-only arrays, codes that look different."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from roll_vec.render.ansi import colour_grid, paint, strip_colours
from roll_vec.render.tiles import FROZEN_LAKE_TILES, SOKOBAN_TILES


@pytest.mark.parametrize("tiles", [SOKOBAN_TILES, FROZEN_LAKE_TILES])
def test_tiles_are_told_apart_without_colours(tiles):
    assert (tiles.shape[1:], tiles.dtype) == ((16, 16, 3), np.uint8)
    with pytest.raises(ValueError, match="read-only"):
        tiles[0] = 0
    # CIELAB's lightness, from 0 to 100; sRGB's curve is nearly a power.
    luminances = (tiles / 255) ** 2.2 @ (0.2126, 0.7152, 0.0722)
    lightness = (116 * np.cbrt(luminances) - 16).reshape(len(tiles), -1)
    for one, other in combinations(lightness, 2):
        # At 32 of 256 pixels, ten times the smallest difference that is visible; and
        # the shapes differ, whatever the brightness and the contrast.
        assert (abs(one - other) >= 20).sum() >= 32
        assert np.corrcoef(one, other)[0, 1] <= 0.92


def test_tiles_show_the_same_figure_on_different_ground():
    # The middle of the player covers the ground; the corners show it.
    floor, target, player, on_target = SOKOBAN_TILES[[1, 2, 5, 6]]
    np.testing.assert_array_equal(player[4:14, 6:10], on_target[4:14, 6:10])
    np.testing.assert_array_equal(player[:2, :2], floor[:2, :2])
    np.testing.assert_array_equal(on_target[1:3, 1:3], target[1:3, 1:3])


def test_tiles_are_made_without_pillow_or_pygame():
    code = (
        "import sys, roll_vec.render.tiles\n"
        "import roll_vec.render.mosaic, roll_vec.render.window, roll_vec.render.ansi\n"
        "assert not {'PIL', 'pygame', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_coloured_text():
    lookup, grid = {0: " # ", 1: " _ ", 5: " P "}, np.array([[0, 0, 1], [5, 1, 0]])
    text = " #  #  _ \n P  _  # "
    # A run of cells is coloured once, and every colour ends with its line.
    first, second = (
        "\x1b[90m #  # \x1b[0m _ ",
        "\x1b[1;36m P \x1b[0m _ \x1b[90m # \x1b[0m",
    )
    coloured = colour_grid(grid, lookup, {0: "90", 5: "1;36"})
    assert coloured == f"{first}\n{second}"
    assert strip_colours(coloured) == text
    assert colour_grid(grid, lookup, {0: "90"}, colour=False) == text
    assert colour_grid(np.array([[9]]), lookup, {}) == "?"
    assert (paint("text", ""), paint("", "31")) == ("text", "")
    assert paint("text", "31") == "\x1b[31mtext\x1b[0m"
