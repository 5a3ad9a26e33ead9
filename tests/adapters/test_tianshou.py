"""Batches behind the interface of Tianshou, with a stand-in for its base class.

`tests/frameworks/tianshou/check.py` compares them with Tianshou itself.
"""

import importlib
import sys
import threading
from types import ModuleType

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import (
    FrozenAttributeError,
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
)

LAKE = "roll_vec/RandomFrozenLake-v0"
KEYWORDS = {"max_episode_steps": 4, "is_slippery": False, "seed_info": True}


class BaseVectorEnv:
    """The parts of Tianshou's class that the adapter uses."""

    def _assert_is_not_closed(self):
        assert not self.is_closed

    def _wrap_id(self, id):
        if id is None:
            return list(range(self.env_num))
        return [id] if np.isscalar(id) else id

    def _assert_id(self, id):
        assert not set(id) & set(self.waiting_id)
        assert set(id) <= set(self.ready_id)


@pytest.fixture
def adapter(monkeypatch):
    """The adapter's module, over the stand-in."""
    name = "roll_vec.adapters.tianshou"
    for module in ("tianshou", "tianshou.env"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    sys.modules["tianshou.env"].BaseVectorEnv = BaseVectorEnv
    monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


@pytest.mark.parametrize("obs_mode", ["grid", "text"])
def test_some_step_and_reset_as_single_environments(adapter, obs_mode):
    keywords = {**KEYWORDS, "obs_mode": obs_mode}
    envs = adapter.make_vector_env(LAKE, 5, **keywords)
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
            expected = [singles[env_id].reset() for env_id in ended]
            observations, infos = envs.reset(ended)
            np.testing.assert_array_equal(
                observations, np.stack([e[0] for e in expected])
            )
            assert infos.tolist() == [e[1] for e in expected]
    observations, infos = envs.reset(2, seed=9)
    np.testing.assert_array_equal(observations[0], singles[0].reset(seed=9)[0])


def test_infos_by_name(adapter):
    for keys, expected in (((), set()), (["success"], {"success"})):
        envs = adapter.make_vector_env(LAKE, 3, info_keys=keys, **KEYWORDS)
        envs.seed(0)
        for info in envs.step(np.ones(3, int))[4]:
            assert info.keys() == expected


def test_attributes(adapter):
    envs = adapter.make_vector_env(LAKE, 3, size=5)
    assert envs.get_env_attr("action_space", 1) == [gymnasium.spaces.Discrete(4)]
    first, second, _ = envs.get_env_attr("action_space")
    assert first is not second
    assert envs.get_env_attr("size", [0, 2]) == [5, 5]
    with pytest.raises(FrozenAttributeError):
        envs.set_env_attr("size", 4)
    envs.close()
    with pytest.raises(AssertionError):
        envs.reset()


GATES = {}


class Gated(gymnasium.Env):
    """A step waits for the gate of its environment."""

    observation_space = gymnasium.spaces.Dict(n=gymnasium.spaces.Discrete(100))
    action_space = gymnasium.spaces.Discrete(3)
    level = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.id, self.count = seed, 0
        return {"n": self.count}, {"start": (options or {}).get("start")}

    def step(self, action):
        GATES[self.id].wait(20)
        self.count += 1
        return {"n": self.count}, float(action), self.count % 2 == 0, False, {}


def test_asynchronous_steps(adapter):
    GATES.update({i: threading.Event() for i in range(3)})
    pool = roll_vec.PoolVectorEnv(
        [Gated] * 3, workers=3, executor="thread", autoreset_mode="Disabled"
    )
    envs = adapter.BatchVectorEnv(pool, wait_num=2, info_keys=())
    envs.seed(0)
    assert envs.is_async
    GATES[0].set(), GATES[2].set()
    observations, rewards, *_, infos = envs.step(np.array([0, 1, 2]))
    assert [info["env_id"] for info in infos] == [0, 2]
    assert observations.tolist() == [{"n": 1}] * 2
    np.testing.assert_array_equal(rewards, [0, 2])
    assert (envs.ready_id, envs.waiting_id) == ([0, 2], [1])
    # The reset of one waits for the step of another, and keeps its result.
    GATES[1].set()
    envs.reset([0], options={"start": 1})
    assert envs.waiting_id == [1]
    *_, infos = envs.step(np.array([1]), [0])
    assert [info["env_id"] for info in infos] == [1]
    *_, terminated, _, infos = envs.step(None)
    assert [info["env_id"] for info in infos] == [0]
    assert terminated.tolist() == [True]
    assert envs.waiting_id == []
    with pytest.raises(InvalidOptionError, match="asynchronous"):
        envs.step(None)
    envs.set_env_attr("level", 3, [1])
    assert envs.get_env_attr("level") == [0, 3, 0]
    envs.close()


def test_arrays_can_be_asynchronous_too(adapter):
    twins = [
        adapter.make_vector_env(LAKE, 4, wait_num=wait_num, **KEYWORDS)
        for wait_num in (None, 2)
    ]
    for envs in twins:
        envs.seed(0)
    env_ids = np.array([3, 1])
    (*own, own_infos), (*their, their_infos) = (e.step([1, 1], env_ids) for e in twins)
    for one, other in zip(own, their, strict=True):
        np.testing.assert_array_equal(one[::-1], other)  # in the order of env_id
    np.testing.assert_equal(own_infos[::-1], their_infos)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a: a.BatchVectorEnv(roll_vec.make_vec(LAKE, 2)), "Disabled"),
        (lambda a: a.make_vector_env(LAKE, 2, wait_num=3), "wait_num"),
        (lambda a: a.make_vector_env(LAKE, 2).reset(sed=1), "seed or options"),
        (lambda a: a.make_vector_env(LAKE, 2).step(None), "asynchronous"),
        (lambda a: a.make_vector_env(LAKE, 2, info_keys="success"), "info_keys"),
        (lambda a: a.make_vector_env(LAKE, autoreset_mode="NextStep"), "'Disabled'"),
        (lambda a: a.BatchVectorEnv(LAKE), "batch: expected"),
    ],
)
def test_bad_arguments(adapter, make, message):
    with pytest.raises(InvalidOptionError, match=message):
        make(adapter)


def test_actions_count_from_0_one_for_each_environment(adapter):
    envs = adapter.make_vector_env(LAKE, 3)
    envs.reset(seed=0)
    for actions in ([4, 0], [0, -1]):
        with pytest.raises(InvalidActionError, match="expected 0 to 3"):
            envs.step(np.array(actions), [0, 2])
    with pytest.raises(InvalidActionError, match="action: expected 2 of them"):
        envs.step(np.zeros(3, np.int64), [0, 2])


def test_a_group_gets_one_seed(adapter):
    envs = adapter.make_vector_env(LAKE, 4, group_size=2, **KEYWORDS)
    assert envs.seed(5) == [[5], [5], [6], [6]]
    assert envs.batch.np_random_seed == (5, 5, 6, 6)
    with pytest.raises(InvalidSeedError):
        envs.seed(1.5)
