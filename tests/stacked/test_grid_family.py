"""The looks of every game's cells: one of each per code, all different, not written."""

import numpy as np
import pytest

from roll_vec.envs.frozen_lake.grid import FROZEN_LAKE
from roll_vec.envs.sokoban.grid import SOKOBAN
from roll_vec.stacked.grid_family import Cell, GridFamily
from tests.stacked.ids import FAMILIES

UNDRAWN = GridFamily(
    cells=(Cell(".", "floor", (1, 2, 3), "2"), Cell("@", "player", (4, 5, 6))),
    action_names=("Wait",),
)
ALL = {**FAMILIES, "undrawn": UNDRAWN}


@pytest.mark.parametrize("family", ALL.values(), ids=ALL)
@pytest.mark.parametrize(("name", "shape"), [("pixels", (3,)), ("tiles", (16, 16, 3))])
def test_tables_are_read_only_pixels_by_code_that_differ(family, name, shape):
    table = getattr(family, name)
    assert table.shape == (family.num_codes, *shape)
    assert table.dtype == np.uint8
    assert len(np.unique(table.reshape(len(table), -1), axis=0)) == len(table)
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0


@pytest.mark.parametrize("family", ALL.values(), ids=ALL)
def test_glyphs_meanings_and_colours_tell_every_code_from_every_other(family):
    codes = list(range(family.num_codes))
    for by_code in (family.glyphs, family.colours):
        assert list(by_code) == codes
        assert len(set(by_code.values())) == len(codes)
    assert list(family.meanings) == list(family.glyphs.values())
    assert len(set(family.meanings.values())) == len(codes)


def test_families_without_drawings_have_squares_of_their_pixels():
    np.testing.assert_array_equal(UNDRAWN.tiles[:, 7, 3], UNDRAWN.pixels)


def test_actions_are_counted_from_the_first():
    assert SOKOBAN.action_lookup(1) == {1: "Up", 2: "Down", 3: "Left", 4: "Right"}
    assert FROZEN_LAKE.action_lookup(0) == {0: "Left", 1: "Down", 2: "Right", 3: "Up"}


def test_pixels_of_sokoban_are_those_of_gym_sokoban():
    # gym-sokoban 0.0.6 draws these in its tiny_rgb_array mode.
    expected = [
        [0, 0, 0],
        [243, 248, 238],
        [254, 126, 125],
        [254, 95, 56],
        [142, 121, 56],
        [160, 212, 56],
        [219, 212, 56],
    ]
    np.testing.assert_array_equal(SOKOBAN.pixels, expected)
