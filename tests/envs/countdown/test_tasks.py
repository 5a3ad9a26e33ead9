"""Tasks: pinned, solvable, within a band of difficulty; arguments of the solver."""

import gzip
import json
import random
import re

import numpy as np
import pytest

from roll_vec.envs.countdown import (
    Countdown,
    difficulty,
    reachable,
    solve,
)
from roll_vec.envs.countdown.difficulty import count_operations
from roll_vec.errors import InvalidOptionError, LevelGenerationError
from roll_vec.seeding import MAX_BAND_ATTEMPTS, band_seed
from tests.oracles import countdown as oracle


def list_tasks(env, seeds):
    """Return the numbers and the target of each seed."""
    tasks = []
    for seed in seeds:
        env.reset(seed=seed)
        tasks.append((env.nums, env.target))
    return tasks


def write_jsonl(path, rows):
    """Write a file with a JSON object for each row; return its path."""
    open_text = gzip.open if path.suffix == ".GZ" else open
    with open_text(path, "wt", encoding="utf-8") as file:
        for nums, target in rows:
            file.write(json.dumps({"target": target, "id": "é", "nums": nums}) + "\n")
    return path


# These never change: other tasks need a new version of the id.
PINNED = {
    0: ([70, 71, 22, 12], 67),
    1: ([93, 15, 70, 69], 31),
    2: ([86, 44, 56, 45], 90),
    3: ([79, 67, 64, 99], 81),
    10: ([15, 14, 71], 71),
    12345: ([97, 6, 67, 68], 63),
    2**32 - 1: ([20, 16, 81], 45),
    2**40: ([85, 54, 56, 14], 35),
}
FEW = {"num_numbers": (1, 2), "operators": "-", "number_range": (0, 9)}
PINNED_OTHERS = [
    (
        {"num_numbers": 6, "number_range": (1, 100), "target_range": (100, 999)},
        [([71, 72, 22, 12, 84, 18], 746), ([94, 15, 71, 70, 100, 31], 314)],
    ),
    ({**FEW, "target_range": (-5, 5)}, [([7, 7], 0), ([5, 9], 4), ([8, 4], 4)]),
    (
        {"numbers_rule": "any", "num_operations": 1},
        [([50, 1, 68], 18), ([52, 91, 51, 11], 80), ([95, 64, 4, 11], 75)],
    ),
]
BAND = {"numbers_rule": "any", "num_operations": (0, 1)}


def test_tasks_are_pinned():
    # Rewards and limits of answers change no task.
    other = {"operators": "/*-+", "max_steps": 3, "score": 5.0, "unary_minus": True}
    for env in (Countdown(), Countdown(**other, max_tokens=99)):
        assert list_tasks(env, PINNED) == list(PINNED.values())
        assert list_tasks(env, reversed(PINNED)) == list(PINNED.values())[::-1]
    for keywords, expected in PINNED_OTHERS:
        assert list_tasks(Countdown(**keywords), range(len(expected))) == expected


@pytest.mark.parametrize("more", [{}, BAND], ids=str)
def test_a_finite_set_of_levels(more):
    env = Countdown(**more, num_levels=5, start_level=100)
    expected = list_tasks(Countdown(**more), [100 + seed % 5 for seed in range(12)])
    assert list_tasks(env, range(12)) == expected
    assert env.level_seed == 11
    env.reset(seed=3)
    tasks = set()
    for _ in range(30):
        env.reset()
        tasks.add((tuple(env.nums), env.target))
    assert len(tasks) == 5


