"""One Countdown: solutions and infos."""

import pytest

from roll_vec.envs.countdown import Countdown
from roll_vec.envs.countdown.options import CountdownOptions
from tests.oracles import countdown as oracle

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
