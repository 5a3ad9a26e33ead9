"""A batch over shards after errors, warnings and Ctrl-C differs from a local pool."""

import warnings

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.distributed.shard import Shard
from roll_vec.errors import (
    EnvironmentFaultError,
    ResetNeededError,
)
from tests.contract.cases import (
    DISABLED,
    MODES,
    NEXT_STEP,
    assert_same,
    id_of,
    make_batch,
)
from tests.distributed.local_actors import actors_of, make_env
from tests.distributed.test_losses import Unpicklable


class Sum(gymnasium.Env):
    """Adds its gain; action 1 raises.  A snapshot has the sum and not the gain."""

    observation_space = gymnasium.spaces.Box(-1e9, 1e9, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)
    gain = 1.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.sum = float(self.np_random.integers(100))
        return np.array([self.sum]), {}

    def step(self, action):
        if action == 1:
            raise ValueError("action 1")
        self.sum += self.gain
        return np.array([self.sum]), self.gain, False, False, {}

    def get_state(self):
        return {"sum": self.sum, "generator": self.np_random.bit_generator.state}

    def set_state(self, state):
        self.sum = state["sum"]
        self.np_random.bit_generator.state = state["generator"]


def interrupt_next_wait(env):
    """Let Ctrl-C strike while the head waits for the next reply."""
    actors = actors_of(env)
    wait = actors.wait

    def interrupt(*_):
        actors.wait = wait
        raise KeyboardInterrupt

    actors.wait = interrupt


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_replay_sets_attributes_at_their_time(is_interrupted):
    deaths = {} if is_interrupted else {(1, 6): "early"}
    sharded = make_env(Sum, 4, 2, deaths=deaths)
    local = roll_vec.PoolVectorEnv([Sum] * 4)
    actions = np.zeros(4, int)
    assert_same(sharded.reset(seed=0), local.reset(seed=0))
    for gain in (10.0, 100.0):
        assert_same(sharded.step(actions), local.step(actions))
        for env in (sharded, local):
            env.set_attr("gain", gain)
    if is_interrupted:
        interrupt_next_wait(sharded)
        with pytest.raises(KeyboardInterrupt):
            sharded.step(actions)
        with pytest.raises(ResetNeededError, match="interrupted"):
            sharded.step(actions)
        assert_same(sharded.reset(seed=1), local.reset(seed=1))
    for _ in range(3):
        assert_same(sharded.step(actions), local.step(actions))
    assert sum(sharded.restarts) == len(deaths)


def test_a_question_is_no_reset():
    env = make_env(Unpicklable, 4, 2)
    actions = np.zeros(4, int)
    env.reset(seed=0)
    env.step(actions)
    interrupt_next_wait(env)
    with pytest.raises(KeyboardInterrupt):
        env.step(actions)
    assert not env.fault_counts.any()
    with pytest.raises(ResetNeededError, match="interrupted"):
        env.step(actions)
    env.reset()
    assert not env.step(actions)[3].any()


def test_an_attribute_that_does_not_exist_ends_no_episode():
    env = make_env(Unpicklable, 4, 2)
    env.reset(seed=0)
    with pytest.raises(AttributeError, match="nothing"):
        env.get_attr("nothing")
    assert env.step([0] * 4)[4]["t"].tolist() == [1] * 4


class Switch(Sum):
    """Its resets fail while a switch of the class is on; episodes have two steps."""

    is_broken = False

    def reset(self, *, seed=None, options=None):
        if Switch.is_broken:
            raise ValueError("no reset")
        self.count = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.count += 1
        return *super().step(action)[:2], self.count == 2, False, {}


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_an_error_tells_that_no_environment_can_be_reset(mode, monkeypatch):
    local = roll_vec.PoolVectorEnv([Switch] * 4, autoreset_mode=mode)
    sharded = make_env(Switch, 4, 2, autoreset_mode=mode)
    for env in (local, sharded):
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            env.reset(seed=0)
            env.step([0] * 4)
            if mode is NEXT_STEP:
                env.step([0] * 4)
            patch.setattr(Switch, "is_broken", True)
            with pytest.raises(EnvironmentFaultError, match="no reset") as error:
                env.reset() if mode is DISABLED else env.step([0] * 4)
            assert sorted(error.value.errors) == [0, 1, 2, 3]
    assert_same(sharded.reset(seed=1), local.reset(seed=1))
    assert_same(sharded.step([0] * 4), local.step([0] * 4))


def test_results_that_are_gone_demand_a_reset(monkeypatch):
    def fail(*_):
        raise TypeError

    env = make_env(Sum, 4, 2)
    env.reset(seed=0)
    with monkeypatch.context() as patch:
        patch.setattr(Shard, "exchange", fail)
        env.send([0] * 4, range(4))
        with pytest.raises(TypeError):
            env.recv(None, 9.0)
    with pytest.raises(ResetNeededError):
        env.send([0] * 4, range(4))
    env.reset(seed=0)
    env.send([0] * 4, range(4))
    assert len(env.recv(None, 9.0)[0]) == 4


@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_frames_of_pools(render_mode):
    keywords = {"render_mode": render_mode}
    local = make_batch("tests_vector/Guess-v0", 4, **keywords)
    sharded = make_env(id_of("tests_vector/Guess-v0"), 4, 2, **keywords)
    for env in (local, sharded):
        with pytest.raises(ResetNeededError, match="reset it first"):
            env.render()
        env.reset(seed=0)
    assert sharded.render() == sharded.call("render") == local.render()
    assert sharded.render_envs([3, 0, 3]) == local.render_envs([3, 0, 3])