def test_options_without_a_task_move_nothing():
    # A sum of 8 is 4 + 4: rare for a draw, but there within a thousand of them.
    rare = {"number_range": (1, 4), "target_range": (8, 9)}
    env = Countdown(num_numbers=2, operators="+", **rare)
    assert list_tasks(env, [0]) == [([4, 4], 8)]

    env = Countdown(num_numbers=2, operators="+", target_range=(199, 200))
    with pytest.raises(LevelGenerationError, match=r"target_range=\(199, 200\)"):
        env.reset(seed=0)
    assert env.level_seed is None

    # Hardly any: some levels have a task, and one that has none comes after it.
    env = Countdown(
        num_numbers=2, operators="*", number_range=(0, 70), target_range=(4899, 4900)
    )
    num_tasks = num_errors = 0
    state = None
    for seed in range(50):
        try:
            env.reset(seed=seed)
        except LevelGenerationError:
            num_errors += 1
            if state is not None:
                assert env.get_state() == state
                assert env.step("70*70")[1] == 1.0
                state = None
        else:
            num_tasks += 1
            state = env.get_state()
    assert num_tasks
    assert num_errors


@pytest.mark.parametrize("rule", ["all", "any"])
@pytest.mark.parametrize("operators", ["+-*/", "+-", "-", "-/"])
def test_difficulty_is_that_of_brute_force(operators, rule):
    rng = random.Random(operators)
    difficulties = set()
    for i in range(40):
        size = rng.randint(1, 3 if i % 2 else 4)
        nums = [rng.randint(0, (9, 30)[i % 2]) for _ in range(size)]
        part = nums[: rng.randint(1, size)]
        target = rng.choice([-1, 30, *oracle.all_integers(part, operators)])
        expected = oracle.fewest_operations(nums, target, operators, rule)
        result = count_operations(nums, target, operators, rule)
        assert result == (difficulty.UNSOLVABLE if expected is None else expected)
        difficulties.add(result)
    assert len(difficulties) > 1


@pytest.mark.parametrize(
    ("nums", "target", "operators", "rule", "expected"),
    [
        # 6 is no number; 5 + 1 is the only pair; 7 * 7 takes two of three sevens.
        ([1, 5, 20, 30, 50], 6, "+", "any", 1),
        ([7, 7, 7], 49, "*", "any", 1),
        ([1, 2, 4, 8, 16, 32], 63, "+", "any", 5),
        ([1, 2, 4, 8, 16, 32], 47, "+", "any", 4),
        ([1, 2, 4, 8, 16, 32], 63, "+", "all", 5),
        ([1, 2, 4, 8, 16, 32], 47, "+", "all", -1),
        # 1 + 2 + 4 is found before 1 + 6.
        ([1, 2, 4, 6], 7, "+", "any", 1),
        ([1, 2, 4, 7], 7, "+", "any", 0),
        *(([1, 2, 3], 1 << 70, "+-*/", rule, -1) for rule in ("all", "any")),
        *(
            (nums, 7, "+-*/", rule, difficulty.TOO_LARGE)
            for nums in ([1] * 7, [10**10] * 3, [])
            for rule in ("all", "any")
        ),
    ],
)
def test_difficulty_of_tasks_that_are_told_by_hand(
    nums, target, operators, rule, expected
):
    assert count_operations(nums, target, operators, rule) == expected


def test_a_band_draws_again_by_its_rule():
    every, env = Countdown(numbers_rule="any"), Countdown(**BAND)
    num_redrawn = 0
    for seed in range(8):
        for attempt in range(MAX_BAND_ATTEMPTS):
            ((nums, target),) = list_tasks(every, [band_seed(seed, attempt)])
            # At most one operation, of the oracle's rules.
            pairs = [[a, b] for i, a in enumerate(nums) for b in nums[i + 1 :]]
            if target in nums or any(target in oracle.all_values(p) for p in pairs):
                break
        assert list_tasks(env, [seed]) == [(nums, target)]
        assert env.level_seed == seed
        num_redrawn += attempt > 0
    assert num_redrawn > 3


