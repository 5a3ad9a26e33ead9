"""Infos of resets on request: the difficulty of a level, the return of a solution."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban.solver import measure_rooms
from roll_vec.errors import InvalidOptionError, SolverLimitError
from tests.stacked.ids import LEVEL_IDS

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
REQUESTS = {"difficulty_info": True, "oracle_return_info": True}
UNSOLVABLE = "######\n#@  $#\n#.   #\n######"
GIVEN = ["######\n#@$. #\n######", UNSOLVABLE, "######\n#.$ @#\n######"]


@pytest.mark.parametrize("more", [{}, {"num_levels": 4}, {"solution_steps": (5, 9)}])
def test_rooms_tell_their_measures_and_the_return_of_a_solution(more):
    env = gymnasium.make_vec(
        SOKOBAN, num_envs=6, num_boxes=2, autoreset_mode="SameStep", **REQUESTS, **more
    )
    grids, infos = env.reset(seed=4)
    for _ in range(3):
        steps, pushes = measure_rooms(grids)
        difficulty = infos["difficulty"]
        assert difficulty["solution_steps"].tolist() == steps.tolist()
        assert difficulty["solution_pushes"].tolist() == pushes.tolist()
        assert difficulty["solution_steps"].dtype == np.int64
        assert infos["_difficulty"].all()
        paths = env.unwrapped.solve()
        assert [len(path) for path in paths] == steps.tolist()
        returns = np.zeros(6)
        oracle_returns, done = infos["oracle_return"], np.zeros(6, np.bool_)
        for t in range(max(map(len, paths))):
            actions = [path[t] if t < len(path) else 1 for path in paths]
            grids, rewards, terminations, _, infos = env.step(actions)
            returns = np.where(done, returns, returns + rewards)
            done |= terminations
        assert done.all()
        # To the bit: the rewards are added in the same order.
        assert returns.tolist() == oracle_returns.tolist()
        grids, infos = env.reset()


def test_given_levels_without_a_solution_have_no_measures():
    env = gymnasium.make_vec(SOKOBAN, num_envs=3, levels=GIVEN, **REQUESTS)
    _, infos = env.reset(seed=0)
    assert infos["difficulty"]["solution_steps"].tolist() == [1, -1, 2]
    assert infos["difficulty"]["solution_pushes"].tolist() == [1, -1, 1]
    assert np.isnan(infos["oracle_return"]).tolist() == [False, True, False]
    assert infos["oracle_return"][0] == -0.1 + 1.0 + 10.0
    # They are never inside a band, even if it is open.
    chosen = gymnasium.make_vec(
        SOKOBAN, num_envs=60, levels=GIVEN, solution_steps=(0, None), level_info=True
    )
    assert set(chosen.reset(seed=0)[1]["level"].tolist()) == {0, 2}


def test_single_environments_give_numbers_of_python():
    env = gymnasium.make(SOKOBAN, num_boxes=1, **REQUESTS)
    _, info = env.reset(seed=0)
    kinds = {name: type(value) for name, value in info["difficulty"].items()}
    assert kinds == {"solution_steps": int, "solution_pushes": int}
    assert type(info["oracle_return"]) is float
    assert info.keys() == {"difficulty", "oracle_return"}


def test_measures_of_some_option_sets_alone():
    # A set without a band needs no measures, and a set with one has them.
    env = roll_vec.make_vec(SOKOBAN, 4, num_boxes=1, level_info=True)
    env.reset(seed=0)
    env.set_level_options(mask=np.arange(4) < 2, solution_steps=(6, None))
    grids, _ = env.reset()
    assert (measure_rooms(grids)[0][:2] >= 6).all()


@pytest.mark.parametrize("name", ["difficulty_info", "oracle_return_info"])
@pytest.mark.parametrize("id", LEVEL_IDS)
def test_values_other_than_bools_are_refused(id, name):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(InvalidOptionError, match=f"{name}: expected True or False"):
            make(id, **{name: 1})


@pytest.mark.parametrize("more", [{}, {"is_slippery": False}, {"num_levels": 3}])
def test_lakes_tell_the_chance_of_the_best_player(more):
    more = {"p": 0.4, **more}
    env = roll_vec.make_vec(RANDOM_LAKE, 6, **REQUESTS, **more)
    _, infos = env.reset(seed=0)
    chances = infos["difficulty"]["success_probability"]
    np.testing.assert_array_equal(infos["oracle_return"], chances)
    solutions = env.solve()
    if "is_slippery" in more:
        assert chances.tolist() == [1.0] * 6
        assert all(len(path) for path in solutions)
    else:
        values = [solution.value for solution in solutions]
        np.testing.assert_allclose(chances, values, rtol=0, atol=1e-12)
        assert 0 < chances.min() <= chances.max() <= 1
    _, info = gymnasium.make(RANDOM_LAKE, **REQUESTS, **more).reset(seed=2)
    assert info["oracle_return"] == chances[2]
    assert info["difficulty"] == {"success_probability": chances[2]}
    assert type(info["oracle_return"]) is float


def test_lakes_of_users_are_measured():
    maps = [["SFF", "HFH", "FFG"], ["SFF", "FFF", "FFG"]]
    env = roll_vec.make_vec(RANDOM_LAKE, 2, levels=maps, **REQUESTS)
    _, infos = env.reset(seed=0)
    assert infos["oracle_return"][0] < infos["oracle_return"][1] == 1.0
    sure = {"success_probability": (0.99, 1), "level_info": True}
    env = roll_vec.make_vec(RANDOM_LAKE, 20, levels=maps, **sure)
    assert env.reset(seed=0)[1]["level"].tolist() == [1] * 20


def test_lakes_that_are_too_large_to_measure_are_refused():
    env = roll_vec.make_vec(RANDOM_LAKE, 1, size=162, p=0.95, difficulty_info=True)
    with pytest.raises(SolverLimitError, match="161 x 161"):
        env.reset(seed=0)
