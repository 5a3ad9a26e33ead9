"""Windows: opening, closing by the user, one display for a process, copies."""

import copy
import pickle
import sys

import gymnasium
import numpy as np
import pytest

import roll_vec  # noqa: F401  registers the ids
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
    """Return the pixels on the display, (H, W, 3)."""
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


def test_window_of_a_batch_says_how_much_of_it_is_seen(pygame):
    def title(num_envs):
        env = gymnasium.make_vec(
            "roll_vec/FrozenLake-v1", num_envs=num_envs, render_mode="human"
        )
        env.metadata["render_fps"] = 0
        env.reset(seed=0)
        shown = pygame.display.get_caption()[0]
        env.close()
        return shown

    assert title(16) == "roll_vec"
    assert title(4096) == "roll_vec: 16 of 4,096"


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
