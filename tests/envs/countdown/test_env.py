"""One Countdown: observations, rewards, infos, hints, oracle, step by step."""

import math

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.countdown import Countdown, CountdownOptions
from roll_vec.envs.countdown.env import EXAMPLES
from roll_vec.envs.countdown.grading import REASONS
from roll_vec.envs.countdown.texts import HINTS_BY_REASON
from roll_vec.errors import ResetNeededError
from roll_vec.spaces import UnicodeText
from tests.oracles import countdown as oracle


def with_task(nums, target, **keywords):
    """Return an environment with a given task."""
    env = Countdown(num_numbers=len(nums), **keywords)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "nums": nums, "target": target})
    return env


def test_the_first_episode_is_as_documented():
    env = Countdown()
    observation, info = env.reset(seed=0)
    assert observation == "Target: 67, nums: [70, 71, 22, 12]"
    assert (env.nums, env.target, env.level_seed) == ([70, 71, 22, 12], 67, 0)
    assert info == {}
    observation, reward, terminated, truncated, info = env.step(env.oracle_action)
    assert observation == "Target: 67, nums: [70, 71, 22, 12]"
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info == {
        "reason": "correct",
        "success": True,
        "action_is_valid": True,
        "action_is_effective": True,
        "value": 67.0,
    }


# For nums 3, 8, 1 and target 24: reward by ROLL's rule, by TinyZero's, and the info.
ANSWERS = [
    ("3*8*1", 1.0, 1.0, "correct", True, True, 24.0),
    (" ( 3 * 8 ) /1\n", 1.0, 1.0, "correct", True, True, 24.0),
    ("3+8+1", 0.1, 0.1, "wrong_value", True, True, 12.0),
    ("1/3-8", 0.1, 0.1, "wrong_value", True, True, -23 / 3),
    ("3*8", 0.0, 0.1, "wrong_numbers", True, False, 24.0),
    ("24", 0.0, 0.1, "wrong_numbers", True, False, 24.0),
    ("1/(3-3)", 0.0, 0.1, "wrong_numbers", True, False, None),
    ("", 0.0, 0.0, "empty", False, False, None),
    ("  ", 0.0, 0.0, "empty", False, False, None),
    ("3*8*1.", 0.0, 0.1, "bad_character", False, False, None),
    ("3**8", 0.0, 0.1, "syntax", False, False, None),
    ("03*8*1", 0.0, 0.1, "bad_number", False, False, None),
    ("(" * 17, 0.0, 0.1, "too_deep", False, False, None),
    ("1+" * 17, 0.0, 0.1, "too_many_tokens", False, False, None),
    ("9" * (1 << 20), 0.0, 0.1, "too_long", False, False, None),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer[0][:12])
@pytest.mark.parametrize("rule", ["roll", "tinyzero"])
def test_reward_and_info_of_an_answer(answer, rule):
    text, roll, tinyzero, reason, valid, effective, value = answer
    env = with_task([3, 8, 1], 24, reward_rule=rule)
    observation, reward, terminated, truncated, info = env.step(text)
    assert observation == "Target: 24, nums: [3, 8, 1]"
    assert reward == (roll if rule == "roll" else tinyzero)
    assert (terminated, truncated) == (True, False)
    if value is not None:
        assert info.pop("value") == value
    assert info == {
        "reason": reason,
        "success": reason == "correct",
        "action_is_valid": valid,
        "action_is_effective": effective,
    }


def test_a_division_by_zero_has_the_right_form():
    large = 10**18 - 1
    for nums in ([3, 3, 8], [large, large, 8]):
        env = with_task(nums, 24, max_digits=18, number_range=(1, 9))
        _, reward, _, _, info = env.step("{2}/({0}-{1})".format(*nums))
        assert (reward, info["reason"]) == (0.1, "division_by_zero")
        assert info["action_is_valid"]
        assert info["action_is_effective"]
        assert "value" not in info


@pytest.mark.parametrize(
    ("option", "text", "with_option", "without"),
    [
        ("unicode_operators", "3×8÷1−0", "wrong_numbers", "bad_character"),
        ("unicode_operators", "3×8÷1", "correct", "bad_character"),
        ("trailing_target", "3*8*1 = 24", "correct", "bad_character"),
        ("trailing_target", "3*8*1 = 25", "bad_character", "bad_character"),
        ("trailing_target", "3*8*1 = 24 = 24", "bad_character", "bad_character"),
        ("unary_minus", "-1*8*-3", "correct", "syntax"),
    ],
)
def test_forms_of_answers_on_request(option, text, with_option, without):
    for value, reason in ((True, with_option), (False, without)):
        env = with_task([3, 8, 1], 24, **{option: value})
        assert env.step(text)[4]["reason"] == reason


def test_values_are_the_nearest_floats_of_python():
    nines = "*".join(["9" * 18] * 20)
    values = {nines: math.inf, f"1-{nines}": -math.inf, f"1/({nines})": 0.0}
    values |= {f"{nines}/(1-2)": -math.inf, f"(1-2)/(0-{nines})": 0.0}
    limits = {"max_digits": 18, "max_tokens": 99, "max_chars": 999}
    for text in ("999999999999999999/7", "1/3", "123456789012345678/(7-1000000007)"):
        values[text] = float(oracle.grade(text, [], 0, **limits)[1])
    limits |= {"format_score": np.float32(0.5), "reward_rule": "tinyzero"}
    env = with_task([1], 1, **limits)
    for text, value in values.items():
        env.set_state({**env.get_state(), "open": True})
        result = env.step(text)
        assert (result[1], result[4]["value"]) == (0.5, value)
        assert [type(x) for x in result] == [str, float, bool, bool, dict]
        assert [type(x) for x in result[4].values()] == [str, bool, bool, bool, float]


