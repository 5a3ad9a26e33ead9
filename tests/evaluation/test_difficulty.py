"""`draw_levels`: sets of levels within bands of difficulty."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban.solver import measure_rooms
from roll_vec.errors import InvalidOptionError, LevelGenerationError, UnknownOptionError
from roll_vec.evaluation import draw_levels
from roll_vec.evaluation.splits import SPLITS, TEST_START
from tests.conftest import JIT_OFF

SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
SMALL = {"dim_room": (5, 6), "num_boxes": 1}
UNCOMPILED = pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")


@UNCOMPILED
@pytest.mark.parametrize(
    ("id", "more", "band"),
    [
        (SOKOBAN, SMALL, {"solution_steps": (6, 9), "solution_pushes": [3, None]}),
        (LAKES, {"size": 3, "p": 0.6}, {"success_probability": (0.2, 0.5)}),
        (LAKES, {"is_slippery": False, "size": 5}, {}),
    ],
)
def test_a_set_is_played_and_its_seeds_begin_with_its_levels(id, more, band):
    levels, seeds = draw_levels(id, 20, start_level=7, **more, **band)
    assert seeds.dtype == np.int64
    envs = gymnasium.make_vec(id, num_envs=20, **more)
    grids, _ = envs.reset(seed=seeds.tolist())
    np.testing.assert_array_equal(grids, levels.grids)
    more = {name: more[name] for name in more.keys() & {"is_slippery"}}
    envs = roll_vec.make_vec(id, 20, levels=levels, level_info=True, **more)
    grids, infos = envs.reset(seed=0)
    np.testing.assert_array_equal(grids, levels.grids)
    assert infos["level"].tolist() == list(range(20))
    if id == SOKOBAN:
        steps, pushes = measure_rooms(levels.grids)
        assert steps.min() >= 6
        assert steps.max() <= 9
        assert pushes.min() >= 3


def test_a_band_without_levels_is_an_error_with_shares():
    words = (
        r"seed 5 within solution_steps=\(9999, None\): of 1000 levels 100\.0% are below"
    )
    with pytest.raises(LevelGenerationError, match=words):
        draw_levels(SOKOBAN, 1, start_level=5, solution_steps=(9999, None), **SMALL)


@UNCOMPILED
def test_stored_seeds_are_those_of_the_bands():
    for id in (SOKOBAN, LAKES):
        for split in SPLITS[id].values():
            if split.bands:
                more = {**split.keywords, **split.bands}
                _, seeds = draw_levels(id, len(split), start_level=TEST_START, **more)
                assert seeds.tolist() == split.seeds


@pytest.mark.parametrize(
    ("id", "keywords", "message"),
    [
        ("roll_vec/FrozenLake-v1", {}, "^id: "),
        ("roll_vec/Nothing-v0", {}, "^id: "),
        (SOKOBAN, {"solution_steps": (5, 3)}, "^solution_steps: "),
        (SOKOBAN, {"success_probability": (0.1, 0.3)}, "success_probability"),
        (SOKOBAN, {"levels": ["#####\n#@$.#\n#####"]}, "^levels: "),
        (SOKOBAN, {"start_level": 1 << 32}, "^start_level: "),
    ],
)
def test_bad_arguments(id, keywords, message):
    with pytest.raises((InvalidOptionError, UnknownOptionError), match=message):
        draw_levels(id, 3, **keywords)
