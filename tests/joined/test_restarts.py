"""An actor dies: what is restored, what cannot be, and what the errors say."""

import copy
import pickle
import sys
import threading
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidOptionError,
    PartLostError,
    ResetNeededError,
    UnsupportedError,
)
from roll_vec.joined.actors import RemoteTraceback, pack, unpack
from tests.contract.cases import assert_same
from tests.joined.local_actors import actors_of, kill, make_env, make_pair, restarts_of
from tests.pool.cases import FAULTS_ON_PURPOSE, replace_row
from tests.pool.snapshot_envs import Unpicklable

SOKOBAN = "roll_vec/Sokoban-v0"
ROOMS = {"dim_room": (5, 5), "num_boxes": 1, "max_episode_steps": 4}
ALWAYS = {(1, number): "early" for number in range(3, 60)}
IDLE = [0] * 4
UP = np.ones(4, int)


class Sum(gymnasium.Env):
    """Adds its gain; action 1 raises.  A snapshot has the sum and not the gain."""

    observation_space = gymnasium.spaces.Box(-1e9, 1e9, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)
    metadata: ClassVar = {"render_modes": []}
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

    def add(self, number):
        self.sum += number
        if number < 0:
            raise ValueError("less")
        return self.sum

    def get_state(self):
        return {"sum": self.sum, "generator": self.np_random.bit_generator.state}

    def set_state(self, state):
        self.sum = state["sum"]
        self.np_random.bit_generator.state = state["generator"]


class Stateless(Sum):
    """Allows no snapshot: it has no states, and cannot be pickled."""

    get_state = None

    def __init__(self):
        self.lock = threading.Lock()


class Fading(Sum):
    """Its snapshots fail while a switch of the class is on."""

    is_broken = False

    def get_state(self):
        if Fading.is_broken:
            raise ValueError("no state")
        return super().get_state()


def interrupt_next_reply(env):
    """Let Ctrl-C strike while the head waits for the next reply."""
    actors = actors_of(env)

    def interrupt():
        actors.before_result = None
        raise KeyboardInterrupt

    actors.before_result = interrupt


@pytest.mark.parametrize("id", [Sum, Stateless])
def test_calls_and_attributes_are_made_again_at_their_time(id):
    deaths = {(1, number): "late" for number in (6, 9, 11)} if id is Sum else {}
    shards = {"snapshot_interval": 2}
    sharded, local = make_pair(id, 4, 2, deaths=deaths, shards=shards)
    for gain in (10.0, 100.0, 1000.0):
        for env in (sharded, local):
            env.set_attr("gain", gain)
        assert sharded.call("add", 5) == local.call("add", 5)
        for env in (sharded, local):
            # It raises after it has changed the environments.
            with pytest.raises(ValueError, match="less"):
                env.call("add", -1)
        assert_same(sharded.step(IDLE), local.step(IDLE))
    assert restarts_of(sharded) == len(deaths)
    if id is Sum:
        # Snapshots since then have no attributes.
        for _ in range(5):
            assert_same(sharded.step(IDLE), local.step(IDLE))
        kill(sharded, 1)
        assert_same(sharded.step(IDLE), local.step(IDLE))


def test_level_options_are_set_again():
    lake = {"max_episode_steps": 4, "shards": {"snapshot_interval": 2}}
    sharded, local = make_pair("roll_vec/RandomFrozenLake-v0", 4, 2, **lake)
    for env in (sharded, local):
        # `start_level` alone would be refused, and the refused call changes nothing.
        env.set_level_options(num_levels=5)
        env.set_level_options(start_level=2)
        env.set_level_options(num_levels=6)
        with pytest.raises(InvalidOptionError, match="num_levels"):
            env.set_level_options(num_levels=-1)
    for _ in range(2):
        for _ in range(6):
            assert_same(sharded.step(UP), local.step(UP))
        kill(sharded, 1)
    assert_same(sharded.reset(), local.reset())


def test_an_interrupt_leaves_no_trace_after_a_reset():
    sharded, local = make_pair(SOKOBAN, 4, 2, autoreset_mode="SameStep", **ROOMS)
    for _ in range(3):
        assert_same(sharded.step(UP), local.step(UP))
    # In this step the next episodes begin, and nobody gets to know.
    interrupt_next_reply(sharded)
    with pytest.raises(KeyboardInterrupt):
        sharded.step(UP)
    with pytest.raises(ResetNeededError, match="interrupted"):
        sharded.step(UP)
    # The next episodes are those after the last step that has returned.
    assert_same(sharded.reset(), local.reset())
    assert_same(sharded.step(UP), local.step(UP))


