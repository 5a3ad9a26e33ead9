"""Classic control beside Gymnasium's, for the same seeds and actions.

Both are equal to the bit where numpy and the C library have the same sine, as on Linux;
elsewhere each step is within one unit in the last place, from the same state.
"""

import math

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import roll_vec
from roll_vec.envs.cart_pole import CartPole
from tests.conftest import JIT_OFF

# The class, its step limit, and keywords.
GAMES = {"CartPole-v1": (CartPole, 500, {"sutton_barto_reward": True})}
STATE = {"CartPole-v1": ("x", "x_dot", "theta", "theta_dot")}
_ANGLES = np.random.default_rng(0).uniform(-5, 5, 10_000)
IS_SAME_SINE = all(
    np.sin(angle) == math.sin(angle) and np.cos(angle) == math.cos(angle)
    for angle in _ANGLES
)
each_game = pytest.mark.parametrize("name", GAMES)


@pytest.fixture(scope="module", autouse=True)
def _registered():
    for name, (cls, max_episode_steps, _) in GAMES.items():
        roll_vec.register(f"tests_games/{name}", cls, max_episode_steps, force=True)


def assert_equal(ours, theirs):
    """Compare observations, rewards or flags, and their dtypes."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype
    if IS_SAME_SINE or ours.dtype == bool:
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_array_max_ulp(ours, theirs, 1)


def draw_actions(rng, space, num_steps):
    """Return random actions that stay for some steps, so that most states are met."""
    lengths = rng.integers(1, 12, num_steps)
    actions = np.array([space.sample() for _ in range(num_steps)])
    return np.repeat(actions, lengths, axis=0)[:num_steps]


@each_game
def test_steps_equal_gymnasiums_from_the_same_state(name):
    keywords = GAMES[name][2]
    for options in ({}, keywords):
        ours = gymnasium.make(f"tests_games/{name}", **options).unwrapped
        theirs = gymnasium.make(name, **options).unwrapped
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        rng = np.random.default_rng(1)
        theirs.action_space.seed(1)
        terminated = True
        for action in draw_actions(rng, theirs.action_space, 300 if JIT_OFF else 3000):
            if terminated:
                seed = int(rng.integers(2**63))
                assert_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
            theirs.state = np.array([getattr(ours, each) for each in STATE[name]])
            mine, other = ours.step(action), theirs.step(action)
            for one, another in zip(mine[:3], other[:3], strict=True):
                assert_equal(one, another)
            assert type(mine[1]) is float
            assert mine[4] == other[4]
            terminated = mine[2]


@pytest.mark.skipif(not IS_SAME_SINE, reason="numpy's sine is not the C library's here")
@each_game
@pytest.mark.parametrize("mode", AutoresetMode)
def test_batches_equal_gymnasiums(name, mode):
    num_envs, limit = 5, 60
    envs = roll_vec.make_vec(
        f"tests_games/{name}", num_envs, max_episode_steps=limit, autoreset_mode=mode
    )
    originals = SyncVectorEnv(
        [lambda: gymnasium.make(name, max_episode_steps=limit)] * num_envs,
        autoreset_mode=mode,
    )
    assert_equal(envs.reset(seed=7)[0], originals.reset(seed=7)[0])
    rng = np.random.default_rng(2)
    envs.action_space.seed(2)
    num_ends = 0
    for actions in draw_actions(rng, envs.action_space, 150):
        mine, other = envs.step(actions), originals.step(actions)
        for one, another in zip(mine[:4], other[:4], strict=True):
            assert_equal(one, another)
        ends = mine[2] | mine[3]
        num_ends += ends.sum()
        assert mine[4].keys() == other[4].keys()
        for i in np.flatnonzero(ends) if mode is AutoresetMode.SAME_STEP else ():
            assert_equal(mine[4]["final_obs"][i], other[4]["final_obs"][i])
        if mode is AutoresetMode.DISABLED and ends.any():
            begins = {"reset_mask": ends}
            assert_equal(
                envs.reset(options=begins)[0], originals.reset(options=dict(begins))[0]
            )
    assert num_ends >= num_envs
