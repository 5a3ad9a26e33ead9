"""One Countdown: rewards, infos, hints, solutions, level options."""

import math
import pickle

import numpy as np
import pytest

from roll_vec.envs.countdown import Countdown, CountdownOptions
from tests.envs.countdown.tasks import list_tasks, with_task
from tests.oracles import countdown as oracle


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
