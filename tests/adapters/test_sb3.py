"""Batches behind the interface of Stable-Baselines3, with a stand-in for its classes.

`tests/frameworks/sb3/check.py` compares them with Stable-Baselines3 itself.
"""

import importlib
import sys
from types import ModuleType

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import roll_vec
from roll_vec.errors import (
    FrozenAttributeError,
    InvalidActionError,
    InvalidOptionError,
    UnknownOptionError,
    UnsupportedError,
)

LAKE = "roll_vec/RandomFrozenLake-v0"
KEYWORDS = {"max_episode_steps": 5, "is_slippery": False, "seed_info": True}


class VecEnv:
    """The parts of Stable-Baselines3's class that the adapter uses."""

    def __init__(self, num_envs, observation_space, action_space):
        self.num_envs = num_envs
        self.observation_space, self.action_space = observation_space, action_space
        self.reset_infos = [{} for _ in range(num_envs)]
        self._reset_seeds()
        self._reset_options()
        self.render_mode = self.get_attr("render_mode")[0]

    def _reset_seeds(self):
        self._seeds = [None] * self.num_envs

    def _reset_options(self):
        self._options = [{} for _ in range(self.num_envs)]

    def has_attr(self, name):
        try:
            self.get_attr(name)
        except AttributeError:
            return False
        return True

    def step(self, actions):
        self.step_async(actions)
        return self.step_wait()

    def _get_indices(self, indices):
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else indices


class Monitor(gymnasium.Wrapper):
    """In name only."""


@pytest.fixture
def sb3(monkeypatch):
    """The adapter's module, over the stand-in."""
    name = "roll_vec.adapters.sb3"
    common = "stable_baselines3.common"
    parents = ("stable_baselines3", common, f"{common}.vec_env")
    classes = {f"{common}.vec_env.base_vec_env": VecEnv, f"{common}.monitor": Monitor}
    for module in (*parents, *classes):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    for module, value in classes.items():
        setattr(sys.modules[module], value.__name__, value)
    monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


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


def test_steps_are_those_of_single_environments(sb3):
    envs = sb3.make_vec_env(LAKE, 6, seed=3, env_kwargs=KEYWORDS, action_start=1)
    assert envs.action_space == gymnasium.spaces.Discrete(4)
    singles = [gymnasium.make(LAKE, action_start=1, **KEYWORDS) for _ in range(6)]
    starts = [env.reset(seed=3 + i) for i, env in enumerate(singles)]
    np.testing.assert_array_equal(envs.reset(), [start[0] for start in starts])
    assert envs.reset_infos == [start[1] for start in starts]
    rng, limits, lengths = np.random.default_rng(0), set(), np.zeros(6, int)
    for _ in range(40):
        actions = rng.integers(0, 4, 6)
        observations, rewards, dones, infos = envs.step(actions)
        lengths += 1
        assert rewards.dtype == np.float32
        for i, (env, action) in enumerate(zip(singles, actions, strict=True)):
            observation, reward, done, info, reset_info = step_one(env, action + 1)
            np.testing.assert_array_equal(observations[i], observation)
            assert (rewards[i], dones[i]) == (reward, done)
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


def test_steps_without_infos_have_those_of_ends_alone(sb3):
    both = [
        sb3.make_vec_env(LAKE, 4, 0, KEYWORDS, step_infos=step_infos)
        for step_infos in (True, False)
    ]
    for envs in both:
        envs.reset()
    rng = np.random.default_rng(0)
    for _ in range(12):
        actions = rng.integers(0, 4, 4)
        # A list, as some callers pass it.
        steps = [envs.step(actions.tolist()) for envs in both]
        (*_, dones, full), (*_, short) = steps
        for done, info, short_info in zip(dones, full, short, strict=True):
            assert short_info.keys() == (info.keys() if done else set())


def test_a_batch_of_gymnasium_works(sb3):
    def make():
        return gymnasium.make(LAKE, action_start=0, **KEYWORDS)

    envs = sb3.BatchVecEnv(SyncVectorEnv([make] * 3, autoreset_mode="SameStep"))
    ours = sb3.make_vec_env(LAKE, 3, 1, KEYWORDS)
    envs.seed(1)
    np.testing.assert_array_equal(envs.reset(), ours.reset())
    for _ in range(8):
        (*theirs, infos), (*own, own_infos) = (
            e.step(np.ones(3, int)) for e in (envs, ours)
        )
        np.testing.assert_equal(theirs, own)
        for info in own_infos:
            info.pop("episode", None)
        np.testing.assert_equal(infos, own_infos)


