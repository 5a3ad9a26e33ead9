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


def test_window_opens_enlarges_frames_follows_their_size_and_closes(pygame):
    window = Window("a title", size=100)
    window.close()
    assert not window.is_open
    assert not pygame.display.get_init()
    assert window.show(FRAME)
    assert window.is_open
    # The largest whole number of times that 16 columns go into 100 pixels is 6.
    np.testing.assert_array_equal(screen_of(pygame), FRAME.repeat(6, 0).repeat(6, 1))
    assert pygame.display.get_caption()[0] == "a title"
    # One that is larger than the window is shown as it is.
    window.show(np.full((120, 120, 3), 7, dtype=np.uint8), fps=1000)
    assert screen_of(pygame).shape == (120, 120, 3)
    for duplicate in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        twin = duplicate(window)
        assert (twin.title, twin.size, twin.is_open) == ("a title", 100, False)
        assert window.is_open
    window.close(), window.close()
    assert not window.is_open
    assert not pygame.display.get_init()
    assert window.show(FRAME)


def test_window_of_a_batch_says_how_much_of_it_is_seen(pygame):
    for num_envs, title in ((16, "roll_vec"), (1600, "roll_vec: 16 of 1,600")):
        env = gymnasium.make_vec(
            "roll_vec/FrozenLake-v1", num_envs=num_envs, render_mode="human"
        )
        env.metadata["render_fps"] = 0
        env.reset(seed=0)
        assert pygame.display.get_caption()[0] == title
        env.close()


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


def test_window_names_what_is_missing(monkeypatch):
    with pytest.raises(InvalidOptionError, match=r"not \(8, 16\)"):
        Window().show(FRAME[..., 0])
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[render\]"'):
        Window().show(FRAME)
