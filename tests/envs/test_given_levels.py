"""Levels of users in both games: files, copies, pickles."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.frozen_lake import RandomFrozenLake
from roll_vec.envs.sokoban import Sokoban
from roll_vec.envs.sokoban.level_files import LevelSet, load_levels
from tests.envs.frozen_lake import user_maps as lake
from tests.envs.sokoban import user_levels as sokoban
from tests.envs.sokoban.user_levels import ONE

SOKOBAN, LAKE = sokoban.ID, lake.ID
GIVEN = {SOKOBAN: sokoban.EXPECTED, LAKE: lake.EXPECTED}
OPTIONS = {SOKOBAN: Sokoban, LAKE: RandomFrozenLake}
each_game = pytest.mark.parametrize("id", GIVEN)


@pytest.fixture
def path(tmp_path):
    """A file of Sokoban's given levels."""
    file = tmp_path / "levels.txt"
    file.write_text(sokoban.COLLECTION)
    return file


def test_rooms_have_their_own_numbers_of_boxes():
    single = gymnasium.make(SOKOBAN, levels=sokoban.EXPECTED).unwrapped
    assert single.num_boxes == 0
    for seed, boxes in ((0, 1), (1, 2), (2, 1)):
        single.reset(seed=seed)
        assert (single.num_boxes, single.boxes_on_target) == (boxes, boxes - 1)


def test_a_path_is_read_once_until_it_changes(path):
    first, again = gymnasium.make(SOKOBAN, levels=path), sokoban.batch(str(path))
    levels = first.unwrapped.options.levels
    assert again.get_attr("levels")[0] is levels is load_levels(path)
    path.write_text(ONE)
    assert len(load_levels(path)) == 1
    assert len(levels) == 3
    np.testing.assert_array_equal(first.reset(seed=4)[0], sokoban.EXPECTED[1])


@pytest.mark.parametrize("form", ["single", "vector"])
def test_copies_share_the_levels_and_pickles_have_them(form, path):
    if form == "single":
        env, action = gymnasium.make(SOKOBAN, levels=path, action_start=1).unwrapped, 2
    else:
        more = {"levels": path, "action_start": 1}
        env, action = gymnasium.make_vec(SOKOBAN, 2, **more), [2, 2]
    env.reset(seed=1)
    stored = pickle.dumps(env)
    path.write_text(ONE)
    envs = env, pickle.loads(stored), copy.deepcopy(env)
    given, pickled, copied = (
        (each if form == "single" else each.engine).options.levels for each in envs
    )
    assert pickled == given
    assert copied is given
    for play in (lambda env: env.step(action), lambda env: env.reset()):
        assert len({repr(play(each)) for each in envs}) == 1


@each_game
def test_levels_of_an_array_are_ours_and_travel(id):
    given = GIVEN[id].copy()
    env = gymnasium.make_vec(id, 3, levels=given)
    given[:] = 0
    twin = pickle.loads(pickle.dumps(env))
    for each in (env, twin, copy.deepcopy(env)):
        np.testing.assert_array_equal(each.reset(seed=0)[0], GIVEN[id])
    levels, others = env.get_attr("levels")[0], twin.get_attr("levels")[0]
    assert levels == others
    assert hash(levels) == hash(others)
    assert levels != GIVEN[id].tolist()
    assert repr(levels) == "<3 levels>"
    with pytest.raises(ValueError, match="read-only"):
        levels.grids[:] = 0
    # Nor do the observations show them themselves.
    single = gymnasium.make(id, levels=levels)
    single.reset(seed=0)[0][:] = 0
    grid = single.unwrapped.grid if id == SOKOBAN else single.unwrapped.board
    with pytest.raises(ValueError, match="read-only"):
        grid[:] = 0
    np.testing.assert_array_equal(levels.grids, GIVEN[id])
    if id == SOKOBAN:
        assert isinstance(levels, LevelSet)
    else:
        for name, value in (("nrow", 3), ("ncol", 4), ("size", 3), ("num_levels", 3)):
            assert env.get_attr(name) == (value,) * 3
