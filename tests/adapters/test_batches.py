"""Batches behind the interfaces of Stable-Baselines3 and Tianshou, with stand-ins.

`tests/frameworks` compares them with Stable-Baselines3 and Tianshou themselves.
"""

import importlib
import sys
import threading
from types import ModuleType

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.vector import SyncVectorEnv

import roll_vec
from roll_vec.errors import (
    FrozenAttributeError,
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
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


COMMON = "stable_baselines3.common"
STAND_INS = {
    "stable_baselines3": {},
    COMMON: {},
    f"{COMMON}.vec_env": {},
    f"{COMMON}.vec_env.base_vec_env": {"VecEnv": VecEnv},
    f"{COMMON}.monitor": {"Monitor": Monitor},
    "tianshou": {},
    "tianshou.env": {"BaseVectorEnv": BaseVectorEnv},
}


@pytest.fixture
def stand_ins(monkeypatch):
    """Return a function that imports an adapter over the stand-ins."""
    for name, values in STAND_INS.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    adapters = ("roll_vec.adapters.sb3", "roll_vec.adapters.tianshou")
    for name in adapters:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in adapters:
        sys.modules.pop(name, None)


@pytest.fixture
def sb3(stand_ins):
    return stand_ins("roll_vec.adapters.sb3")


@pytest.fixture
def tianshou(stand_ins):
    return stand_ins("roll_vec.adapters.tianshou")


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


def test_sb3_seeds_are_for_one_reset_and_groups_share_them(sb3):
    envs = sb3.make_vec_env(LAKE, 4, group_size=2, seed_info=True, size=5)
    assert envs.seed(7) == [7, 7, 8, 8]
    envs.reset()
    assert [info["seed"] for info in envs.reset_infos] == [7, 7, 8, 8]
    envs.reset()
    assert envs.reset_infos[0]["seed"] not in (7, 8)
    state = np.random.get_state()[1].copy()
    assert envs.seed() != envs.seed()
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    # Attributes and methods of some.
    assert envs.get_attr("size", 2) == [5]
    assert len(envs.env_method("get_all_actions", indices=[0, 3])) == 2
    with pytest.raises(FrozenAttributeError):
        envs.set_attr("size", 4)
    assert envs.env_is_wrapped(Monitor, [1]) == [True]
    assert envs.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [False] * 4


GATES = {}


class Counter(gymnasium.Env):
    """Counts its steps from an option; a step waits for the gate of its number."""

    observation_space = gymnasium.spaces.Dict(n=Discrete(100))
    action_space = Discrete(3)
    level, number = 0, None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.number = seed
        self.count = (options or {}).get("start", 0)
        return {"n": self.count}, {}

    def step(self, action):
        if self.number in GATES:
            GATES[self.number].wait(20)
        self.count += 1
        return {"n": self.count}, float(action), self.count in (2, 9), False, {}


def test_sb3_objects_take_attributes_and_options(sb3):
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
    assert dones.tolist() == [True] * 3
    assert infos[2]["terminal_observation"] == {"n": 9}
    envs._options = [{"start": 8}, {}, {}]
    with pytest.raises(InvalidOptionError, match="one dict"):
        envs.reset()
    envs.close()


SAME_STEP = {"autoreset_mode": "SameStep"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a: a.BatchVecEnv(roll_vec.make_vec(LAKE, 2)), "SameStep"),
        (
            lambda a: a.BatchVecEnv(
                roll_vec.make_vec(LAKE, 2, copy=False, **SAME_STEP)
            ),
            "copy=True",
        ),
        (
            lambda a: a.BatchVecEnv(
                roll_vec.make_vec(LAKE, 2, obs_mode="text", **SAME_STEP)
            ),
            "got [A-Za-z]*Text",
        ),
        (
            lambda a: a.BatchVecEnv(
                roll_vec.make_vec(LAKE, 2, action_mode="text", **SAME_STEP)
            ),
            "got [A-Za-z]*Text",
        ),
        (lambda a: a.BatchVecEnv(LAKE), "batch: expected a vector env"),
        (lambda a: a.BatchVecEnv(gymnasium.make(LAKE)), "batch: expected a vector env"),
        (
            lambda a: a.make_vec_env(LAKE, autoreset_mode="NextStep"),
            "autoreset_mode: expected 'SameStep'",
        ),
        (lambda a: a.make_vec_env(LAKE, num_envs=2), "did you mean n_envs"),
        (lambda a: a.make_vec_env(LAKE, monitor_dir="x"), "monitor_dir.*VecMonitor"),
    ],
)
def test_sb3_refuses(sb3, make, message):
    with pytest.raises((InvalidOptionError, UnknownOptionError), match=message):
        make(sb3)


def test_sb3_actions_count_from_0_and_others_are_refused(sb3):
    envs = sb3.make_vec_env(LAKE, 2, 0)
    envs.reset()
    for actions in ([0, 4], [-1, 0]):  # the batch itself takes 0 to 4
        with pytest.raises(InvalidActionError, match="expected 0 to 3"):
            envs.step(np.array(actions))
    for actions in (["up", "up"], [0.0, 1.0]):
        with pytest.raises(InvalidActionError, match="integer dtype"):
            envs.step(actions)


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


def test_tianshou_infos_by_name_attributes_and_seeds_of_groups(tianshou):
    for keys, expected in (((), set()), (["success"], {"success"})):
        envs = tianshou.make_vector_env(LAKE, 3, info_keys=keys, size=5, **KEYWORDS)
        envs.seed(0)
        for info in envs.step(np.ones(3, int))[4]:
            assert info.keys() == expected
    assert envs.get_env_attr("action_space", 1) == [Discrete(4)]
    first, second, _ = envs.get_env_attr("action_space")
    assert first is not second
    assert envs.get_env_attr("size", [0, 2]) == [5, 5]
    with pytest.raises(FrozenAttributeError):
        envs.set_env_attr("size", 4)
    envs.close()
    with pytest.raises(AssertionError):
        envs.reset()
    envs = tianshou.make_vector_env(LAKE, 4, group_size=2, **KEYWORDS)
    assert envs.seed(5) == [[5], [5], [6], [6]]
    assert envs.batch.np_random_seed == (5, 5, 6, 6)
    with pytest.raises(InvalidSeedError):
        envs.seed(1.5)


def test_tianshou_asynchronous_steps(tianshou, monkeypatch):
    for number in range(3):
        monkeypatch.setitem(GATES, number, threading.Event())
    pool = roll_vec.PoolVectorEnv(
        [Counter] * 3, workers=3, executor="thread", autoreset_mode="Disabled"
    )
    envs = tianshou.BatchVectorEnv(pool, wait_num=2, info_keys=())
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


def test_tianshou_arrays_can_be_asynchronous_too(tianshou):
    twins = [
        tianshou.make_vector_env(LAKE, 4, wait_num=wait_num, **KEYWORDS)
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
def test_tianshou_refuses(tianshou, make, message):
    with pytest.raises(InvalidOptionError, match=message):
        make(tianshou)


def test_tianshou_actions_count_from_0_one_for_each_environment(tianshou):
    envs = tianshou.make_vector_env(LAKE, 3)
    envs.reset(seed=0)
    for actions in ([4, 0], [0, -1]):
        with pytest.raises(InvalidActionError, match="expected 0 to 3"):
            envs.step(np.array(actions), [0, 2])
    with pytest.raises(InvalidActionError, match="action: expected 2 of them"):
        envs.step(np.zeros(3, np.int64), [0, 2])
