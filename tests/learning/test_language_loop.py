"""docs/examples/language_loop.py: its picture, which needs matplotlib."""

import matplotlib.image
import pytest

pytestmark = pytest.mark.learning


def test_the_picture_has_a_line_for_each_family(example, tmp_path):
    row = {"return": 1.0}
    entry = {"families": {"Sokoban": row, "Countdown": row}, "advantages": [1.0, -1.0]}
    example("language_loop").save_picture([entry, entry], tmp_path / "loop.png")
    pixels = matplotlib.image.imread(tmp_path / "loop.png")
    assert pixels.shape == (350, 900, 4)
    colours = {tuple((255 * pixel[:3]).round()) for pixel in pixels.reshape(-1, 4)}
    # The first two of matplotlib's cycle.
    assert {(31, 119, 180), (255, 127, 14)} <= colours
