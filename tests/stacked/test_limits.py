"""Step limits: of ROLL's and Gymnasium's the smaller one holds, in both forms."""

import gymnasium
import numpy as np
import pytest

import roll_vec  # noqa: F401  registers the ids
from tests.gymnasium_versions import LIMIT_ERROR

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
LAKE, LAKE_8X8 = "roll_vec/FrozenLake-v1", "roll_vec/FrozenLake8x8-v1"

# max_steps, max_episode_steps, and the step on which an episode is truncated.
LIMITS = [
    (None, None, 100),
    (None, 7, 7),
    (None, 150, 150),
    (None, -1, None),
    (7, None, 7),
    (150, None, 100),
    (7, 9, 7),
    (9, 7, 7),
    (8, 8, 8),
    (1, 9, 1),
    (9, 1, 1),
    (9, -1, 9),
    (150, -1, 150),
    (130, 140, 130),
]


@pytest.mark.parametrize("id", [SOKOBAN, RANDOM_LAKE])
@pytest.mark.parametrize(("max_steps", "max_episode_steps", "limit"), LIMITS)
def test_the_smaller_limit_holds_in_both_forms(id, max_steps, max_episode_steps, limit):
    keywords = {"max_steps": max_steps, "max_episode_steps": max_episode_steps}
    keywords["action_start"] = 1
    env = gymnasium.make(id, **keywords)
    batch = gymnasium.make_vec(id, num_envs=2, autoreset_mode="Disabled", **keywords)
    env.reset(seed=0)
    batch.reset(seed=0)
    # Action 0 moves nothing, so no episode ends by the rules.
    for t in range(1, (limit or 200) + 1):
        _, _, terminated, truncated, _ = env.step(0)
        _, _, terminations, truncations, _ = batch.step([0, 0])
        assert not terminated
        assert not terminations.any()
        assert truncated == (t == limit)
        assert truncations.tolist() == [t == limit] * 2


@pytest.mark.parametrize(
    ("id", "given", "limit"),
    [(LAKE, None, 100), (LAKE_8X8, None, 200), (LAKE, 7, 7), (LAKE_8X8, -1, None)],
)
def test_fixed_lakes_have_gymnasiums_limits(id, given, limit):
    keywords = {"max_episode_steps": given, "is_slippery": False}
    env = gymnasium.make(id, **keywords)
    batch = gymnasium.make_vec(id, num_envs=2, autoreset_mode="Disabled", **keywords)
    env.reset(seed=0)
    batch.reset(seed=0)
    for t in range(1, (limit or 300) + 1):
        # Against the wall of the first column, for ever.
        _, _, terminated, truncated, _ = env.step(0)
        _, _, terminations, truncations, _ = batch.step([0, 0])
        assert not terminated
        assert not terminations.any()
        assert truncated == (t == limit)
        assert truncations.tolist() == [t == limit] * 2


@pytest.mark.parametrize("id", [SOKOBAN, RANDOM_LAKE])
def test_steps_are_counted_anew_in_each_episode(id):
    keywords = {"max_steps": 3, "action_start": 1}
    env = gymnasium.make(id, max_episode_steps=-1, **keywords)
    batch = gymnasium.make_vec(id, 2, autoreset_mode="SameStep", **keywords)
    env.reset(seed=0)
    batch.reset(seed=0)
    truncated, truncations = [], []
    for t in range(9):
        truncated.append(env.step(0)[3])
        truncations.append(batch.step([0, 0])[3].tolist())
        if t % 3 == 2:
            env.reset()
    assert truncated == [False, False, True] * 3
    assert truncations == [[False] * 2, [False] * 2, [True] * 2] * 3


@pytest.mark.parametrize("id", [SOKOBAN, RANDOM_LAKE])
def test_a_reset_in_mid_episode_starts_the_count_again(id):
    keywords = {"max_steps": 3, "action_start": 1}
    batch = gymnasium.make_vec(id, 2, autoreset_mode="Disabled", **keywords)
    batch.reset(seed=0)
    batch.step([0, 0])
    batch.reset(options={"reset_mask": np.array([True, False])})
    batch.step([0, 0])
    assert batch.step([0, 0])[3].tolist() == [False, True]


@pytest.mark.parametrize("id", [SOKOBAN, LAKE])
@pytest.mark.parametrize("limit", [0, -2, -100])
def test_a_limit_below_one_is_a_value_error_in_both_forms(id, limit):
    with pytest.raises(LIMIT_ERROR, match="max_episode_steps"):
        gymnasium.make(id, max_episode_steps=limit)
    with pytest.raises(ValueError, match="max_episode_steps"):
        gymnasium.make_vec(id, num_envs=2, max_episode_steps=limit)