def test_masks_are_those_of_the_present_states(sb3):
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


def test_seeds_are_for_one_reset_and_groups_share_them(sb3):
    envs = sb3.make_vec_env(LAKE, 4, group_size=2, seed_info=True)
    assert envs.seed(7) == [7, 7, 8, 8]
    envs.reset()
    assert [info["seed"] for info in envs.reset_infos] == [7, 7, 8, 8]
    envs.reset()
    assert envs.reset_infos[0]["seed"] not in (7, 8)
    state = np.random.get_state()[1].copy()
    assert envs.seed() != envs.seed()
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_attributes_and_methods_of_some(sb3):
    envs = sb3.make_vec_env(LAKE, 4, 0, size=5)
    envs.reset()
    assert envs.get_attr("size", 2) == [5]
    assert len(envs.env_method("get_all_actions", indices=[0, 3])) == 2
    with pytest.raises(FrozenAttributeError):
        envs.set_attr("size", 4)
    assert envs.env_is_wrapped(Monitor, [1]) == [True]
    assert envs.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [False] * 4
    assert sb3.make_vec_env(LAKE, 1, episode_info=False).env_is_wrapped(Monitor) == [
        False
    ]


class Counter(gymnasium.Env):
    observation_space = gymnasium.spaces.Dict(n=gymnasium.spaces.Discrete(100))
    action_space = gymnasium.spaces.Discrete(2)
    level = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = (options or {}).get("start", 0)
        return {"n": self.count}, {}

    def step(self, action):
        self.count += int(action)
        return {"n": self.count}, 0.0, self.count == 9, False, {}


def test_objects_take_attributes_and_options(sb3):
    envs = sb3.BatchVecEnv(
        roll_vec.PoolVectorEnv([Counter] * 3, autoreset_mode="SameStep")
    )
    envs.set_attr("level", 4, indices=[1])
    assert envs.get_attr("level") == [0, 4, 0]
    with pytest.raises(UnsupportedError, match="indices=None"):
        envs.env_method("reset", indices=[0])
    envs._options = [{"start": 8}] * 3
    np.testing.assert_array_equal(envs.reset()["n"], [8] * 3)
    *_, dones, infos = envs.step(np.array([1, 0, 1]))
    assert dones.tolist() == [True, False, True]
    assert infos[2]["terminal_observation"] == {"n": 9}
    envs._options = [{"start": 8}, {}, {}]
    with pytest.raises(InvalidOptionError, match="one dict"):
        envs.reset()
    envs.close()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "SameStep"),
        ({"autoreset_mode": AutoresetMode.SAME_STEP, "copy": False}, "copy=True"),
        ({"autoreset_mode": "SameStep", "obs_mode": "text"}, "got [A-Za-z]*Text"),
        ({"autoreset_mode": "SameStep", "action_mode": "text"}, "got [A-Za-z]*Text"),
    ],
)
def test_batches_that_do_not_fit_are_refused(sb3, keywords, message):
    with pytest.raises(InvalidOptionError, match=message):
        sb3.BatchVecEnv(roll_vec.make_vec(LAKE, 2, **keywords))


def test_actions_count_from_0_and_others_are_refused(sb3):
    envs = sb3.make_vec_env(LAKE, 2, 0)
    envs.reset()
    for actions in ([0, 4], [-1, 0]):  # the batch itself takes 0 to 4
        with pytest.raises(InvalidActionError, match="expected 0 to 3"):
            envs.step(np.array(actions))
    for actions in (["up", "up"], [0.0, 1.0]):
        with pytest.raises(InvalidActionError, match="integer dtype"):
            envs.step(actions)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"autoreset_mode": "NextStep"}, "autoreset_mode: expected 'SameStep'"),
        ({"num_envs": 2}, "did you mean n_envs"),
        ({"monitor_dir": "logs"}, "monitor_dir.*VecMonitor"),
    ],
)
def test_keywords_of_others_are_refused(sb3, keywords, message):
    with pytest.raises((InvalidOptionError, UnknownOptionError), match=message):
        sb3.make_vec_env(LAKE, **keywords)


def test_what_is_no_batch_is_refused(sb3):
    for value in (LAKE, gymnasium.make(LAKE)):
        with pytest.raises(InvalidOptionError, match="batch: expected a vector env"):
            sb3.BatchVecEnv(value)
