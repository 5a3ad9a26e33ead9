"""One Countdown: rewards, infos, hints, solutions, level options."""

import math
import pickle

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.countdown import Countdown, CountdownOptions
from roll_vec.envs.countdown.env import EXAMPLES
from roll_vec.envs.countdown.grading import REASONS
from roll_vec.envs.countdown.texts import HINTS_BY_REASON
from roll_vec.errors import (
    ClosedError,
    InvalidOptionError,
    ResetNeededError,
    SolverLimitError,
    UnsolvableLevelError,
)
from roll_vec.spaces import UnicodeText
from tests.envs.countdown.test_tasks import list_tasks, write_jsonl
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
    observation, *results, info = env.step(env.oracle_action)
    assert observation == "Target: 67, nums: [70, 71, 22, 12]"
    assert results == [1.0, True, False]
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
    observation, *results, info = env.step(text)
    assert observation == "Target: 24, nums: [3, 8, 1]"
    assert results == [roll if rule == "roll" else tinyzero, True, False]
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


def test_forms_of_answers_on_request():
    for option, text, with_option, without in (
        ("unicode_operators", "3×8÷1−0", "wrong_numbers", "bad_character"),
        ("unicode_operators", "3×8÷1", "correct", "bad_character"),
        ("trailing_target", "3*8*1 = 24", "correct", "bad_character"),
        ("trailing_target", "3*8*1 = 25", "bad_character", "bad_character"),
        ("trailing_target", "3*8*1 = 24 = 24", "bad_character", "bad_character"),
        ("unary_minus", "-1*8*-3", "correct", "syntax"),
    ):
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


# ---------------------------------------------------------------------------- hints

HINTS = {
    "3+8+1": "Your answer is 12, not 24.",
    "3-8+1": "Your answer is -4, not 24.",
    "2/3": "Your answer does not use the given numbers as it should.",
    "8/3+1": "Your answer is 11/3, not 24.",
    "": "You gave no answer.",
    " " * 257: "Your answer has more than 256 characters.",
    "(" * 33: "Your answer nests more than 16 parentheses.",
    "1+" * 17: "Your answer has more than 32 numbers, operators and parentheses.",
    "é": "Your answer has a character that no expression has.",
    "03": "Your answer has a number with a leading zero or more than 9 digits.",
    "3**8": "Your answer is no complete expression.",
}


@pytest.mark.parametrize("mode", ["ansi", "text"])
def test_several_answers(mode):
    env = with_task([3, 8, 1], 24, max_steps=len(HINTS) + 1, render_mode=mode)
    task = "Target: 24, nums: [3, 8, 1]"
    assert env.render() == task
    for number, (text, hint) in enumerate(HINTS.items()):
        observation, *results, info = env.step(text)
        assert observation == env.render() == f"{task}\n{hint}"
        assert observation in env.observation_space
        assert results == [0.1 if info["action_is_effective"] else 0.0, False, False]
        assert env.num_env_steps == number + 1
    assert env.step("3*8*1")[:4] == (task, 1.0, True, False)
    assert with_task([3], 3).render() is None


def test_hints_of_other_kinds():
    env = with_task([3, 3, 8], 24, max_steps=3, operators="+-/")
    for text, hint in (
        ("8/(3-3)", "divides by zero."),
        ("8*3", "has an operator other than +-/ in it."),
        ("8/3/3", "is 8/9, not 24."),
    ):
        observation, *results, _ = env.step(text)
        assert observation.endswith(f"[3, 3, 8]\nYour answer {hint}")
    assert results == [0.1, True, False]
    nums = [10**9 - 1] * 3
    env = with_task(nums, 1, max_steps=3, number_range=(1, 9))
    product = "*".join(map(str, nums))
    assert env.step(product)[0].endswith("\nYour answer is about 1e+27, not 1.")
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


def test_instructions_and_spaces():
    env = Countdown()
    for words in ("exactly once", "+, -, *, /", '"(8 + 2) / 5"'):
        assert words in env.get_instructions()
    text = Countdown(operators="-", numbers_rule="any").get_instructions()
    assert "at most once" in text
    assert '"8 - 2"' in text
    for given in ("Go.", ""):
        assert Countdown(env_instruction=given).get_instructions() == given
    assert isinstance(env.observation_space, UnicodeText)
    assert env.observation_space.contains(env.reset()[0])
    env.action_space.seed(0)
    assert {env.action_space.sample() for _ in range(100)} == set(EXAMPLES)


def test_long_observations_are_in_the_space_which_is_not_much_larger():
    nums = [10**15 - 2, 10**15 - 1]
    more = {"max_steps": 2, "max_digits": 18, "number_range": (1, 9)}
    env = with_task(nums, -(10**18), **more)
    observation = env.step("/".join(map(str, nums)))[0]
    assert observation.endswith(f"{nums[0]}/{nums[1]}, not {-(10**18)}.")
    assert observation in env.observation_space
    assert env.observation_space.max_length < 2 * len(observation)


# -------------------------------------------------------------- solutions and infos

