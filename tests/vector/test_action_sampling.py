"""`sample_actions`: random actions of a batch, by a generator of its own."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import roll_vec
from roll_vec.errors import ClosedError, InvalidSeedError

LAKE = "roll_vec/FrozenLake-v1"
MAPS = {"levels": [["SF", "FG"]]}


def make(num_envs=64, env_id=LAKE, **keywords):
    return roll_vec.make_vec(env_id, num_envs=num_envs, **keywords)


def test_actions_are_uniform_and_of_the_space():
    envs = make(4096, "roll_vec/RandomFrozenLake-v0", **MAPS)
    actions = np.array([envs.sample_actions(seed=3), envs.sample_actions()])
    assert actions.dtype == envs.single_action_space.dtype
    assert envs.action_space.contains(actions[0])
    counts = np.bincount(actions.ravel(), minlength=5)
    assert counts[0] == 0
    # 8192 draws, four actions: the deviation of a count is 39.
    assert abs(counts[1:] - 2048).max() < 200
    assert abs((actions[0] == actions[1]).mean() - 0.25) < 0.04


def test_an_action_depends_on_seed_environment_and_call_alone():
    small, large, grouped = make(5), make(64), make(64, group_size=64)
    large.reset(seed=9)
    expected = [large.sample_actions(seed=1)[:5], large.sample_actions()[:5]]
    assert np.array_equal(small.sample_actions(seed=1), expected[0])
    small.reset(seed=2)
    before = small.get_state()
    assert np.array_equal(small.sample_actions(), expected[1])
    # The games do not move by it.
    assert small.get_state() == before
    assert np.array_equal(small.sample_actions(seed=1), expected[0])
    assert not np.array_equal(large.sample_actions(seed=2)[:5], expected[0])
    # Groups get different actions, and without a seed each batch has its own.
    assert len(set(grouped.sample_actions(seed=0).tolist())) == 4
    assert not np.array_equal(make().sample_actions(), make().sample_actions())


def test_a_bad_seed_is_refused_and_nothing_moves():
    envs = make()
    envs.sample_actions(seed=0)
    second = envs.sample_actions()
    envs.sample_actions(seed=0)
    with pytest.raises(InvalidSeedError, match="seed"):
        envs.sample_actions(seed=-1)
    assert np.array_equal(envs.sample_actions(), second)


def test_texts_are_examples():
    envs = make(32, action_mode="text", action_pattern="<a>(.*?)</a>")
    texts = envs.sample_actions(seed=0)
    assert set(texts) == set(envs.single_action_space.examples)
    envs.reset(seed=0)
    assert envs.step(texts)[4]["action_is_valid"].all()


class Thermostat(gymnasium.Env):
    def __init__(self):
        self.observation_space = Box(0, 1, (1,))
        self.action_space = Box(-1, 1, (2,), seed=0)


def test_other_spaces_are_sampled_one_by_one():
    envs = roll_vec.PoolVectorEnv([Thermostat] * 5)
    actions = envs.sample_actions(seed=0)
    assert envs.action_space.contains(actions)
    assert len(np.unique(actions)) == 10
    assert np.array_equal(actions, envs.sample_actions(seed=0))
    fewer = roll_vec.PoolVectorEnv([Thermostat] * 2)
    assert np.array_equal(actions[:2], fewer.sample_actions(seed=0))


def test_a_copy_of_a_batch_goes_on_and_a_closed_one_refuses():
    envs = RecordEpisodeStatistics(make(8)).unwrapped
    envs.sample_actions(seed=0)
    others = [copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))]
    second = envs.sample_actions()
    assert all(np.array_equal(other.sample_actions(), second) for other in others)
    envs.close()
    with pytest.raises(ClosedError):
        envs.sample_actions()