def test_the_calls_since_a_snapshot_are_few(monkeypatch):
    sharded, local = make_pair(Fading, 4, 2, shards={"snapshot_interval": 3})
    part = sharded.parts[1]
    for number in range(60):
        monkeypatch.setattr(Fading, "is_broken", 10 <= number < 40)
        assert_same(sharded.step(IDLE), local.step(IDLE))
        sharded.get_attr("gain")
        assert len(part._journal) <= 4
        if number % 10 == 5:
            assert bool(part._obstacle) == (10 <= number < 40)
    for env in (sharded, local):
        monkeypatch.setattr(Fading, "is_broken", True)
        env.reset(seed=1)
    # The next reset asks for a snapshot, too.
    assert part._obstacle
    monkeypatch.setattr(Fading, "is_broken", False)
    assert_same(sharded.reset(seed=1), local.reset(seed=1))
    assert not part._obstacle
    kill(sharded, 1)
    assert_same(sharded.step(IDLE), local.step(IDLE))
    assert restarts_of(sharded) == 1


@pytest.mark.parametrize("name", ["step", "get_attr"])
def test_a_part_without_snapshots_is_lost(name):
    env = make_env(Stateless, 4, 2)
    env.reset(seed=0)
    before = env.step(IDLE)
    kill(env, 1)
    arguments = {"step": (IDLE,), "get_attr": ("gain",)}[name]
    words = r"part 1 has died.*killed by the test; it cannot be restored: .*Stateless"
    with pytest.raises(PartLostError, match=words) as caught:
        getattr(env, name)(*arguments)
    assert "PartLostError".lower() in caught.value.docs
    for call in (lambda: env.step(IDLE), lambda: env.get_state()):
        with pytest.raises(ResetNeededError, match="a call raised an error"):
            call()
    env.reset(seed=0)
    assert_same(env.step(IDLE), before)


def test_a_part_that_dies_again_and_again_is_lost():
    sharded, local = make_pair(SOKOBAN, 4, 2, deaths=ALWAYS, **ROOMS)
    assert_same(sharded.step(UP), local.step(UP))
    with pytest.raises(PartLostError, match=r"part 1 .* in 11 processes in a row"):
        sharded.step(UP)
    with pytest.raises(PartLostError):
        sharded.reset(seed=1)
    with pytest.raises(ResetNeededError):
        sharded.step(UP)
    actors_of(sharded).deaths.clear()
    assert_same(sharded.reset(seed=1), local.reset(seed=1))
    assert_same(sharded.step(UP), local.step(UP))
    assert sharded.parts[0].restarts == 0


def test_processes_that_never_start():
    for when, words in (("late", "killed by the test"), ("slow", "slow")):
        with pytest.raises(InvalidOptionError, match=f"part 1 could not be .*{words}"):
            make_env(SOKOBAN, 4, 2, deaths={(1, 0): when}, **ROOMS)
    with pytest.raises(InvalidOptionError, match="dim_room"):
        make_env(SOKOBAN, 4, 2, dim_room=3)
    with pytest.raises(InvalidOptionError, match=r"num_shards: .*2"):
        make_env(SOKOBAN, 4, 3, group_size=2)


def test_an_option_that_all_shards_refuse_moves_nothing():
    sharded, local = make_pair("roll_vec/CartPole-v1", 4, 2)
    for env in (sharded, local):
        with pytest.raises(InvalidOptionError, match="low"):
            env.reset(options={"low": 9, "high": 1})
    assert_same(sharded.step(UP), local.step(UP))


def test_an_error_of_one_shard_demands_a_reset_and_is_restored():
    sharded, local = make_pair(Sum, 4, 2)
    with pytest.raises(EnvironmentFaultError, match="state") as caught:
        sharded.set_state(replace_row(sharded.get_state(), 3, {}))
    assert list(caught.value.errors) == [3]
    with pytest.raises(ResetNeededError):
        sharded.step(IDLE)
    assert_same(sharded.reset(seed=2), local.reset(seed=2))
    kill(sharded, 1)
    assert_same(sharded.step(IDLE), local.step(IDLE))


def test_a_reply_that_cannot_travel_is_an_error():
    env = make_env(Stateless, 4, 2)
    results = env.reset(seed=1)
    with pytest.raises(TypeError, match="pickle") as caught:
        env.get_attr("lock")
    # The actor has raised it, and lives.
    assert isinstance(caught.value.__cause__, RemoteTraceback)
    assert_same(env.reset(seed=1), results)
    copies = make_env(Unpicklable, 2, 2)
    copies.reset(seed=1)
    with pytest.raises(UnsupportedError, match="cannot be pickled"):
        copies.get_state()
    for way in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="connection to Ray"):
            way(copies)


def test_classes_of_the_main_module_travel(monkeypatch):
    # A shard has another main module.
    body = "class Item:\n    def __init__(self, value):\n        self.value = value\n"
    module = sys.modules["__main__"]
    exec(body, {"__name__": "__main__"}, names := {})
    monkeypatch.setattr(module, "Item", names["Item"], raising=False)
    data = pack(names["Item"](5))
    monkeypatch.delattr(module, "Item")
    assert unpack(data).value == 5


@FAULTS_ON_PURPOSE
def test_warnings_of_actors_arrive_once():
    env = make_env(Sum, 4, 2)
    env.reset(seed=1)
    with pytest.warns(
        roll_vec.errors.EnvironmentFaultWarning, match="environment 3"
    ) as caught:
        env.step([0, 0, 0, 1])
    assert len(caught) == 1
    assert env.fault_counts.tolist() == [0, 0, 0, 1]