HINTS = [
    ("3+8+1", "Your answer is 12, not 24."),
    ("3-8+1", "Your answer is -4, not 24."),
    ("2/3", "Your answer does not use the given numbers as it should."),
    ("8/3+1", "Your answer is 11/3, not 24."),
    ("", "You gave no answer."),
    (" " * 257, "Your answer has more than 256 characters."),
    ("(" * 33, "Your answer nests more than 16 parentheses."),
    (
        "1+" * 17,
        "Your answer has more than 32 numbers, operators and parentheses.",
    ),
    ("é", "Your answer has a character that no expression has."),
    ("03", "Your answer has a number with a leading zero or more than 9 digits."),
    ("3**8", "Your answer is no complete expression."),
]


def test_several_answers():
    env = with_task([3, 8, 1], 24, max_steps=len(HINTS) + 1)
    task = "Target: 24, nums: [3, 8, 1]"
    for number, (text, hint) in enumerate(HINTS):
        observation, reward, terminated, truncated, info = env.step(text)
        assert observation == f"{task}\n{hint}"
        assert observation in env.observation_space
        assert reward == (0.1 if info["action_is_effective"] else 0.0)
        assert not terminated
        assert not truncated
        assert env.num_env_steps == number + 1
    assert env.step("3*8*1")[:4] == (task, 1.0, True, False)


def test_hints_of_other_kinds():
    env = with_task([3, 3, 8], 24, max_steps=3, operators="+-/")
    assert env.step("8/(3-3)")[0].endswith("\nYour answer divides by zero.")
    hint = "\nYour answer has an operator other than +-/ in it."
    assert env.step("8*3")[0].endswith(hint)
    observation, *results, _ = env.step("8/3/3")
    assert observation.endswith("[3, 3, 8]\nYour answer is 8/9, not 24.")
    assert results == [0.1, True, False]
    nums = [10**9 - 1] * 3
    env = with_task(nums, 1, max_steps=3, number_range=(1, 9))
    product = "*".join(map(str, nums))
    assert env.step(product)[0].endswith("\nYour answer is about 1e+27, not 1.")


def test_every_reason_has_a_hint_or_needs_none():
    assert set(HINTS_BY_REASON) == set(REASONS.values()) - {"correct", "wrong_value"}


def test_a_correct_answer_ends_the_episode_at_once_and_the_last_one_at_any_rate():
    for max_steps in (1, 2, 3):
        env = with_task([3, 8, 1], 24, max_steps=max_steps)
        for number in range(max_steps):
            assert env.step("1")[2] == (number == max_steps - 1)
        with pytest.raises(ResetNeededError):
            env.step("3*8*1")
        env = with_task([3, 8, 1], 24, max_steps=max_steps)
        assert env.step("3*8*1")[2]
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step("3*8*1")
        env.reset()
        env.step("1")


def test_instructions():
    text = Countdown().get_instructions()
    assert "exactly once" in text
    assert "+, -, *, /" in text
    assert '"(8 + 2) / 5"' in text
    text = Countdown(operators="-", numbers_rule="any").get_instructions()
    assert "at most once" in text
    assert '"8 - 2"' in text
    assert Countdown(env_instruction="Go.").get_instructions() == "Go."
    assert Countdown(env_instruction="").get_instructions() == ""


@pytest.mark.parametrize("mode", ["ansi", "text"])
def test_a_rendered_frame_is_the_observation(mode):
    env = with_task([3, 8, 1], 24, max_steps=2, render_mode=mode)
    assert env.render() == "Target: 24, nums: [3, 8, 1]"
    assert env.step("3+8+1")[0] == env.render()
    assert with_task([3], 3).render() is None


def test_spaces():
    env = Countdown()
    assert isinstance(env.observation_space, UnicodeText)
    assert env.observation_space.contains(env.reset()[0])
    env.action_space.seed(0)
    samples = {env.action_space.sample() for _ in range(100)}
    assert samples == set(EXAMPLES)


def test_every_task_is_solved_by_its_oracle():
    for keywords in (
        {},
        {"num_numbers": (1, 5)},
        {"operators": "-*", "target_range": (-50, 50)},
        {"operators": "+", "num_numbers": 4},
        {"numbers_rule": "any", "max_steps": 2},
    ):
        env = Countdown(**keywords)
        for seed in range(20):
            env.reset(seed=seed)
            answer = env.oracle_action
            assert answer == env.oracle_action
            _, reward, terminated, _, info = env.step(answer)
            assert (reward, terminated, info["success"]) == (1.0, True, True)
            operators = CountdownOptions(**keywords).operators
            verdict = oracle.grade(answer, env.nums, env.target, operators=operators)
            assert verdict[0] == "correct"


def test_the_oracle_may_leave_numbers_out_where_the_rule_allows_it():
    assert with_task([3, 8, 50], 24).oracle_action is None
    env = with_task([3, 8, 50], 24, numbers_rule="any")
    assert env.oracle_action == "3 * 8"
    assert env.step(env.oracle_action)[1] == 1.0


def test_long_observations_are_in_the_space_which_is_not_much_larger():
    nums = [10**15 - 2, 10**15 - 1]
    more = {"max_steps": 2, "max_digits": 18, "number_range": (1, 9)}
    env = with_task(nums, -(10**18), **more)
    observation = env.step("/".join(map(str, nums)))[0]
    assert observation.endswith(f"{nums[0]}/{nums[1]}, not {-(10**18)}.")
    assert observation in env.observation_space
    assert env.observation_space.max_length < 2 * len(observation)
