"""Mosaics and picture files: layout, sizes, formats, refused values."""

import sys

import numpy as np
import pytest

from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.render.mosaic import mosaic, save_picture, upscale


def frames(count, height=4, width=4):
    """Return frames of different greys."""
    return [np.full((height, width, 3), i + 1, dtype=np.uint8) for i in range(count)]


def test_upscale_makes_every_pixel_a_square():
    frame = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    np.testing.assert_array_equal(upscale(frame, 3), frame.repeat(3, 0).repeat(3, 1))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 16, 17])
def test_mosaic_shows_each_frame_whole_and_once(count):
    picture = mosaic(frames(count), scale=2, background=(0, 0, 0))
    shown = np.bincount(picture[..., 0].ravel(), minlength=count + 1)[1:]
    assert shown.tolist() == [64] * count


def test_layout_of_mosaics():
    picture = mosaic(frames(4), gap=1, background=(0, 0, 0))
    assert (picture.shape, picture.dtype) == ((11, 11, 3), np.uint8)
    assert picture[1::5, 1::5, 0].tolist() == [[1, 2], [3, 4]]
    # Gaps are on every side.
    picture = mosaic(frames(2), gap=2, columns=2, background=(9, 8, 7))
    assert picture.shape == (8, 14, 3)
    edges = (picture[:2], picture[-2:], picture[:, :2], picture[:, -2:])
    assert all((edge == (9, 8, 7)).all() for edge in (*edges, picture[:, 6:8]))
    # Nearly square, also with wide frames.
    height, width = mosaic(frames(16, height=10, width=40), gap=0).shape[:2]
    assert 0.5 <= height / width <= 2
    # Smaller frames are centred.
    mixed = [*frames(1, 2, 2), *frames(1, 4, 4)]
    picture = mosaic(mixed, gap=0, columns=2, background=(0, 0, 0))
    assert picture.shape == (4, 8, 3)
    assert (picture[1:3, 1:3] == 1).all()
    assert picture[:, :4].sum() == 2 * 2 * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frames": []}, "at least one"),
        ({"frames": [np.zeros((4, 4), np.uint8)]}, r"frame 0 has shape \(4, 4\)"),
        ({"frames": frames(1), "scale": 0}, "not 0"),
        ({"frames": frames(1), "gap": -1}, "gap=-1"),
        ({"frames": frames(1), "columns": 0}, "columns=0"),
    ],
)
def test_mosaic_of_nonsense_is_an_error_that_says_so(arguments, message):
    with pytest.raises(InvalidOptionError, match=message):
        mosaic(**arguments)


def test_picture_files(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    # A view that is not contiguous.
    picture = mosaic(frames(3))[:, ::-1]
    for suffix, expected in ((".png", "PNG"), (".BMP", "BMP")):
        save_picture(tmp_path / f"picture{suffix}", picture)
        with image.open(tmp_path / f"picture{suffix}") as saved:
            assert saved.format == expected
            np.testing.assert_array_equal(np.asarray(saved), picture)
    for name in ("picture", "picture.out", ".png"):
        with pytest.raises(InvalidOptionError, match=r"\.jpg, \.png, got"):
            save_picture(tmp_path / name, picture)
        assert not (tmp_path / name).exists()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[cli\]"'):
        save_picture(tmp_path / "picture.png", picture)
