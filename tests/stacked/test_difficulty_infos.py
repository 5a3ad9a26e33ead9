"""Infos of resets on request: the difficulty of a level, the return of a solution."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban.solver import measure_rooms
from roll_vec.errors import InvalidOptionError
from tests.conftest import JIT_OFF
from tests.stacked.ids import LEVEL_IDS

SOKOBAN = "roll_vec/Sokoban-v0"
REQUESTS = {"difficulty_info": True, "oracle_return_info": True}
UNSOLVABLE = "######\n#@  $#\n#.   #\n######"
GIVEN = ["######\n#@$. #\n######", UNSOLVABLE, "######\n#.$ @#\n######"]


@pytest.mark.skipif(JIT_OFF, reason="slow as plain Python, and no kernel is new")
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
