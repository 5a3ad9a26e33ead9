"""The text wrapper of environments that are objects: steps, infos, states."""

import random
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

from roll_vec import BaseDiscreteActionEnv, BaseLanguageBasedEnv
from roll_vec.errors import (
    ClosedError,
    InvalidActionError,
    InvalidStateError,
    UnsupportedError,
)
from roll_vec.text.options import TextOptions
from roll_vec.text.wrapper import TextWrapper
from tests.contract.cases import assert_same
from tests.pool.snapshot_envs import NoopCounter
from tests.text.test_action_parser import ANSWER, THINK, plain_parse


class Echo(BaseLanguageBasedEnv):
    """Repeats each action; returns the same info objects at each step."""

    def __init__(self, info=None):
        super().__init__()
        self.reset_info, self.info = {"extra": 1}, {"echo": True} | (info or {})
        self.actions = []

    def get_instructions(self):
        return f"Level {self.level_seed}."

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "start", self.reset_info

    def step(self, action):
        self.actions.append(action)
        return f"echo {action}", 1.0, False, False, self.info


class Walk(BaseDiscreteActionEnv):
    """Goes one cell right or left, ends at 3; returns the same array at each step."""

    ACTION_LOOKUP: ClassVar = {1: "Left", 2: "Right"}
    first = 1

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(-99, 99, (1,), np.int64)
        self.action_space = gymnasium.spaces.Discrete(2, start=self.first)
        self.place = np.zeros(1, np.int64)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place[:] = self.steps = 0
        return self.place, {}

    def step(self, action):
        self.steps += 1
        side = action - self.first
        is_action = side in (0, 1)
        self.place += (2 * side - 1) * is_action
        terminated = bool(self.place[0] == 3)
        info = {
            "action_is_effective": is_action and side == 1,
            "action_is_valid": is_action,
            "success": terminated,
            "prob": 0.5,
        }
        return self.place, float(side) / 4, terminated, self.steps == 6, info


class WalkFromZero(Walk):
    """The same with 0 as an action."""

    ACTION_LOOKUP: ClassVar = {0: "Left", 1: "Right"}
    first = 0


def make(env, **options):
    """Return an environment in a wrapper, reset."""
    wrapper = TextWrapper(env, TextOptions(**options))
    wrapper.reset(seed=5)
    return wrapper


class PlainWrapper:
    """The rules of a wrapper around a `Walk`, one action after the other."""

    def __init__(self, env, **options):
        self.env, self.options = env, TextOptions(**options)
        self.reset()

    def reset(self):
        self.last = self.env.reset(seed=5)[0].copy(), {}

    def step(self, text):
        lookup = self.env.ACTION_LOOKUP
        actions, content, think, is_valid = plain_parse(text, self.options, lookup)
        if not actions and 0 in lookup:
            # It is not stepped: what was there is there again.
            observation, success = self.last
            reward, ends, info = 0.0, [False, False], success
            info = {"action_is_effective": False, "action_is_valid": True, **success}
        else:
            reward, is_effective = 0.0, False
            for action in actions or (0,):
                observation, gain, *ends, info = self.env.step(action)
                reward += gain
                is_effective |= info["action_is_effective"]
                if any(ends):
                    break
            info = {**info, "action_is_effective": is_effective}
            self.last = observation.copy(), {"success": info["success"]}
        info["action_is_valid"] &= is_valid
        if not info["action_is_valid"]:
            reward += self.options.format_penalty
        info |= {"action_content": content, "think_content": think}
        return observation, reward, *ends, info


PARTS = ("right", " LEFT ", "Right", "jump", "", "right||right", "right||left||jump")
TURNS = {"action_separator": "||", "max_actions_per_turn": 4}


@pytest.mark.parametrize("walk", [Walk, WalkFromZero])
@pytest.mark.parametrize("turns", [{}, TURNS], ids=["actions", "turns"])
@pytest.mark.parametrize("pattern", [None, ANSWER, THINK])
def test_texts_step_an_environment_of_integers_by_the_rules(walk, turns, pattern):
    options = {"action_pattern": pattern, "format_penalty": -0.5, **turns}
    wrapper, plain = make(walk(), **options), PlainWrapper(walk(), **options)
    rng = random.Random(0)
    for number in range(300):
        text = "||".join(rng.choices(PARTS, k=rng.choice([1, 1, 2, 4])))
        if pattern and rng.random() < 0.8:
            text = f"<think>so</think><answer>{text}</answer>"
        steps = wrapper.env.steps
        result = wrapper.step(text)
        assert_same(result, plain.step(text))
        assert wrapper.env.steps == plain.env.steps
        if wrapper.env.steps == steps:
            result[0][:] = 77  # What is repeated is a copy.
        if any(result[2:4]) or number % 50 == 49:
            wrapper.reset(seed=5)
            plain.reset()


@pytest.mark.parametrize("env", [Echo(), Walk()])
def test_actions_are_texts(env):
    for action in (None, 1, b"Right"):
        with pytest.raises(InvalidActionError, match=f"expected a str, got {action!r}"):
            make(env).step(action)


def test_bad_states_are_refused():
    env = TextWrapper(NoopCounter(), TextOptions(action_separator=","))
    env.reset(seed=1)
    before = env.get_state()
    for state in (before["env"], {**before, "more": 1}, None):
        with pytest.raises(InvalidStateError, match="state: expected a state of Text"):
            env.set_state(state)
    assert env.get_state() == before
    env.close()
    with pytest.raises(ClosedError, match="NoopCounter"):
        env.set_state(before)
    for call in (make(Echo()).get_state, lambda: make(Echo()).set_state({})):
        with pytest.raises(UnsupportedError, match="Echo has no get_state"):
            call()


def test_results_of_the_wrong_length_are_named():
    env = TextWrapper(Echo())
    env.unwrapped.step = lambda action: ("old", 1.0, True, {})
    with pytest.raises(TypeError, match=r"4 values, expected 5: .*the old Gym's"):
        env.step("go")
    for result, words in (
        ("no info", "'no info', expected 2 values"),
        ((1, 2, 3), "3 values, expected 2 values"),
        ((1, 2), "the info 2, expected a dict"),
        ({"a": 1, "b": 2}, "expected 2 values"),
    ):
        env.unwrapped.reset = lambda result=result, **_: result
        with pytest.raises(TypeError, match=rf"{words}.*\(observation, \{{\}}\)"):
            env.reset()
