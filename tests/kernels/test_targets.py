"""Reachable values equal brute force; the task of a level follows its stated rule."""

import random

import numpy as np
import pytest

from roll_vec.envs.countdown import Countdown, solve
from roll_vec.kernels.countdown import expressions
from roll_vec.kernels.countdown import targets as kernels
from roll_vec.kernels.rng.pcg64 import fold_in
from tests.conftest import JIT_OFF
from tests.envs.countdown.tasks import evaluate, list_tasks
from tests.oracles import countdown as oracle

OPERATORS = ("+-*/", "+-", "*/", "+", "-", "/", "-*", "-*/")


FLAGS = {
    "+": 1 << expressions.ADD,
    "-": 1 << expressions.SUBTRACT | 1 << expressions.SUBTRACT_REVERSED,
    "*": 1 << expressions.MULTIPLY,
    "/": 1 << expressions.DIVIDE | 1 << expressions.DIVIDE_REVERSED,
}


def operator_flags(operators):
    return sum(FLAGS[operator] for operator in operators)


def needs_signs(operators, lowest):
    return "-" in operators and ("+" not in operators or lowest < 0)


def draws(seed, count, most=4, largest=99):
    """Yield lists of numbers, some with zeros, ones and repetitions."""
    rng = random.Random(seed)
    for i in range(count):
        size = rng.randint(1, most)
        high = (largest, 5, 12)[i % 3]
        yield [rng.randint(i % 2, high) for _ in range(size)]


def mark(nums, operators, low, high):
    """Return the integers that the kernel of the tasks marks, and its count."""
    table = np.zeros(kernels.table_size(max(len(nums), 1)), np.int64)
    marks = np.full(high - low + 1, 9, np.uint8)
    settings = operator_flags(operators), needs_signs(operators, low), low, high
    numbers = np.array(nums, np.int64)
    count = kernels.mark_targets(numbers, len(nums), *settings, table, marks)
    return [low + int(i) for i in np.flatnonzero(marks)], int(count)


@pytest.mark.parametrize("operators", OPERATORS)
def test_reachable_integers_are_those_of_brute_force(operators):
    count, most = (3, 3) if JIT_OFF else (9, 4)
    for nums in draws(len(operators), count, most):
        expected = oracle.all_integers(nums, operators)
        for low, high in ((10, 100), (0, 30), (1, 7), (-20, 20)):
            in_range = [value for value in expected if low <= value <= high]
            assert mark(nums, operators, low, high) == (in_range, len(in_range))


@pytest.mark.parametrize("operators", ["+-*/", "-/", "*/", "/"])
def test_every_reachable_integer_has_an_expression_and_no_other_one(operators):
    with_zeros = [[5, 0], [0, 5], [0, 0, 3], [3, 2, 2, 0]]
    lists = draws(1, 2 if JIT_OFF else 8, 3 if JIT_OFF else 4, 20)
    for nums in (*with_zeros, *lists):
        values = set(oracle.all_integers(nums, operators))
        for target in range(-30, 60):
            answer = solve(nums, target, operators)
            assert (answer is not None) == (target in values)
            if answer is not None:
                grade = oracle.grade(answer, nums, target, operators=operators)
                assert grade == ("correct", target)


@pytest.mark.skipif(JIT_OFF, reason="hundreds of thousands of values")
@pytest.mark.parametrize("size", [5, 6])
def test_five_and_six_numbers(size):
    """Every integer that random expressions reach is found, with an expression."""
    rng = random.Random(size)
    nums = [rng.randint(1, 30) for _ in range(size)]
    targets = set(mark(nums, "+-*/", 1, 1000)[0])
    hits = set()
    for _ in range(4000):
        rng.shuffle(nums)
        value = evaluate(oracle.random_expression(rng, nums))
        if value is not None and value.denominator == 1 and 1 <= value <= 1000:
            hits.add(int(value))
    assert len(hits) > 100
    assert hits <= targets
    for target in [*sorted(hits)[::40], max(targets)]:
        assert oracle.grade(solve(nums, target), nums, target) == ("correct", target)
    out_of_reach = min(set(range(1, 1002)) - targets)
    assert out_of_reach == 1001 or solve(nums, out_of_reach) is None


@pytest.mark.slow
def test_five_numbers_are_those_of_brute_force():
    nums = [1, 3, 7, 8, 10]
    expected = [value for value in oracle.all_integers(nums) if 0 <= value <= 9999]
    assert mark(nums, "+-*/", 0, 9999)[0] == expected


def task_by_the_rule(level, options):
    """Return the task of a level as the kernel's description has it."""

    def word(counter, low, high):
        number = int(fold_in(np.uint64(level), np.uint64((1 << 62) + counter)))
        return low + number * (high - low + 1) // 2**32

    count = word(0, *options.num_numbers)
    for attempt in range(1000):
        nums = [word(8 * attempt + 1 + i, *options.number_range) for i in range(count)]
        targets = [
            value
            for value in oracle.all_integers(nums, options.operators)
            if options.target_range[0] <= value <= options.target_range[1]
        ]
        if targets:
            return nums, targets[word(8 * attempt + 7, 0, len(targets) - 1)]
    raise AssertionError("no task")


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"num_numbers": 1},
        {"num_numbers": (1, 3), "operators": "-"},
        {"num_numbers": (2, 3), "operators": "-*", "target_range": (-9, 9)},
        {"num_numbers": 2, "number_range": (0, 2), "target_range": (4, 4)},
        {"num_numbers": 3, "number_range": (0, 1000), "target_range": (400, 500)},
        # Rewards, limits of answers and the order of operators change no task.
        {"operators": "/*-+", "max_steps": 3, "score": 5.0, "unary_minus": True},
    ],
)
def test_tasks_are_those_of_the_rule(keywords):
    env = Countdown(**keywords)
    options = env.options
    seeds = [0, 1, 2**32 - 1, 2**32, 2**40, *range(1000, 1004 if JIT_OFF else 1020)]
    for seed in seeds:
        assert list_tasks(env, [seed]) == [task_by_the_rule(env.level_seed, options)]
        assert env.level_seed == seed or seed >= 2**32


def test_tasks_of_six_numbers_never_change():
    # `tests/evaluation/test_splits.py` has the digests of the default tasks.
    ranges = {"number_range": (1, 100), "target_range": (100, 999)}
    tasks = list_tasks(Countdown(num_numbers=6, **ranges), range(2))
    assert tasks[0] == ([71, 72, 22, 12, 84, 18], 746)
    assert tasks[1] == ([94, 15, 71, 70, 100, 31], 314)


@pytest.mark.parametrize("operators", OPERATORS)
@pytest.mark.parametrize("signed", [True, False])
def test_tables_have_room_for_all_values(operators, signed):
    for size in range(2, 4 if JIT_OFF else 6):
        nums = np.array([2, 3, 7, 11, 19][:size], np.int64)
        length = kernels.table_size(size)
        table = np.full(length + 50, -77, np.int64)
        flags = operator_flags(operators)
        kernels.fill_table(nums, size, flags, signed, table)
        assert (table[length:] == -77).all()
        for number in range(size):
            start = table[1 << number]
            assert table[start : start + 2].tolist() == [nums[number], 1]
