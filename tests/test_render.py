"""Pictures: mosaics and their files, tiles, coloured text, windows."""

import pickle
import sys

import numpy as np
import pytest

import roll_vec  # noqa: F401  registers the ids
from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.render.mosaic import mosaic, save_picture, upscale
from roll_vec.render.window import Window


def frames(count, height=4, width=4):
    return [np.full((height, width, 3), i + 1, dtype=np.uint8) for i in range(count)]


def test_mosaics_show_each_frame_whole_and_once_in_their_layout():
    for count in (1, 2, 3, 5, 16, 17):
        picture = mosaic(frames(count), scale=2)
        shown = np.bincount(picture[..., 0].ravel(), minlength=256)[1 : count + 1]
        assert shown.tolist() == [64] * count
    frame = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    np.testing.assert_array_equal(upscale(frame, 3), frame.repeat(3, 0).repeat(3, 1))
    # Gaps of 8 pixels are on every side.
    picture = mosaic(frames(4))
    assert (picture.shape, picture.dtype) == ((32, 32, 3), np.uint8)
    assert picture[8::12, 8::12, 0].tolist() == [[1, 2], [3, 4]]
    edges = (picture[:8], picture[-8:], picture[:, :8], picture[:, 12:20])
    assert all((edge == picture[0, 0]).all() for edge in edges)
    # Nearly square, also with wide frames.
    height, width = mosaic(frames(16, height=10, width=40)).shape[:2]
    assert 0.5 <= height / width <= 2
    # Smaller frames are centred.
    picture = mosaic([*frames(1, 2, 2), *frames(2)[1:]])
    top, left = np.argwhere(picture[..., 0] == 1).min(0) % 12
    assert (top, left) == (9, 9)


def test_picture_files(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    # A view that is not contiguous.
    picture = mosaic(frames(3))[:, ::-1]
    for suffix, expected in ((".png", "PNG"), (".BMP", "BMP")):
        save_picture(tmp_path / f"picture{suffix}", picture)
        with image.open(tmp_path / f"picture{suffix}") as saved:
            assert saved.format == expected
            np.testing.assert_array_equal(np.asarray(saved), picture)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r'pip install "roll-vec\[cli\]"'):
        save_picture(tmp_path / "picture.png", picture)


FRAME = np.zeros((8, 16, 3), dtype=np.uint8)
FRAME[0, -1] = 255, 128, 0


@pytest.fixture
def display(monkeypatch):
    """Return pygame's display on SDL's driver without a screen."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    # A renderer of Gymnasium may have opened it.
    pygame.display.quit()
    yield pygame.display
    pygame.display.quit()


def pixels_of(display):
    """Return the pixels on the display, (H, W, 3)."""
    from pygame import surfarray

    return surfarray.array3d(display.get_surface()).transpose(1, 0, 2)


def test_window_opens_enlarges_frames_follows_their_size_and_closes(display):
    window = Window("a title", size=100)
    window.close()
    assert not window.is_open
    assert not display.get_init()
    assert window.show(FRAME)
    assert window.is_open
    # The largest whole number of times that 16 columns go into 100 pixels is 6.
    np.testing.assert_array_equal(pixels_of(display), FRAME.repeat(6, 0).repeat(6, 1))
    assert display.get_caption()[0] == "a title"
    # One that is larger than the window is shown as it is.
    window.show(np.full((120, 120, 3), 7, dtype=np.uint8), fps=1000)
    assert pixels_of(display).shape == (120, 120, 3)
    # One that is larger than a screen loses pixels.
    window.show(np.full((400, 200, 3), 7, dtype=np.uint8))
    assert pixels_of(display).shape == (134, 67, 3)
    twin = pickle.loads(pickle.dumps(window))
    assert (twin.title, twin.size, twin.is_open) == ("a title", 100, False)
    assert window.is_open
    for _ in range(2):
        window.close()
    assert not window.is_open
    assert not display.get_init()
    assert window.show(FRAME)


def test_a_window_is_closed_by_the_user_and_not_by_another_owner(display):
    import pygame

    window = Window()
    window.show(FRAME)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    for _ in range(2):
        assert not window.show(FRAME)
        assert not window.is_open
    assert not display.get_init()
    first, second = Window("first"), Window("second")
    first.show(FRAME)
    second.show(FRAME)
    assert not first.is_open
    first.close()
    assert second.is_open
    assert display.get_caption()[0] == "second"


def test_window_names_what_is_missing(monkeypatch):
    with pytest.raises(InvalidOptionError, match=r"not \(8, 16\)"):
        Window().show(FRAME[..., 0])
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtraError, match=r'pip install "roll-vec\[render\]"'):
        Window().show(FRAME)
