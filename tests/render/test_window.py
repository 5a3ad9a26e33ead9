import copy
import pickle
import sys

import numpy as np
import pytest

from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.render.window import Window

FRAME = np.zeros((8, 16, 3), dtype=np.uint8)
FRAME[0, -1] = 255, 128, 0


@pytest.fixture
def pygame(monkeypatch):
    """pygame on SDL's display without a screen."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    yield pygame
    pygame.display.quit()


def screen_of(pygame):
    return pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)


def test_window_opens_at_the_first_frame_and_enlarges_it(pygame):
    window = Window("a title", size=100)
    assert not window.is_open
    assert not pygame.display.get_init()
    assert window.show(FRAME)
    assert window.is_open
    # The largest whole number of times that 16 columns go into 100 pixels is 6.
    screen = screen_of(pygame)
    assert screen.shape == (48, 96, 3)
    np.testing.assert_array_equal(screen, FRAME.repeat(6, axis=0).repeat(6, axis=1))
    assert pygame.display.get_caption()[0] == "a title"


def test_window_follows_a_frame_of_another_size(pygame):
    window = Window(size=16)
    window.show(FRAME, fps=1000)
    window.show(np.full((40, 40, 3), 7, dtype=np.uint8), fps=1000)
    assert screen_of(pygame).shape == (40, 40, 3)


def test_window_closed_twice_and_shown_again_opens_again(pygame):
    window = Window()
    window.close()
    window.show(FRAME)
    window.close()
    window.close()
    assert not window.is_open
    assert not pygame.display.get_init()
    assert window.show(FRAME)


def test_window_closed_by_the_user_drops_what_follows(pygame):
    window = Window()
    window.show(FRAME)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert not window.show(FRAME)
    assert not window.is_open
    assert not window.show(FRAME)
    assert not pygame.display.get_init()
    window.close()


def test_window_of_another_owner_is_not_closed(pygame):
    first, second = Window("first"), Window("second")
    first.show(FRAME)
    second.show(FRAME)
    assert not first.is_open
    first.close()
    assert second.is_open
    assert pygame.display.get_caption()[0] == "second"


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda window: pickle.loads(pickle.dumps(window))]
)
def test_window_is_copied_without_what_is_on_the_screen(pygame, duplicate):
    window = Window("title", size=50)
    window.show(FRAME)
    twin = duplicate(window)
    assert (twin.title, twin.size, twin.is_open) == ("title", 50, False)
    assert window.is_open


def test_window_refuses_what_is_no_frame():
    with pytest.raises(InvalidOptionError, match=r"not \(8, 16\)"):
        Window().show(FRAME[..., 0])


def test_window_without_pygame_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[render\]"'):
        Window().show(FRAME)
