"""The text layer over environments that are objects."""

import pickle
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

from roll_vec.base_envs import BaseDiscreteActionEnv, BaseLanguageBasedEnv
from roll_vec.errors import InvalidActionError, InvalidOptionError
from roll_vec.spaces import UnicodeText
from roll_vec.text.options import TextOptions
from roll_vec.text.wrapper import TextWrapper

ANSWER = "<answer>(.*?)</answer>"
THINK = rf"<think>(.*?)</think>\s*{ANSWER}"


class Echo(BaseLanguageBasedEnv):
    """Says what it heard; its dicts are its own."""

    def __init__(self, info=None):
        super().__init__()
        self.reset_info, self.info = {"kept": 1}, {"heard": True} | (info or {})
        self.heard = []

    def get_instructions(self):
        return f"Level {self.level_seed}."

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "start", self.reset_info

    def step(self, action):
        self.heard.append(action)
        return f"heard {action}", 1.0, False, False, self.info


class Walk(BaseDiscreteActionEnv):
    """Goes one to the right or to the left, and ends at 3; arrays are its own."""

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
        moved = side in (0, 1)
        self.place += (2 * side - 1) * moved
        ended = bool(self.place[0] == 3)
        info = {
            "action_is_effective": moved and side == 1,
            "action_is_valid": moved,
            "success": ended,
        }
        return self.place, float(side) / 4, ended, self.steps == 6, info


class WalkFromZero(Walk):
    ACTION_LOOKUP: ClassVar = {0: "Left", 1: "Right"}
    first = 0


def test_texts_go_to_the_environment_as_they_come():
    env = Echo()
    layer = TextWrapper(env)
    assert layer.reset(seed=5) == (
        "start",
        {"kept": 1, "env_instruction": "Level 5."},
    )
    assert layer.step(" <answer>hi</answer><|im_end|>") == (
        "heard  <answer>hi</answer><|im_end|>",
        1.0,
        False,
        False,
        {
            "heard": True,
            "action_is_valid": True,
            "action_content": " <answer>hi</answer><|im_end|>",
            "think_content": "",
        },
    )
    assert (env.reset_info, env.info) == ({"kept": 1}, {"heard": True})


def test_contents_go_to_the_environment():
    env = Echo()
    layer = TextWrapper(env, TextOptions(action_pattern=THINK, format_penalty=-0.5))
    layer.reset(seed=5)
    result = layer.step("<think> so </think>\n<answer>2 + 2<|im_end|> </answer>")
    assert result[:2] == ("heard 2 + 2", 1.0)
    assert result[4] == {
        "heard": True,
        "action_is_valid": True,
        "action_content": "2 + 2",
        "think_content": "so",
    }
    result = layer.step("2 + 2")
    assert result[:2] == ("heard ", 0.5)
    assert result[4]["action_is_valid"] is False
    assert result[4]["action_content"] == result[4]["think_content"] == ""
    # An empty answer is one; what it is worth is for the environment to say.
    assert layer.step("<think></think><answer></answer>")[1] == 1.0
    assert env.heard == ["2 + 2", "", ""]
    assert env.info == {"heard": True}


def test_the_environment_judges_what_it_heard():
    for options in (None, TextOptions(action_pattern=ANSWER)):
        layer = TextWrapper(Echo({"action_is_valid": False, "success": True}), options)
        layer.reset(seed=0)
        info = layer.step("<answer>a</answer>")[4]
        assert info["action_is_valid"] is False
        assert info["success"] is True
    layer = TextWrapper(Echo({"action_is_valid": True}), options)
    layer.reset(seed=0)
    assert layer.step("a")[4]["action_is_valid"] is False


def test_instructions_of_the_environment_s_own_stay():
    env = Echo()
    env.reset_info = {"env_instruction": "Mine."}
    assert TextWrapper(env).reset(seed=0)[1] == {"env_instruction": "Mine."}


def test_names_are_actions():
    layer = TextWrapper(Walk(), TextOptions(action_pattern=ANSWER))
    layer.reset(seed=0)
    observation, reward, *ends, info = layer.step("<answer> rIGHT</answer>")
    assert observation.tolist() == [1]
    assert (reward, ends) == (0.25, [False, False])
    assert info == {
        "action_is_effective": True,
        "action_is_valid": True,
        "success": False,
        "action_content": "rIGHT",
        "think_content": "",
    }
    assert layer.step("<answer>left</answer>")[1] == 0.0


def test_zero_stands_for_no_valid_action():
    env = Walk()
    layer = TextWrapper(env, TextOptions(format_penalty=-0.5))
    layer.reset(seed=0)
    layer.step("Right")
    observation, reward, *ends, info = layer.step("jump")
    assert observation.tolist() == [1]
    assert (reward, ends) == (-0.25 - 0.5, [False, False])
    assert info["action_is_valid"] is info["action_is_effective"] is False
    assert info["action_content"] == "jump"
    assert env.steps == 2


