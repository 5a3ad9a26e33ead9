"""Tile art: shapes, read-only arrays, codes that look different."""

import subprocess
import sys

import numpy as np
import pytest

from roll_vec.render import tiles

ALL = {
    "SOKOBAN_TILES": (7, 16, 16, 3),
    "FROZEN_LAKE_TILES": (6, 16, 16, 3),
}


@pytest.mark.parametrize(("name", "shape"), ALL.items())
def test_tiles_are_read_only_pixels_by_code(name, shape):
    array = getattr(tiles, name)
    assert array.shape == shape
    assert array.dtype == np.uint8
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 0


@pytest.mark.parametrize("name", ALL)
def test_tiles_of_different_codes_differ(name):
    array = getattr(tiles, name)
    assert len(np.unique(array.reshape(len(array), -1), axis=0)) == len(array)


def test_tiles_show_the_same_figure_on_different_ground():
    # The middle of the player covers the ground; the corners show it.
    floor, target, player, on_target = tiles.SOKOBAN_TILES[[1, 2, 5, 6]]
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
