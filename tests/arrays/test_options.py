"""Keywords and single environments: what the tables over all ids do not say.

`tests/envs/test_keywords.py` has the tables; the contract's lockstep says that single
environments equal the rows of a batch.
"""

import copy
import re

import gymnasium
import numpy as np
import pytest

from roll_vec.arrays.array_env import METADATA, ArrayEnv
from roll_vec.errors import InvalidActionError, InvalidOptionError, InvalidSeedError
from tests.contract.cases import ARRAY_IDS


def make(id, **keywords):
    """Return a single environment without wrappers, after a reset."""
    env = gymnasium.make(id, **keywords).unwrapped
    env.reset(seed=2)
    return env


@pytest.fixture(params=ARRAY_IDS)
def id(request):
    """An id of stacked environments."""
    return request.param


# Each with the end of its message, or a part of it.
BAD_ACTIONS = [
    *((action, "") for action in (True, -1, 99, 2**70, [1], np.array([1, 2]), np.nan)),
    *((action, f"{action!r}(?m:$)") for action in (1.0, None, b"1")),
    ("1", "'1'(?m:$)"),
]


def test_a_bad_action_or_seed_is_named_and_moves_nothing(id):
    env, twin = make(id), make(id)
    high = int(env.action_space.start + env.action_space.n) - 1
    for action, shown in (*BAD_ACTIONS, (high + 1, "")):
        with pytest.raises(InvalidActionError, match=f"from 0 to {high}, got {shown}"):
            env.step(action)
    for seed in (-1, -(2**40), 1.5, "7", [1]):
        with pytest.raises(InvalidSeedError, match=r"seed: .* got"):
            env.reset(seed=seed)
        with pytest.raises(gymnasium.error.Error, match=r"seed: .* got"):
            gymnasium.make(id).unwrapped.reset(seed=seed)
    # Integers of any kind are actions.
    for kind in (np.int8, np.uint8, np.int64, np.array):
        assert repr(env.step(kind(high))) == repr(twin.step(high))
    assert env.num_env_steps == twin.num_env_steps == 4
    assert repr(env.reset()) == repr(twin.reset())
    assert env.num_env_steps == 0


def test_no_colour_is_asked_for_by_a_variable(id, monkeypatch):
    env = make(id, render_mode="ansi")
    monkeypatch.setenv("NO_COLOR", "1")
    plain = env.render()
    assert plain == make(id, render_mode="text").render()
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b" in env.render()
    assert re.sub(r"\x1b\[[0-9;]*m", "", env.render()) == plain


def test_without_a_mode_rendering_warns_and_says_which_there_are(id):
    env = make(id)
    with pytest.warns(UserWarning, match="without a render_mode.*'rgb_array'.*'text'"):
        assert env.render() is None


def test_human_mode_shows_every_reset_and_step(id, monkeypatch):
    shown, closed = [], []

    class FakeWindow:
        def show(self, frame, fps):
            shown.append(frame)

        def close(self):
            closed.append(self)

    monkeypatch.setattr("roll_vec.render.window.Window", FakeWindow)
    env, twin = make(id, render_mode="human"), make(id, render_mode="rgb_array")
    assert env.metadata["render_modes"] == METADATA["render_modes"]
    np.testing.assert_array_equal(shown[-1], twin.render())
    env.step(1)
    twin.step(1)
    np.testing.assert_array_equal(shown[-1], twin.render())
    assert len(shown) == 2
    assert env.render() is None
    assert len(shown) == 3
    # The window is no state: a copy has none, and opens its own.
    copy.deepcopy(env).close()
    assert not closed
    env.close()
    env.close()
    assert len(closed) == 1


class Start(ArrayEnv):
    """A start that may be drawn."""

    place: tuple[int, int] | None = (1, 1)
    size: int = 4


def test_an_option_may_be_none_where_its_type_has_none():
    assert Start(place=None).place is None
    assert Start(place=[2, 3]).place == [2, 3]
    with pytest.raises(InvalidOptionError, match=r"place: expected a tuple, .* got 3"):
        Start(place=3)
    with pytest.raises(InvalidOptionError, match="size: expected an integer, got None"):
        Start(size=None)
