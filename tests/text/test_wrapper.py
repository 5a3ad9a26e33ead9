"""The text wrapper of environments that are objects: steps, infos, states."""

import copy
import pickle
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

from roll_vec.base_envs import BaseDiscreteActionEnv, BaseLanguageBasedEnv
from roll_vec.envs.countdown import Countdown
from roll_vec.errors import (
    ClosedError,
    InvalidActionError,
    InvalidOptionError,
    InvalidStateError,
    UnsupportedError,
)
from roll_vec.spaces import UnicodeText
from roll_vec.text.options import TextOptions
from roll_vec.text.wrapper import TextWrapper
from tests.pool.snapshot_envs import NoopCounter

ANSWER = "<answer>(.*?)</answer>"
THINK = rf"<think>(.*?)</think>\s*{ANSWER}"


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


def test_texts_go_to_the_environment_as_they_come():
    env = Echo()
    wrapper = TextWrapper(env)
    assert wrapper.reset(seed=5) == (
        "start",
        {"extra": 1, "env_instruction": "Level 5."},
    )
    assert wrapper.step(" <answer>hi</answer><|im_end|>") == (
        "echo  <answer>hi</answer><|im_end|>",
        1.0,
        False,
        False,
        {
            "echo": True,
            "action_is_valid": True,
            "action_content": " <answer>hi</answer><|im_end|>",
            "think_content": "",
        },
    )
    assert (env.reset_info, env.info) == ({"extra": 1}, {"echo": True})
    env.reset_info = {"env_instruction": "Mine."}
    assert wrapper.reset(seed=0)[1] == {"env_instruction": "Mine."}


def test_contents_go_to_the_environment():
    env = Echo()
    wrapper = TextWrapper(env, TextOptions(action_pattern=THINK, format_penalty=-0.5))
    wrapper.reset(seed=5)
    result = wrapper.step("<think> so </think>\n<answer>2 + 2<|im_end|> </answer>")
    assert result[:2] == ("echo 2 + 2", 1.0)
    assert result[4] == {
        "echo": True,
        "action_is_valid": True,
        "action_content": "2 + 2",
        "think_content": "so",
    }
    result = wrapper.step("2 + 2")
    assert result[:2] == ("echo ", 0.5)
    assert result[4]["action_is_valid"] is False
    assert result[4]["action_content"] == result[4]["think_content"] == ""
    # An empty answer is one; what it is worth is for the environment to say.
    assert wrapper.step("<think></think><answer></answer>")[1] == 1.0
    assert env.actions == ["2 + 2", "", ""]
    assert env.info == {"echo": True}


def test_the_environment_decides_on_a_text_that_matches():
    # What it refuses costs the penalty once, whether the text matches or not.
    for pattern in (None, ANSWER):
        options = TextOptions(action_pattern=pattern, format_penalty=-0.25)
        wrapper = TextWrapper(
            Echo({"action_is_valid": False, "success": True}), options
        )
        wrapper.reset(seed=0)
        _, reward, *_, info = wrapper.step("<answer>a</answer>")
        assert (reward, info["action_is_valid"], info["success"]) == (0.75, False, True)
        assert wrapper.step("a")[1] == 0.75
    wrapper = TextWrapper(Echo({"action_is_valid": True}), options)
    wrapper.reset(seed=0)
    assert wrapper.step("a")[4]["action_is_valid"] is False


def test_names_are_actions():
    wrapper = TextWrapper(Walk(), TextOptions(action_pattern=ANSWER))
    wrapper.reset(seed=0)
    observation, reward, *ends, info = wrapper.step("<answer> rIGHT</answer>")
    assert observation.tolist() == [1]
    assert (reward, ends) == (0.25, [False, False])
    assert info == {
        "action_is_effective": True,
        "action_is_valid": True,
        "success": False,
        "prob": 0.5,
        "action_content": "rIGHT",
        "think_content": "",
    }
    assert wrapper.step("<answer>left</answer>")[1] == 0.0


def test_zero_stands_for_no_valid_action():
    env = Walk()
    wrapper = TextWrapper(env, TextOptions(format_penalty=-0.5))
    wrapper.reset(seed=0)
    wrapper.step("Right")
    observation, reward, *ends, info = wrapper.step("jump")
    assert observation.tolist() == [1]
    assert (reward, ends) == (-0.25 - 0.5, [False, False])
    assert info["action_is_valid"] is info["action_is_effective"] is False
    assert info["action_content"] == "jump"
    assert env.steps == 2


def test_without_a_code_for_no_action_the_environment_is_not_stepped():
    env = WalkFromZero()
    wrapper = TextWrapper(env, TextOptions(format_penalty=-0.5))
    observation, _ = wrapper.reset(seed=0)
    assert wrapper.step("")[4] == {
        "action_is_effective": False,
        "action_is_valid": False,
        "action_content": "",
        "think_content": "",
    }
    observation, *_ = wrapper.step("right")
    observation[:] = 77
    observation, reward, *ends, info = wrapper.step("jump")
    assert observation.tolist() == [1]
    assert (reward, ends) == (-0.5, [False, False])
    assert info["success"] is False
    assert info["action_is_valid"] is info["action_is_effective"] is False
    assert env.steps == 1
    wrapper.reset()
    assert "success" not in wrapper.step("jump")[4]


