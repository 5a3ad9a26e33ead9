"""Keywords: their values, messages and signature; arguments of the solver."""

import inspect
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

from roll_vec.envs.countdown import Countdown, CountdownOptions, reachable, solve
from roll_vec.errors import InvalidOptionError, UnknownOptionError

BAD = [
    ({"num_numbers": 0}, "num_numbers"),
    ({"num_numbers": 7}, "num_numbers"),
    ({"num_numbers": (4, 3)}, "num_numbers"),
    ({"num_numbers": (1, 2, 3)}, "num_numbers"),
    ({"num_numbers": "34"}, "num_numbers"),
    ({"num_numbers": 3.0}, "num_numbers"),
    ({"num_numbers": True}, "num_numbers"),
    ({"num_numbers": None}, "num_numbers"),
    ({"number_range": (-1, 9)}, "number_range"),
    ({"number_range": 9}, "number_range"),
    ({"number_range": (1, 1 << 31)}, "number_range"),
    ({"number_range": (1, 9.5)}, "number_range"),
    ({"num_numbers": 6, "number_range": (1, 900)}, "number_range: 6 numbers up to 900"),
    ({"number_range": (1, 10**7), "num_numbers": 3}, "number_range"),
    ({"target_range": (100, 10)}, "target_range"),
    ({"target_range": (0, 1 << 20)}, "target_range: expected at most 1048576"),
    ({"target_range": ("1", "2")}, "target_range"),
    ({"operators": ""}, "operators"),
    ({"operators": "++"}, "operators"),
    ({"operators": "+^"}, "operators"),
    ({"operators": ["+"]}, "operators"),
    ({"operators": None}, "operators"),
    ({"format_score": float("nan")}, "format_score"),
    ({"score": float("inf")}, "score"),
    ({"score": "1"[:0]}, "score"),
    ({"max_steps": 0}, "max_steps"),
    ({"max_steps": None}, "max_steps"),
    ({"data": 3}, "data"),
    ({"data": "tasks.csv"}, "data"),
    ({"num_levels": -1}, "num_levels"),
    ({"start_level": 3}, "start_level"),
    ({"num_levels": 1 << 32, "start_level": 1}, "num_levels"),
    ({"reward_rule": "ragen"}, "reward_rule"),
    ({"numbers_rule": None}, "numbers_rule"),
    ({"unary_minus": 1}, "unary_minus"),
    ({"unicode_operators": "yes"}, "unicode_operators"),
    ({"trailing_target": None}, "trailing_target"),
    ({"max_chars": 0}, "max_chars"),
    ({"max_chars": 10}, "max_chars: an answer of 4 numbers of 2 digits takes at least"),
    ({"max_tokens": 6}, "max_tokens: an answer of 4 numbers"),
    ({"max_digits": 1}, "max_digits: an answer of 4 numbers"),
    ({"max_digits": 19}, "max_digits: expected at most 18"),
    ({"max_depth": 0}, "max_depth"),
    ({"env_instruction": 3}, "env_instruction"),
    ({"render_mode": "rgb_array"}, "render_mode"),
]


@pytest.mark.parametrize(("keywords", "message"), BAD, ids=str)
def test_bad_values_are_named(keywords, message):
    with pytest.raises(InvalidOptionError) as raised:
        Countdown(**keywords)
    assert str(raised.value).startswith(message)
    assert isinstance(raised.value, ValueError)


def test_unknown_keywords_are_named():
    with pytest.raises(UnknownOptionError, match=r"argument 'targets';.*target_r"):
        Countdown(targets=3)
    with pytest.raises(TypeError):
        Countdown(3)


def test_values_are_kept_in_one_form():
    options = CountdownOptions(
        num_numbers=np.int64(3),
        number_range=[1, np.int8(9)],
        operators="/+",
        score=2,
        data=Path("tasks.jsonl"),
    )
    assert options.num_numbers == (3, 3)
    assert options.number_range == (1, 9)
    assert options.operators == "+/"
    assert (options.score, type(options.score)) == (2.0, float)
    assert options.data == str(Path("tasks.jsonl").absolute())
    assert CountdownOptions(num_numbers=[2, 5]).num_numbers == (2, 5)
    with pytest.raises(FrozenInstanceError):
        options.score = 1.0


def test_the_constructor_shows_its_keywords():
    parameters = inspect.signature(Countdown).parameters
    assert list(parameters) == list(inspect.signature(CountdownOptions).parameters)
    assert parameters["target_range"].default == (10, 100)
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters.values())


def test_the_largest_ranges():
    """At the bound, everything is still exact."""
    for count, greatest in ((6, 812), (5, 3565), (4, 32767), (2, (1 << 31) - 1)):
        env = Countdown(
            num_numbers=count,
            number_range=(greatest - 1, greatest),
            target_range=(1, 1000),
            max_digits=10,
        )
        env.reset(seed=0)
        assert env.step(env.oracle_action)[1] == 1.0
        assert env.nums[0] >= greatest - 1
    with pytest.raises(InvalidOptionError):
        Countdown(num_numbers=4, number_range=(1, 32768))


@pytest.mark.parametrize(
    "nums",
    [[], [1] * 7, [-1, 2], ["1"], [1.5], 3, None, [10**7] * 3, [1 << 70]],
    ids=str,
)
def test_the_solver_names_numbers_that_it_cannot_take(nums):
    with pytest.raises(InvalidOptionError, match=r"^nums: expected"):
        solve(nums, 3)
    with pytest.raises(InvalidOptionError, match=r"^nums: expected"):
        reachable(nums)


def test_the_solver_on_other_arguments():
    with pytest.raises(InvalidOptionError, match="target: expected an integer"):
        solve([1, 2], 3.0)
    with pytest.raises(InvalidOptionError, match="operators: expected"):
        solve([1, 2], 3, "%")
    with pytest.raises(InvalidOptionError, match="target_range: expected"):
        reachable([1, 2], target_range=(3, 1))
    assert solve([1, 2], 1 << 70) is None
    assert solve([5], 5) == "5"
    assert solve([5], -5) is None
    assert solve([5], 6) is None
    assert solve(np.array([3, 8]), np.int64(24)) == "3 * 8"
    assert solve([3, 8], -5) == "3 - 8"
    assert reachable([5]) == [5]
    assert reachable([4, 2]) == [-2, 2, 6, 8]
    assert reachable([4, 2], target_range=(0, 7)) == [2, 6]
    assert all(type(value) is int for value in reachable([4, 2]))
