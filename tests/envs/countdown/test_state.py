"""States of Countdown, its level options, solutions and infos of resets."""

import math
import pickle

import pytest

from roll_vec.envs.countdown import Countdown
from roll_vec.errors import (
    ClosedError,
    InvalidOptionError,
    ResetNeededError,
    SolverLimitError,
    UnsolvableLevelError,
)
from tests.envs.countdown.tasks import list_tasks, write_jsonl
from tests.oracles import countdown as oracle

# Each makes a state of an environment with the default options one that cannot be set.
BAD_ENTRIES = (
    {"nums": "abc"},
    {"nums": 5},
    {"nums": [10**30]},
    {"nums": [1.5]},
    {"nums": [True, 2]},
    {"target": 1 << 63},
    {"target": "24"},
    {"num_env_steps": -1},
    {"num_env_steps": None},
    {"open": 1},
    {"hint": None},
    {"level_options": None},
    {"level_options": {"foo": 1}},
    {"level_options": {"num_numbers": 6}},
    {"level_options": {"num_levels": "two"}},
)


_NAMES = ("seed_info", "level_info", "difficulty_info", "oracle_return_info")
INFOS = dict.fromkeys(_NAMES, True)


# ------------------------------------------------------------- level options


def test_other_levels_begin_with_the_next_episode():
    env = Countdown(max_steps=3)
    env.reset(seed=2)
    task, answer = (env.nums, env.target), env.oracle_action
    env.set_level_options(num_numbers=2, number_range=(1, 9), target_range=(1, 20))
    assert (env.nums, env.target) == task
    assert env.step("1")[0].startswith(f"Target: {task[1]}, nums: {task[0]}\n")
    assert env.step(answer)[1] == 1.0
    twin = Countdown(num_numbers=2, number_range=(1, 9), target_range=(1, 20))
    assert env.reset()[0] != twin.reset(seed=2)[0]
    assert list_tasks(env, range(20)) == list_tasks(twin, range(20))
    # One option after the other; None ends a band.
    env.set_level_options(num_operations=1, num_levels=4)
    env.set_level_options(num_numbers=(1, 4), start_level=9)
    keywords = {"num_numbers": (1, 4), "number_range": (1, 9), "target_range": (1, 20)}
    keywords |= {"num_operations": 1, "num_levels": 4, "start_level": 9}
    assert list_tasks(env, range(20)) == list_tasks(Countdown(**keywords), range(20))
    assert env.options == Countdown(**keywords, max_steps=3).options
    env.set_level_options(num_operations=None, start_level=0, num_levels=0)
    keywords |= {"num_operations": None, "start_level": 0, "num_levels": 0}
    assert list_tasks(env, range(20)) == list_tasks(Countdown(**keywords), range(20))


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


# ----------------------------------------------------------------- solutions


@pytest.mark.parametrize("rule", ["all", "any"])
def test_solutions_take_the_fewest_operations(rule):
    env = Countdown(numbers_rule=rule, max_steps=2, **INFOS)
    for seed in range(12):
        _, info = env.reset(seed=seed)
        env.step("1 +")
        state = env.get_state()
        (answer,) = env.solve()
        assert env.get_state() == state, "solving moves nothing"
        num_operations = sum(answer.count(sign) for sign in "+-*/")
        assert info["difficulty"] == {"num_operations": num_operations}
        assert num_operations == oracle.fewest_operations(
            env.nums, env.target, numbers_rule=rule
        )
        *_, reward, terminated, _, step_info = env.step(answer)
        assert reward == info["oracle_return"] == 1.0
        assert terminated
        assert step_info["success"]
        assert env.solve() is None


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
    returns = [info["oracle_return"] for info in infos]
    assert returns[0] == 3.0
    assert math.isnan(returns[1])
    assert math.isnan(returns[2])
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


# --------------------------------------------------------------------- infos


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


def test_environments_share_their_options():
    env, twin = Countdown(max_steps=2), Countdown(max_steps=2)
    assert env.options is twin.options is env._tasks.options
    assert len(pickle.dumps(env)) < 6000
