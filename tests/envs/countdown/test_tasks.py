"""Tasks: pinned, solvable; the solver and difficulties; files of tasks.

Rows of files are played as they are; bad files and rows are named.
"""

import gzip
import json
import os
import pickle
import random

import pytest

from roll_vec.envs.countdown import Countdown
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.countdown.solver import UNSOLVABLE, count_operations
from roll_vec.envs.countdown.task_files import load_tasks
from roll_vec.errors import InvalidOptionError, LevelGenerationError
from tests.envs.countdown.tasks import list_tasks, write_jsonl
from tests.oracles import countdown as oracle


def test_a_finite_set_of_levels():
    env = Countdown(num_levels=5, start_level=100)
    expected = list_tasks(Countdown(), [100 + seed % 5 for seed in range(12)])
    assert list_tasks(env, range(12)) == expected
    assert env.level_seed == 11


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
        assert result == (UNSOLVABLE if expected is None else expected)
        difficulties.add(result)
    assert len(difficulties) > 1


def test_the_largest_ranges():
    """At the bound, everything is still exact."""
    for count, greatest in ((6, 812), (5, 3565), (4, 32767), (2, 999_999_999)):
        env = Countdown(
            num_numbers=count,
            number_range=(greatest - 1, greatest),
            target_range=(1, 1000),
        )
        env.reset(seed=0)
        assert env.step(env.oracle_action)[1] == 1.0
        assert env.nums[0] >= greatest - 1


ROWS = [
    ([44, 19, 35], 98),
    ([3, 8, 3, 8], 24),
    ([7], -7),
    ([100, 0, 999_999_999], 12_345_678_901),
    ([1, 1], 5),
]


@pytest.fixture(params=["tasks.jsonl", "tasks.JSONL.GZ"])
def path(request, tmp_path):
    """A file with `ROWS`, of each kind."""
    return write_jsonl(tmp_path / request.param, ROWS)


def test_rows_are_played_as_they_are(path):
    env = Countdown(data=path)
    assert list_tasks(env, range(12)) == [ROWS[seed % 5] for seed in range(12)]
    assert env.reset(seed=8)[0] == "Target: 12345678901, nums: [100, 0, 999999999]"
    env.reset(seed=1)
    assert env.oracle_action == "8 / (3 - 8 / 3)"
    assert env.step(env.oracle_action)[1] == 1.0
    env.reset(seed=2)
    assert env.oracle_action is None
    assert env.step("7")[1] == 0.1
    env.reset()
    assert env.nums == ROWS[env.level_seed % 5][0]
    some = Countdown(data=path, num_levels=2, start_level=3)
    assert list_tasks(some, range(4)) == [ROWS[3], ROWS[4]] * 2


def test_a_file_is_loaded_once_until_it_changes_and_read_only(path):
    first, second = Countdown(data=path), Countdown(data=str(path), max_steps=2)
    assert first._file is second._file
    first.reset(seed=0)
    first.nums.append(3)
    assert list_tasks(second, [0]) == [ROWS[0]]
    with pytest.raises(ValueError, match="read-only"):
        first._file._numbers[0] = 1
    write_jsonl(path, ROWS[1:])
    os.utime(path, ns=(1, 1))
    assert list_tasks(Countdown(data=path), [0]) == [ROWS[1]]
    assert list_tasks(first, [0]) == [ROWS[0]]


def test_pickled_environments_carry_no_rows(tmp_path):
    # `tests/test_files.py` says that they read their file.
    env = Countdown(data=write_jsonl(tmp_path / "tasks.jsonl", ROWS * 2000))
    assert len(pickle.dumps(env)) < 10_000


@pytest.mark.parametrize("name", ["nums", "numbers"])
def test_json_lines_and_arrays(tmp_path, name):
    path = tmp_path / "tasks.json"
    line = json.dumps({name: [3, 8], "target": 24, "id": "\u2028"}, ensure_ascii=False)
    for text in (f"[{line},\n {line}]\n", f"\n{line}\r\n\r\n{line}"):
        path.write_text(f"\ufeff{text}", "utf-8")
        file = load_tasks(str(path))
        assert [file.row(number) for number in range(len(file))] == [([3, 8], 24)] * 2


GOOD = '{"nums": [1], "target": 1}\n'


def test_lines_that_are_not_json_are_named_in_short_messages(tmp_path):
    path = tmp_path / "tasks.jsonl"
    # The ends of these messages are those of Python's version.
    for line in ("{", "[" * 100_000, f'{{"nums": [1], "target": {"9" * 9000}}}'):
        path.write_text(f'{{"nums": [1], "target": 1}}\n{line}', "utf-8")
        match = r"row 1: not a JSON object: .{5,200}(\n|$)"
        with pytest.raises(InvalidOptionError, match=match):
            load_tasks(str(path))


def test_files_that_cannot_be_read(tmp_path):
    for name, content in (
        ("none.jsonl", None),
        ("bytes.jsonl", GOOD.encode() + b"\xff"),
        ("not.jsonl.gz", b"{}"),
        ("cut.jsonl.gz", gzip.compress(GOOD.encode() * 99)[:-9]),
        ("broken.jsonl.gz", gzip.compress(b"{}" * 99)[:12] + b"\xff" * 20),
    ):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InvalidOptionError, match=name):
            Countdown(data=path)


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