@pytest.mark.parametrize("walk", [Walk, WalkFromZero])
def test_turns_play_their_actions_one_by_one(walk):
    env = walk()
    options = TextOptions(
        action_separator="||", max_actions_per_turn=4, format_penalty=-1.0
    )
    wrapper = TextWrapper(env, options)
    wrapper.reset(seed=0)
    observation, reward, *ends, info = wrapper.step("right || right || LEFT")
    assert observation.tolist() == [1]
    assert (reward, ends, info["action_is_effective"]) == (0.5, [False, False], True)
    # Other infos are the last action's.
    assert info["prob"] == 0.5
    assert info["action_content"] == "right || right || LEFT"
    observation, reward, *_, info = wrapper.step("right||jump")
    assert (observation.tolist(), reward) == ([2], 0.25 - 1.0)
    assert (info["action_is_valid"], info["action_is_effective"]) == (False, True)
    # The end leaves what is behind it out; it was said nevertheless.
    observation, reward, *ends, info = wrapper.step("right||left||left||left||jump")
    assert observation.tolist() == [3]
    assert (reward, ends) == (0.25, [True, False])
    assert info["success"] is info["action_is_valid"] is True
    assert env.steps == 5


def test_a_limit_of_the_environment_s_own_ends_a_turn():
    wrapper = TextWrapper(
        Walk(), TextOptions(action_separator=",", max_actions_per_turn=9)
    )
    wrapper.reset(seed=0)
    assert wrapper.step("left,left,left,left,left,left,left")[2:4] == (False, True)
    assert wrapper.env.steps == 6


def test_bad_actions_and_options_are_named():
    for env_class in (Echo, Walk):
        wrapper = TextWrapper(env_class())
        wrapper.reset(seed=0)
        for action in (None, 1, b"Right"):
            with pytest.raises(InvalidActionError, match="expected a str, got"):
                wrapper.step(action)
    with pytest.raises(InvalidOptionError, match="action_separator: '\\|\\|' has no"):
        TextWrapper(Echo(), TextOptions(action_separator="||"))


def test_action_spaces_sample_actions():
    wrapper = TextWrapper(Walk(), TextOptions(action_pattern=THINK))
    wrapper.reset(seed=0)
    assert isinstance(wrapper.action_space, UnicodeText)
    wrapper.action_space.seed(0)
    samples = {wrapper.action_space.sample() for _ in range(20)}
    assert samples == {
        f"<think>...</think><answer>{name}</answer>" for name in ("Left", "Right")
    }
    env = Echo()
    env.action_space = UnicodeText(9, examples=("1 + 1",))
    assert TextWrapper(env).action_space is env.action_space
    wrapper = TextWrapper(env, TextOptions(action_pattern=ANSWER))
    assert wrapper.action_space.sample() == "<answer>1 + 1</answer>"


def test_attributes_and_pickles_pass_through():
    wrapper = TextWrapper(Walk(), TextOptions(action_separator="||"))
    wrapper.reset(seed=3)
    wrapper.step("right")
    assert wrapper.unwrapped.level_seed == 3
    assert wrapper.get_wrapper_attr("steps") == 1
    assert wrapper.observation_space == wrapper.unwrapped.observation_space
    again = pickle.loads(pickle.dumps(wrapper))
    assert again.step("right||right")[2] is True
    assert wrapper.step("right")[0].tolist() == [2]


def test_results_of_the_wrong_length_are_named():
    env = TextWrapper(Echo())
    env.unwrapped.step = lambda action: ("old", 1.0, True, {})
    env.unwrapped.reset = lambda **_: "no info"
    with pytest.raises(TypeError, match=r"4 values, expected 5: .*the old Gym's"):
        env.step("go")
    with pytest.raises(TypeError, match=r"'no info', expected 2 values.*, \{\}\)"):
        env.reset()


# -------------------------------------------------------------------- states

TEXTS = ("up", "?", "down, up", "", "stay", "up, up", "?")


def make():
    """Return a wrapper that repeats results after texts without an action."""
    return TextWrapper(NoopCounter(), TextOptions(action_separator=","))


@pytest.mark.parametrize("num_steps", [0, 2, 4, 5, 7])
def test_it_goes_on_alike_and_apart(num_steps):
    env, twin, fresh = make(), make(), make()
    env.reset(seed=4)
    for text in TEXTS[:num_steps]:
        env.step(text)
    state = env.get_state()
    saved = copy.deepcopy(state)
    twin.reset(seed=9)
    twin.step("up")
    for other in (twin, fresh):
        other.set_state(state)
    expected = [env.step(text) for text in ("", *TEXTS)]
    assert [twin.step(text) for text in ("", *TEXTS)] == expected
    assert state == saved
    assert [fresh.step(text) for text in ("", *TEXTS)] == expected
    assert fresh.reset() == env.reset()


def test_with_an_environment_of_text_it_is_the_state_of_the_environment():
    env = TextWrapper(Countdown(max_steps=3), TextOptions())
    env.reset(seed=1)
    env.step("1")
    assert env.get_state() == env.unwrapped.get_state()
    other = TextWrapper(Countdown(max_steps=3), TextOptions())
    other.set_state(env.unwrapped.get_state())
    assert other.step("2") == env.step("2")


def test_bad_states_are_refused():
    env = make()
    env.reset(seed=1)
    before = env.get_state()
    for state in (before["env"], {**before, "more": 1}, None):
        with pytest.raises(InvalidStateError, match="a state of TextWrapper with"):
            env.set_state(state)
    assert env.get_state() == before
    env.close()
    with pytest.raises(ClosedError):
        env.set_state(before)
    echo = TextWrapper(Echo())
    echo.reset(seed=1)
    for call in (echo.get_state, lambda: echo.set_state({})):
        with pytest.raises(UnsupportedError, match="Echo has no get_state"):
            call()
