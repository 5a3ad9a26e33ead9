"""Difficulty equals brute force; a band selects tasks by its stated rule."""

import inspect
import json
import random
import re

import numpy as np
import pytest

from roll_vec.envs.countdown import Countdown, difficulty
from roll_vec.envs.countdown.difficulty import count_operations
from roll_vec.errors import InvalidOptionError, LevelGenerationError
from roll_vec.seeding import MAX_BAND_ATTEMPTS, band_seed
from tests.conftest import JIT_OFF
from tests.envs.countdown.tasks import list_tasks
from tests.oracles import countdown as oracle

BAND = {"numbers_rule": "any", "num_operations": (0, 1)}


@pytest.mark.parametrize("rule", ["all", "any"])
@pytest.mark.parametrize("operators", ["+-*/", "+-", "-", "-/", "*/"])
def test_difficulty_is_that_of_brute_force(operators, rule):
    rng = random.Random(operators)
    difficulties = set()
    for i in range(20 if JIT_OFF else 40):
        size = rng.randint(1, 3 if JIT_OFF else 4)
        nums = [rng.randint(0, (9, 30)[i % 2]) for _ in range(size)]
        part = nums[: rng.randint(1, size)]
        target = rng.choice([-1, 30, *oracle.all_integers(part, operators)])
        expected = oracle.fewest_operations(nums, target, operators, rule)
        result = count_operations(nums, target, operators, rule)
        assert result == (difficulty.UNSOLVABLE if expected is None else expected)
        difficulties.add(result)
    assert len(difficulties) > 1


@pytest.mark.skipif(JIT_OFF, reason="hundreds of thousands of values")
def test_difficulty_of_five_and_six_numbers():
    # 6 is no number; 5 + 1 is the only pair; 7 * 7 takes two of three sevens.
    assert count_operations([1, 5, 20, 30, 50], 6, "+", "any") == 1
    assert count_operations([1, 2, 4, 8, 16, 32], 63, "+", "any") == 5
    assert count_operations([1, 2, 4, 8, 16, 32], 47, "+", "any") == 4
    assert count_operations([1, 2, 4, 8, 16, 32], 63, "+", "all") == 5
    assert count_operations([1, 2, 4, 8, 16, 32], 47, "+", "all") == -1
    assert count_operations([7, 7, 7], 49, "*", "any") == 1


def test_tasks_beyond_the_solver_and_bad_arguments():
    for rule in ("all", "any"):
        assert count_operations([1] * 7, 7, "+-*/", rule) == difficulty.TOO_LARGE
        assert count_operations([10**10] * 3, 7, "+-*/", rule) == difficulty.TOO_LARGE
        assert count_operations([], 7, "+-*/", rule) == difficulty.TOO_LARGE
        assert count_operations([1, 2, 3], 1 << 70, "+-*/", rule) == -1
    assert count_operations(np.array([3, 8, 1]), np.int64(24)) == 2
    with pytest.raises(InvalidOptionError, match="nums: expected a sequence of int"):
        count_operations([1.5], 3)
    with pytest.raises(InvalidOptionError, match="numbers_rule"):
        count_operations([1], 3, numbers_rule="some")
    with pytest.raises(InvalidOptionError, match="operators"):
        count_operations([1, 2, 3], 9, "^")


def test_a_band_draws_again_by_its_rule():
    every, env = Countdown(numbers_rule="any"), Countdown(**BAND)
    num_redrawn = 0
    for seed in range(20):
        attempt = 0
        while True:
            ((nums, target),) = list_tasks(every, [band_seed(seed, attempt)])
            if oracle.fewest_operations(nums, target, numbers_rule="any") <= 1:
                break
            attempt += 1
        assert list_tasks(env, [seed]) == [(nums, target)]
        assert env.level_seed == seed
        num_redrawn += attempt > 0
    assert num_redrawn > 5


def test_tasks_within_the_band_stay():
    every = Countdown(num_numbers=(1, 4))
    env = Countdown(num_numbers=(1, 4), num_operations=(1, 2))
    tasks = list_tasks(every, range(40))
    for task, task_in_band in zip(tasks, list_tasks(env, range(40)), strict=True):
        assert len(task_in_band[0]) in (2, 3)
        assert (task == task_in_band) == (len(task[0]) in (2, 3))


def test_values_in_a_band_never_change():
    # Other tasks under the same seeds need a new version of the id.
    env = Countdown(numbers_rule="any", num_operations=1)
    assert list_tasks(env, range(3)) == PINNED


PINNED = [([50, 1, 68], 18), ([52, 91, 51, 11], 80), ([95, 64, 4, 11], 75)]


def test_a_band_with_a_finite_set_of_levels():
    env = Countdown(**BAND, num_levels=5, start_level=100)
    assert list_tasks(env, range(12)) == list_tasks(
        Countdown(**BAND), [100 + seed % 5 for seed in range(12)]
    )


def test_rows_of_a_file_within_a_band(tmp_path):
    rows = [([3, 8, 1], 24), ([5, 5], 10), ([2, 2], 9), ([1] * 7, 7), ([4, 4, 4], 12)]
    path = tmp_path / "tasks.jsonl"
    lines = [json.dumps({"nums": nums, "target": target}) for nums, target in rows]
    path.write_text("\n".join(lines))
    env = Countdown(data=path, num_operations=2, difficulty_info=True)
    tasks = list_tasks(env, range(30))
    assert {target for _, target in tasks} == {24, 12}
    for seed, task in enumerate(tasks):
        tries = [rows[band_seed(seed, attempt) % 5] for attempt in range(99)]
        assert task == next(row for row in tries if len(row[0]) == 3)
    infos = [
        Countdown(data=path, difficulty_info=True).reset(seed=s)[1] for s in range(4)
    ]
    assert [info["difficulty"]["num_operations"] for info in infos] == [2, 1, -1, -2]
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
    message = (
        rf"level 4 .* of {MAX_BAND_ATTEMPTS} tasks 0\.0% are below, .* 100\.0% above"
    )
    with pytest.raises(LevelGenerationError, match=message):
        env.reset(seed=4)
    assert env.get_state() == before
    assert env.step(env.oracle_action)[1] == 1.0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"num_operations": (3, 2)}, "num_operations: expected a low bound"),
        ({"num_operations": "23"}, "num_operations"),
        ({"num_operations": (1, 2, 3)}, "num_operations: expected None or two"),
        ({"num_operations": 2.0}, "num_operations: expected an integer"),
        ({"num_operations": True}, "num_operations: expected an integer"),
        ({"num_operations": -1}, "num_operations: expected at least 0"),
        ({"num_operations": 6}, "num_operations: expected at most 5"),
        ({"num_operations": 1}, "num_operations: .* counts 2 to 3, got .*'all'"),
        ({"num_operations": 4}, "num_operations: .* counts 2 to 3, got"),
        (
            {"num_operations": 4, "numbers_rule": "any"},
            "num_operations: .* counts 0 to 3, got .*at most 3 of them",
        ),
        ({"difficulty_info": 1}, "difficulty_info: expected True or False"),
    ],
    ids=str,
)
def test_bad_bands_are_named(keywords, message):
    with pytest.raises(InvalidOptionError, match=f"^{message}"):
        Countdown(**keywords)


def test_the_keyword_is_public():
    assert "num_operations" in inspect.signature(Countdown).parameters
    for value, band in (
        (np.int64(3), (3, 3)),
        ([2, 3], (2, 3)),
        ((3, None), (3, 5)),
        ((None, 2), (0, 2)),
        ((None, None), None),
    ):
        assert Countdown(num_operations=value).options.num_operations == band
