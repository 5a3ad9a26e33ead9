"""Batches behind the interfaces of Stable-Baselines3 and Tianshou, with stand-ins.

`tests/frameworks` compares them with Stable-Baselines3 and Tianshou themselves.
"""

import importlib

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.vector import SyncVectorEnv

from tests.adapters.stand_ins import Monitor

LAKE = "roll_vec/RandomFrozenLake-v0"
KEYWORDS = {"max_episode_steps": 5, "is_slippery": False, "seed_info": True}


@pytest.fixture
def sb3(stand_ins):
    return importlib.import_module("roll_vec.adapters.sb3")


@pytest.fixture
def tianshou(stand_ins):
    return importlib.import_module("roll_vec.adapters.tianshou")


# -------------------------------------------------------------- Stable-Baselines3


def step_one(env, action):
    """Step a single environment, and reset it at its end, as DummyVecEnv does."""
    observation, reward, terminated, truncated, info = env.step(action)
    info["TimeLimit.truncated"] = truncated and not terminated
    reset_info = None
    if terminated or truncated:
        info["terminal_observation"] = observation
        info["is_success"] = info["success"]
        observation, reset_info = env.reset()
    return observation, np.float32(reward), terminated or truncated, info, reset_info


def test_sb3_steps_are_those_of_single_environments(sb3):
    envs = sb3.make_vec_env(LAKE, 6, seed=3, env_kwargs=KEYWORDS, action_start=1)
    short = sb3.make_vec_env(LAKE, 6, 3, KEYWORDS, step_infos=False)
    assert envs.action_space == Discrete(4)
    singles = [gymnasium.make(LAKE, action_start=1, **KEYWORDS) for _ in range(6)]
    starts = [env.reset(seed=3 + i) for i, env in enumerate(singles)]
    np.testing.assert_array_equal(envs.reset(), [start[0] for start in starts])
    short.reset()
    assert envs.reset_infos == [start[1] for start in starts]
    rng, limits, lengths = np.random.default_rng(0), set(), np.zeros(6, int)
    for _ in range(40):
        actions = rng.integers(0, 4, 6)
        observations, rewards, dones, infos = envs.step(actions)
        # A list, as some callers pass it; without infos there are those of ends alone.
        *_, short_infos = short.step(actions.tolist())
        lengths += 1
        assert rewards.dtype == np.float32
        for i, (env, action) in enumerate(zip(singles, actions, strict=True)):
            observation, reward, done, info, reset_info = step_one(env, action + 1)
            np.testing.assert_array_equal(observations[i], observation)
            assert (rewards[i], dones[i]) == (reward, done)
            assert short_infos[i].keys() == (infos[i].keys() if done else set())
            if done:
                episode = infos[i].pop("episode")
                assert (episode["r"], episode["l"]) == (reward, lengths[i])
                assert episode["t"] >= 0
                last = infos[i].pop("terminal_observation")
                np.testing.assert_array_equal(last, info.pop("terminal_observation"))
                limits.add(info["TimeLimit.truncated"])
                assert envs.reset_infos[i] == reset_info
                lengths[i] = 0
            assert infos[i] == info
    assert limits == {True, False}


def test_sb3_takes_a_batch_of_gymnasium(sb3):
    def make():
        return gymnasium.make(LAKE, action_start=0, **KEYWORDS)

    envs = sb3.BatchVecEnv(SyncVectorEnv([make] * 3, autoreset_mode="SameStep"))
    ours = sb3.make_vec_env(LAKE, 3, 1, KEYWORDS, episode_info=False)
    envs.seed(1)
    np.testing.assert_array_equal(envs.reset(), ours.reset())
    for _ in range(8):
        results = [each.step(np.ones(3, int)) for each in (envs, ours)]
        np.testing.assert_equal(*results)
    assert ours.env_is_wrapped(Monitor) == [False] * 3


def test_sb3_masks_are_those_of_the_present_states(sb3):
    envs = sb3.make_vec_env(LAKE, 5, 0, KEYWORDS, action_mask=True)
    assert envs.has_attr("action_masks")  # evaluation asks before the reset
    envs.reset()
    for _ in range(12):
        masks = np.stack(envs.env_method("action_masks"))
        assert masks.dtype == np.bool_
        present = envs.batch.engine.reset_infos(np.arange(5))["action_mask"]
        np.testing.assert_array_equal(masks, present)
        [one] = envs.env_method("action_masks", indices=[2])
        np.testing.assert_array_equal(one, masks[2])
        envs.step(np.argmax(masks, 1))
    assert not sb3.make_vec_env(LAKE, 2).has_attr("action_masks")


# -------------------------------------------------------------------------- Tianshou


@pytest.mark.parametrize("obs_mode", ["grid", "text"])
def test_tianshou_some_step_and_reset_as_single_environments(tianshou, obs_mode):
    keywords = {**KEYWORDS, "obs_mode": obs_mode}
    envs = tianshou.make_vector_env(LAKE, 5, **keywords)
    assert envs.seed(3) == [[3], [4], [5], [6], [7]]
    singles = [gymnasium.make(LAKE, action_start=1, **keywords) for _ in range(5)]
    for seed, env in enumerate(singles, 3):
        env.reset(seed=seed)
    rng = np.random.default_rng(0)
    for _ in range(20):
        env_ids = rng.permutation(5)[: rng.integers(1, 6)]
        actions = rng.integers(0, 4, len(env_ids))
        expected = [
            singles[i].step(a + 1) for i, a in zip(env_ids, actions, strict=True)
        ]
        *arrays, infos = envs.step(actions, env_ids)
        for array, column in zip(arrays, zip(*expected, strict=True), strict=False):
            np.testing.assert_array_equal(array, np.stack(column))
        for info, env_id, row in zip(infos, env_ids, expected, strict=True):
            assert info == {**row[4], "env_id": env_id}
        ended = env_ids[arrays[2] | arrays[3]]
        if len(ended):
            starts = [singles[env_id].reset() for env_id in ended]
            observations, infos = envs.reset(ended)
            np.testing.assert_array_equal(
                observations, np.stack([s[0] for s in starts])
            )
            assert infos.tolist() == [start[1] for start in starts]
    observations, infos = envs.reset(2, seed=9)
    np.testing.assert_array_equal(observations[0], singles[0].reset(seed=9)[0])
