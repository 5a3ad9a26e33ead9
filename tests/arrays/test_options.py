"""Keywords and single environments: what the tables over all ids do not say.

`tests/envs/test_keywords.py` has the tables; the contract's lockstep says that single
environments equal the rows of a batch.
"""

import copy
import re

import gymnasium
import numpy as np
import pytest

from roll_vec.arrays.array_env import METADATA
from roll_vec.errors import (
    InvalidActionError,
    InvalidSeedError,
)
from tests.arrays.ids import IDS, LEVEL_IDS, actions_of

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
LAKE, LAKE_8X8 = "roll_vec/FrozenLake-v1", "roll_vec/FrozenLake8x8-v1"


def make(id, **keywords):
    """Return a single environment without wrappers, after a reset."""
    env = gymnasium.make(id, **keywords).unwrapped
    env.reset(seed=2)
    return env


# -------------------------------------------------------------------- what is refused


# --------------------------------------------------------- what is accepted, how


# Of ROLL's and Gymnasium's limit the smaller one holds: id, max_steps,
# max_episode_steps, and the step on which an episode is truncated.
LIMITS = [
    (SOKOBAN, None, None, 100),
    (SOKOBAN, None, -1, None),
    (SOKOBAN, 105, 140, 105),
    (RANDOM_LAKE, 150, None, 100),
    (RANDOM_LAKE, 7, 9, 7),
    (RANDOM_LAKE, 9, 7, 7),
    (RANDOM_LAKE, 9, -1, 9),
    (LAKE_8X8, None, None, 200),
]


@pytest.mark.parametrize(("id", "max_steps", "max_episode_steps", "limit"), LIMITS)
def test_the_smaller_limit_holds_in_both_forms(id, max_steps, max_episode_steps, limit):
    keywords = {"max_episode_steps": max_episode_steps}
    if id in LEVEL_IDS:
        keywords.update(max_steps=max_steps, action_start=1)
    else:
        keywords["is_slippery"] = False
    env = gymnasium.make(id, **keywords)
    batch = gymnasium.make_vec(id, num_envs=2, autoreset_mode="Disabled", **keywords)
    env.reset(seed=0)
    batch.reset(seed=0)
    # Action 0 moves nothing, or leads against the wall of the first column.
    for t in range(1, (limit or 210) + 1):
        _, _, terminated, truncated, _ = env.step(0)
        _, _, terminations, truncations, _ = batch.step([0, 0])
        assert not terminated
        assert not terminations.any()
        assert truncated == (t == limit)
        assert truncations.tolist() == [t == limit] * 2


# ------------------------------------------------------------- single environments


@pytest.fixture(params=IDS)
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
    high = actions_of(id)[-1]
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