def test_tasks_within_the_band_stay():
    every = Countdown(num_numbers=(1, 4))
    env = Countdown(num_numbers=(1, 4), num_operations=(1, 2))
    tasks = list_tasks(every, range(40))
    for task, task_in_band in zip(tasks, list_tasks(env, range(40)), strict=True):
        assert len(task_in_band[0]) in (2, 3)
        assert (task == task_in_band) == (len(task[0]) in (2, 3))


def test_rows_of_a_file_within_a_band(tmp_path):
    rows = [([3, 8, 1], 24), ([5, 5], 10), ([2, 2], 9), ([1] * 7, 7), ([4, 4, 4], 12)]
    path = write_jsonl(tmp_path / "tasks.jsonl", rows)
    env = Countdown(data=path, num_operations=2)
    tasks = list_tasks(env, range(30))
    assert {target for _, target in tasks} == {24, 12}
    for seed, task in enumerate(tasks):
        tries = [rows[band_seed(seed, attempt) % 5] for attempt in range(99)]
        assert task == next(row for row in tries if len(row[0]) == 3)
    every = Countdown(data=path, difficulty_info=True)
    infos = [every.reset(seed=seed)[1]["difficulty"] for seed in range(4)]
    assert [info["num_operations"] for info in infos] == [2, 1, -1, -2]
    with pytest.raises(InvalidOptionError, match=r"the counts 1 to 6.*tasks\.jsonl"):
        Countdown(data=path, num_operations=0)
    env = Countdown(data=path, num_operations=(3, 4))
    with pytest.raises(LevelGenerationError) as raised:
        env.reset(seed=0)
    below = re.search(r"([\d.]+)% are below", str(raised.value))
    assert 50 < float(below[1]) < 70, "three of five rows are below the band"
    assert "0.0% inside, 0.0% above num_operations, " in str(raised.value)


def test_a_band_without_tasks_moves_nothing():
    keywords = {"operators": "+", "number_range": (1, 9), "target_range": (28, 36)}
    env = Countdown(num_numbers=4, numbers_rule="any", **keywords)
    env.reset(seed=3)
    env.set_level_options(num_operations=2)
    before = env.get_state()
    attempts = MAX_BAND_ATTEMPTS
    message = rf"level 4 .* of {attempts} tasks 0\.0% are below, .* 100\.0% above"
    with pytest.raises(LevelGenerationError, match=message):
        env.reset(seed=4)
    assert env.get_state() == before
    assert env.step(env.oracle_action)[1] == 1.0


# ------------------------------------------------------------- options and solver


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve([1, 2], 3.0), "target: expected an integer"),
        (lambda: solve([1, 2], 3, "%"), "operators: expected"),
        (lambda: reachable([1, 2], target_range=(3, 1)), "target_range: expected"),
        (lambda: count_operations([1.5], 3), "nums: expected a sequence of int"),
        (lambda: count_operations([1], 3, numbers_rule="some"), "numbers_rule"),
        (lambda: count_operations([1, 2, 3], 9, "^"), "operators"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InvalidOptionError, match=f"^{message}"):
        call()


def test_numbers_that_the_solver_cannot_take():
    for nums in ([], [1] * 7, [-1, 2], ["1"], [1.5], 3, None, [10**7] * 3, [1 << 70]):
        for call in (lambda nums: solve(nums, 3), reachable):
            with pytest.raises(InvalidOptionError, match=r"^nums: expected"):
                call(nums)


def test_the_solver_on_one_and_two_numbers():
    assert solve([1, 2], 1 << 70) is None
    assert [solve([5], target) for target in (5, -5, 6)] == ["5", None, None]
    assert solve(np.array([3, 8]), np.int64(24)) == "3 * 8"
    assert count_operations(np.array([3, 8, 1]), np.int64(24)) == 2
    assert solve([3, 8], -5) == "3 - 8"
    assert reachable([5]) == [5]
    assert reachable([4, 2]) == [-2, 2, 6, 8]
    assert reachable([4, 2], target_range=(0, 7)) == [2, 6]
    assert all(type(value) is int for value in reachable([4, 2]))