def test_without_a_zero_to_spare_the_environment_waits():
    env = WalkFromZero()
    layer = TextWrapper(env, TextOptions(format_penalty=-0.5))
    observation, _ = layer.reset(seed=0)
    assert layer.step("")[4] == {
        "action_is_effective": False,
        "action_is_valid": False,
        "action_content": "",
        "think_content": "",
    }
    observation, *_ = layer.step("right")
    observation[:] = 77
    observation, reward, *ends, info = layer.step("jump")
    assert observation.tolist() == [1]
    assert (reward, ends) == (-0.5, [False, False])
    assert info["success"] is False
    assert info["action_is_valid"] is info["action_is_effective"] is False
    assert env.steps == 1
    layer.reset()
    assert "success" not in layer.step("jump")[4]


@pytest.mark.parametrize("walk", [Walk, WalkFromZero])
def test_turns_play_their_actions_one_by_one(walk):
    env = walk()
    options = TextOptions(
        action_separator="||", max_actions_per_turn=4, format_penalty=-1.0
    )
    layer = TextWrapper(env, options)
    layer.reset(seed=0)
    observation, reward, *ends, info = layer.step("right || right || LEFT")
    assert observation.tolist() == [1]
    assert (reward, ends, info["action_is_effective"]) == (0.5, [False, False], True)
    assert info["action_content"] == "right || right || LEFT"
    observation, reward, *_, info = layer.step("right||jump")
    assert (observation.tolist(), reward) == ([2], 0.25 - 1.0)
    assert (info["action_is_valid"], info["action_is_effective"]) == (False, True)
    # The end leaves what is behind it out; it was said nevertheless.
    observation, reward, *ends, info = layer.step("right||left||left||left||jump")
    assert observation.tolist() == [3]
    assert (reward, ends) == (0.25, [True, False])
    assert info["success"] is info["action_is_valid"] is True
    assert env.steps == 5


def test_a_limit_of_the_environment_s_own_ends_a_turn():
    layer = TextWrapper(
        Walk(), TextOptions(action_separator=",", max_actions_per_turn=9)
    )
    layer.reset(seed=0)
    assert layer.step("left,left,left,left,left,left,left")[2:4] == (False, True)
    assert layer.env.steps == 6


def test_environments_of_text_take_no_separator():
    with pytest.raises(InvalidOptionError, match="action_separator: '\\|\\|' has no"):
        TextWrapper(Echo(), TextOptions(action_separator="||"))


@pytest.mark.parametrize("env_class", [Echo, Walk])
@pytest.mark.parametrize("action", [None, 1, b"Right"])
def test_bad_actions_are_named(env_class, action):
    layer = TextWrapper(env_class())
    layer.reset(seed=0)
    with pytest.raises(InvalidActionError, match="expected a str, got"):
        layer.step(action)


def test_action_spaces_sample_actions():
    layer = TextWrapper(Walk(), TextOptions(action_pattern=THINK))
    layer.reset(seed=0)
    assert isinstance(layer.action_space, UnicodeText)
    layer.action_space.seed(0)
    said = {layer.action_space.sample() for _ in range(20)}
    assert said == {
        f"<think>...</think><answer>{name}</answer>" for name in ("Left", "Right")
    }
    env = Echo()
    env.action_space = UnicodeText(9, examples=("1 + 1",))
    assert TextWrapper(env).action_space is env.action_space
    layer = TextWrapper(env, TextOptions(action_pattern=ANSWER))
    assert layer.action_space.sample() == "<answer>1 + 1</answer>"


def test_layers_are_wrappers():
    layer = TextWrapper(Walk(), TextOptions(action_separator="||"))
    layer.reset(seed=3)
    layer.step("right")
    assert layer.unwrapped.level_seed == 3
    assert layer.get_wrapper_attr("steps") == 1
    assert layer.observation_space == layer.unwrapped.observation_space
    again = pickle.loads(pickle.dumps(layer))
    assert again.step("right||right")[2] is True
    assert layer.step("right")[0].tolist() == [2]


@pytest.mark.parametrize("pattern", [None, ANSWER])
def test_what_the_environment_calls_invalid_costs_the_penalty_once(pattern):
    options = TextOptions(action_pattern=pattern, format_penalty=-0.25)
    layer = TextWrapper(Echo({"action_is_valid": False}), options)
    layer.reset(seed=0)
    for text in ("<answer>x</answer>", "x"):
        _, reward, *_, info = layer.step(text)
        assert reward == 0.75
        assert info["action_is_valid"] is False


def test_another_number_of_values_is_named():
    """And not only in a pool: what the wrapper would unpack says nothing."""
    env = TextWrapper(Echo())
    env.unwrapped.step = lambda action: ("old", 1.0, True, {})
    env.unwrapped.reset = lambda **_: "no info"
    with pytest.raises(TypeError, match=r"4 values, expected 5: .*the old Gym's"):
        env.step("go")
    with pytest.raises(TypeError, match=r"'no info', expected 2 values.*, \{\}\)"):
        env.reset()
