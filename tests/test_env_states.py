"""States of environments in wrappers: those of known layers, and no others."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import OrderEnforcing, TimeLimit, TransformReward

from roll_vec.env_states import (
    check_env_state,
    get_env_state,
    set_env_state,
    supports_state,
)
from roll_vec.envs.countdown import Countdown
from roll_vec.errors import InvalidStateError, UnsupportedError


class Walker(gymnasium.Env):
    """Has both methods, and its generator is no part of its state."""

    observation_space = gymnasium.spaces.Discrete(9)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.place = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(3))
        return self.place, {}

    def step(self, action):
        self.place = (self.place + int(self.np_random.integers(3))) % 9
        return self.place, 0.0, False, False, {}

    def get_state(self):
        return self.place

    def set_state(self, state):
        if state < 0:
            message = "negative"
            raise ValueError(message)
        self.place = state


class MuJoCoLike(Walker):
    """The method of the same name is another one."""

    def set_state(self, position, velocity):
        self.place = position


class Saving(gymnasium.Wrapper):
    """Stands for all layers below it."""

    def get_state(self):
        return {"all": self.env.unwrapped.place}

    def set_state(self, state):
        self.env.unwrapped.place = state["all"]


def walk(env, steps=6):
    return [env.step(0)[:4] for _ in range(steps)]


def test_the_layers_of_gymnasium_make_have_states():
    env = TimeLimit(OrderEnforcing(Walker()), 10)
    assert supports_state(env)
    env.reset(seed=3)
    walk(env, 5)
    state = get_env_state(env)
    assert state["_elapsed_steps"] == 5
    expected = walk(env)
    assert [truncated for *_, truncated in expected] == [False] * 4 + [True] * 2
    other = TimeLimit(OrderEnforcing(Walker()), 10)
    set_env_state(other, state)
    assert walk(other) == expected
    assert other.unwrapped.np_random_seed == 3


def test_the_checker_does_not_compare_with_results_of_another():
    env = gymnasium.make("roll_vec/Countdown-v0", max_steps=5, max_episode_steps=9)
    env.reset(seed=1)
    for num_steps in range(3):
        other = gymnasium.make(
            "roll_vec/Countdown-v0", max_steps=5, max_episode_steps=9
        )
        set_env_state(other, get_env_state(env))
        assert other.step("1")[0] == env.step("1")[0], num_steps
        assert other.reset(seed=2) == gymnasium.make("roll_vec/Countdown-v0").reset(
            seed=2
        )


def test_a_wrapper_with_both_methods_stands_for_all_below():
    env = TimeLimit(Saving(TransformReward(Walker(), float)), 9)
    assert supports_state(env)
    env.reset(seed=1)
    state = get_env_state(env)
    assert state == {"_elapsed_steps": 0, "env": {"all": env.unwrapped.place}}
    set_env_state(env, {"_elapsed_steps": 2, "env": {"all": 7}})
    assert env.unwrapped.place == 7


@pytest.mark.parametrize(
    "env",
    [
        TransformReward(Walker(), float),
        TimeLimit(TransformReward(Countdown(), float), 5),
        MuJoCoLike(),
        gymnasium.make("CartPole-v1"),
    ],
    ids=str,
)
def test_other_layers_have_no_state(env):
    assert not supports_state(env)
    with pytest.raises(UnsupportedError, match="has no get_state and set_state"):
        get_env_state(env)
    with pytest.raises((UnsupportedError, InvalidStateError)):
        set_env_state(env, {})


def test_a_state_of_other_layers_changes_nothing():
    env = TimeLimit(Walker(), 9)
    env.reset(seed=1)
    before = get_env_state(env)
    inner = before["env"]
    for state in (
        inner,
        {"env": inner},
        5,
        {**before, "env": {**inner, "np_random": {"bit_generator": "system"}}},
        {**before, "env": {**inner, "np_random": {"bit_generator": "PCG64"}}},
        {**before, "env": {**inner, "np_random": 5}},
        {**before, "env": inner["state"]},
    ):
        with pytest.raises(InvalidStateError, match="state"):
            set_env_state(env, state)
        assert get_env_state(env) == before
    with pytest.raises(ValueError, match="negative"):
        set_env_state(env, {**before, "env": {**inner, "state": -1}})
    assert get_env_state(env) == before


@pytest.mark.parametrize("name", ["PCG64", "MT19937", "Philox", "SFC64", "PCG64DXSM"])
def test_every_generator_of_numpy_goes_on(name):
    env, other = Walker(), Walker()
    env.np_random = np.random.Generator(getattr(np.random, name)(5))
    env.np_random.random(3)
    set_env_state(other, get_env_state(env))
    assert other.np_random.random(5).tolist() == env.np_random.random(5).tolist()
    assert other.np_random is not env.np_random


class Careful(Walker):
    """Has a check of its own."""

    def check_state(self, state):
        if state > 8:
            message = "beyond the last place"
            raise InvalidStateError(message)


@pytest.mark.parametrize("build", [Careful, Saving, Countdown])
def test_a_check_moves_nothing(build):
    inside = build(Careful()) if build is Saving else build()
    env = TimeLimit(OrderEnforcing(inside), 9)
    env.reset(seed=1)
    state = get_env_state(env)
    env.step("0" if build is Countdown else 0)
    later = get_env_state(env)
    check_env_state(env, state)
    bad_states = [None, {"env": state["env"]}, {**state, "env": None}]
    if build is Careful:
        inner = state["env"]["env"]
        for change in ({"np_random": 1}, {"state": 9}):
            layer = {**state["env"], "env": {**inner, **change}}
            bad_states.append({**state, "env": layer})
    for bad in bad_states:
        with pytest.raises(InvalidStateError):
            check_env_state(env, bad)
    assert get_env_state(env) == later
    set_env_state(env, state)
    assert get_env_state(env) == state