_NAMES = ("seed_info", "level_info", "difficulty_info", "oracle_return_info")
INFOS = dict.fromkeys(_NAMES, True)


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"num_numbers": (1, 5)},
        {"operators": "-*", "target_range": (-50, 50)},
        {"operators": "+", "num_numbers": 4},
        {"numbers_rule": "any", "max_steps": 2},
    ],
    ids=str,
)
def test_solutions_are_correct_and_take_the_fewest_operations(keywords):
    env = Countdown(**keywords, **INFOS)
    options = CountdownOptions(**keywords)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        if options.max_steps > 1:
            env.step("1 +")
        state = env.get_state()
        (shortest,) = env.solve()
        assert env.get_state() == state, "solving moves nothing"
        # The oracle tries everything, which takes long for five numbers.
        if len(env.nums) < 5 and seed < 12:
            num_operations = sum(shortest.count(sign) for sign in "+-*/")
            assert info["difficulty"] == {"num_operations": num_operations}
            assert num_operations == oracle.fewest_operations(
                env.nums, env.target, options.operators, options.numbers_rule
            )
        any_numbers = options.numbers_rule == "any"
        rules = {"operators": options.operators, "any_numbers": any_numbers}
        for answer in (shortest, env.oracle_action):
            assert oracle.grade(answer, env.nums, env.target, **rules)[0] == "correct"
        answer = env.oracle_action if seed % 2 else shortest
        _, reward, terminated, _, step_info = env.step(answer)
        assert reward == info["oracle_return"] == 1.0
        assert terminated
        assert step_info["success"]
        assert env.solve() is None


def test_the_oracle_may_leave_numbers_out_where_the_rule_allows_it():
    assert with_task([3, 8, 50], 24).oracle_action is None
    env = with_task([3, 8, 50], 24, numbers_rule="any")
    assert env.oracle_action == "3 * 8"
    assert env.step(env.oracle_action)[1] == 1.0


def test_rows_without_a_solution_and_beyond_the_solver(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [([9], 9), ([3, 8], 25), ([1] * 7, 7)])
    env = Countdown(data=path, score=3.0, **INFOS)
    with pytest.raises(ResetNeededError):
        env.solve()
    infos = [env.reset(seed=0)[1]]
    assert env.solve() == ["9"]
    infos.append(env.reset(seed=1)[1])
    with pytest.raises(UnsolvableLevelError, match=r"a\.jsonl: Target: 25, nums: \[3,"):
        env.solve()
    infos.append(env.reset(seed=2)[1])
    with pytest.raises(SolverLimitError, match="than the solver takes: Target: 7, num"):
        env.solve()
    assert [info["difficulty"]["num_operations"] for info in infos] == [0, -1, -2]
    np.testing.assert_equal(
        [info["oracle_return"] for info in infos], [3.0, math.nan, math.nan]
    )
    env.close()
    with pytest.raises(ClosedError):
        env.solve()


def test_an_answer_that_breaks_a_limit(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [([2, 3, 4], 20), ([2, 3, 4], 9)])
    env = Countdown(data=path, operators="+*", max_tokens=5)
    env.reset(seed=1)
    assert env.step(env.solve()[0])[1] == 1.0
    env.reset(seed=0)
    with pytest.raises(SolverLimitError, match="break a limit: too_many_tokens"):
        env.solve()


def test_infos_are_there_on_request():
    assert Countdown().reset(seed=1)[1] == {}
    expected = {
        "seed": 8,
        "level": 4 + 8 % 3,
        "difficulty": {"num_operations": 2},
        "oracle_return": 1.0,
    }
    keywords = {"num_levels": 3, "start_level": 4, "num_numbers": 3}
    for name, key in zip(INFOS, expected, strict=True):
        env = Countdown(**{name: True}, **keywords)
        assert env.reset(seed=8)[1] == {key: expected[key]}
    assert Countdown(**INFOS, **keywords).reset(seed=8)[1] == expected


def test_the_seed_of_a_later_episode_opens_it():
    env, alone = Countdown(seed_info=True), Countdown()
    env.reset(seed=3**50)
    for _ in range(5):
        observation, info = env.reset()
        assert alone.reset(seed=info["seed"])[0] == observation
        assert alone.np_random.random() == env.np_random.random()
    assert env.options is Countdown(seed_info=True).options is env._tasks.options
    assert len(pickle.dumps(env)) < 6000


# ------------------------------------------------------------------- level options


def test_other_levels_begin_with_the_next_episode():
    env = Countdown(max_steps=3)
    env.reset(seed=2)
    task, answer = (env.nums, env.target), env.oracle_action
    keywords = {"num_numbers": 2, "number_range": (1, 9), "target_range": (1, 20)}
    env.set_level_options(**keywords)
    assert (env.nums, env.target) == task
    assert env.step("1")[0].startswith(f"Target: {task[1]}, nums: {task[0]}\n")
    assert env.step(answer)[1] == 1.0
    assert env.reset()[0] != Countdown(**keywords).reset(seed=2)[0]
    # One option after the other; None ends a band.
    for changes in (
        {},
        {"num_operations": 1, "num_levels": 4},
        {"num_numbers": (1, 4), "start_level": 9},
        {"num_operations": None, "start_level": 0, "num_levels": 0},
    ):
        if changes:
            env.set_level_options(**changes)
        keywords |= changes
        assert list_tasks(env, range(20)) == list_tasks(
            Countdown(**keywords), range(20)
        )
        assert env.options == Countdown(**keywords, max_steps=3).options


def test_level_options_of_a_file(tmp_path):
    path = write_jsonl(
        tmp_path / "a.jsonl", [([3, 8], 24), ([1, 2, 3], 6), ([5, 5], 10)]
    )
    env = Countdown(data=path)
    env.set_level_options(num_operations=1, num_levels=7)
    twin = Countdown(data=path, num_operations=1, num_levels=7)
    assert list_tasks(env, range(15)) == list_tasks(twin, range(15))
    for name, value in (("num_numbers", 2), ("number_range", (1, 5))):
        with pytest.raises(InvalidOptionError, match=f"{name}: has no effect"):
            env.set_level_options(**{name: value})
    with pytest.raises(InvalidOptionError, match=r"num_operations: .*counts 1 to 2"):
        env.set_level_options(num_operations=3)
