"""States of a user's environment keep its stream of seeds, without a word about it."""

from typing import ClassVar

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec import VectorState
from roll_vec.errors import InvalidStateError
from roll_vec.registration import ENVIRONMENTS
from tests.pool.cases import (
    FAULTS_ON_PURPOSE,
    MODES,
    NAMED_EXECUTORS,
    ONE_PROCESS,
    PROCESSES,
    kill_workers,
    values_of,
)
from tests.pool.cases import play as play_batches
from tests.thinning import one_in

CORRIDOR = "tests_pool/Corridor-v0"


class Corridor(roll_vec.BaseDiscreteActionEnv):
    """The environment of docs/own_environments.md; some moves slip."""

    ACTION_LOOKUP: ClassVar = {1: "Left", 2: "Right"}

    def __init__(self, length=7):
        self.length = length
        self.observation_space = gymnasium.spaces.Box(0, length, (2,), np.int64)
        self.action_space = gymnasium.spaces.Discrete(2, start=1)
        self.door = self.position = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.door = int(self.np_random.choice([0, self.length - 1]))
        self.position = self.length // 2
        return np.array([self.position, self.door]), {}

    def step(self, action):
        move = {0: 0, 1: -1, 2: 1}[int(action)]
        if self.np_random.random() < 0.3:
            move = -move
        self.position = min(max(self.position + move, 0), self.length - 1)
        success = self.position == self.door
        observation = np.array([self.position, self.door])
        return observation, float(success), success, False, {"success": success}

    def get_state(self):
        return {"door": self.door, "position": self.position}

    def set_state(self, state):
        self.door, self.position = state["door"], state["position"]
        assert state.keys() == {"door", "position"}


@pytest.fixture(autouse=True)
def _registered():
    roll_vec.register(CORRIDOR, Corridor, max_episode_steps=9)
    yield
    ENVIRONMENTS.pop(CORRIDOR)
    gymnasium.registry.pop(CORRIDOR)


def make(num_envs=3, **keywords):
    """Return a batch of corridors."""
    return roll_vec.make_vec(CORRIDOR, num_envs, length=5, **keywords)


def play(envs, actions):
    """Return the results of steps and resets, for each environment."""
    results = play_batches(envs, actions)
    return [values_of(result, range(envs.num_envs)) for result in results]


def draw_actions(num_steps, num_envs=3):
    return np.random.default_rng(4).integers(1, 3, (num_steps, num_envs))


@one_in(3, "workers, mode", NAMED_EXECUTORS, MODES)
def test_later_episodes_are_those_after_the_snapshot(workers, mode, tmp_path):
    """And a state with a stream that is none moves no environment."""
    actions = draw_actions(50)
    envs = make(autoreset_mode=mode, **workers)
    others = make(autoreset_mode=mode, **(PROCESSES if not workers else {}))
    envs.reset(seed=0)
    play(envs, actions[:8])
    envs.get_state().save(tmp_path / "state.npz")
    state = VectorState.load(tmp_path / "state.npz")
    bad = {**state.row(2), "seed_stream": {"stream": -1}}
    with pytest.raises(
        InvalidStateError, match=r"environment 2 of the state: .*stream"
    ):
        envs.set_state(state.replace_row(2, bad))
    expected = play(envs, actions[8:])
    for one in (envs, others):
        one.set_state(state)
        assert play(one, actions[8:]) == expected
        one.close()


def test_a_row_and_a_state_of_one_environment_go_on_alike():
    actions = draw_actions(60)
    envs = make(max_episode_steps=1000)
    envs.reset(seed=0)
    play(envs, actions[:8])
    state = envs.get_state()
    alone = Corridor(length=5)
    alone.set_state(state.row(1))
    state = state.replace_row(0, alone.get_state())
    twin = Corridor(length=5)
    twin.reset(seed=77)
    twin.set_state(alone.get_state())
    assert twin.np_random_seed == 1
    for action in actions[:, 0]:
        results = [one.step(action) for one in (alone, twin)]
        assert results[0][0].tolist() == results[1][0].tolist()
        if results[0][2]:
            resets = [one.reset()[0].tolist() for one in (alone, twin)]
            assert resets[0] == resets[1]
    envs.set_state(state)
    for action in actions[:, 0]:
        observations = envs.step([action] * 3)[0].tolist()
        assert observations[0] == observations[1]


@FAULTS_ON_PURPOSE
def test_a_dead_worker_is_restored_from_a_state():
    actions = draw_actions(50)
    envs, twin = make(**ONE_PROCESS), make()
    twin.reset(seed=5)
    play(twin, actions[:8])
    envs.set_state(twin.get_state())
    assert play(envs, actions[8:20]) == play(twin, actions[8:20])
    kill_workers(envs)
    # The step of environment 0 fails; the others are restored, and go on.
    for row in actions[20:]:
        result, expected = envs.step(row), twin.step(row)
        for array, other in zip(result[:4], expected[:4], strict=True):
            assert array[1:].tolist() == other[1:].tolist()
    assert envs.fault_counts.tolist() == [1, 0, 0]
    envs.close()


class Checked(Corridor):
    """Adds to the states of the class above, draws in `set_state`, and checks."""

    def get_state(self):
        return {**super().get_state(), "length": self.length}

    def set_state(self, state):
        self.check_state(state)
        self.reset(seed=3)
        super().set_state({name: state[name] for name in ("door", "position")})

    def check_state(self, state):
        if state["length"] != self.length:
            raise InvalidStateError.of_array("length", str(self.length), state)
        assert state.keys() == {"door", "position", "length"}


def test_draws_and_errors_in_set_state_leave_the_stream_alone():
    one, other = Checked(), Checked()
    one.reset(seed=8)
    other.reset(seed=9)
    one.step(1)
    state, before = one.get_state(), other.get_state()
    for change in ({"length": 2}, {"seed_stream": 5}, {"seed_stream": {}}):
        for method in (other.set_state, other.check_state):
            with pytest.raises(InvalidStateError, match="state"):
                method({**state, **change})
        assert other.get_state() == before
    other.check_state(state)
    assert other.get_state() == before
    other.set_state(state)
    assert other.get_state() == one.get_state() == state
    # An incomplete state of one's own leaves the stream where it is.
    other.set_state({"door": 0, "position": 1, "length": 7})
    assert other.get_state()["door"] == 0


def test_methods_of_a_class_beside_and_a_state_that_is_no_dict():
    class Door:
        def get_state(self):
            return self.door

        def set_state(self, state):
            self.door = state

    class Mixed(Door, Corridor):
        pass

    env = Mixed()
    env.reset(seed=1)
    with pytest.raises(InvalidStateError, match=r"Mixed\.get_state: expected a dict"):
        env.get_state()
    assert not hasattr(Door.get_state, "keeps_stream")
