"""`roll-vec levels make`: the levels in files are those that are played."""

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.sokoban import load_levels
from roll_vec.evaluation import draw_levels

SOKOBAN = "roll_vec/Sokoban-v0"
ROOMS = {"dim_room": (5, 7), "num_boxes": 1}


@pytest.mark.parametrize(
    ("out", "band"), [("set.txt", {}), ("set.XSB", {"solution_steps": (4, 20)})]
)
def test_made_levels_are_those_that_are_played(works, out, band):
    own = [w for k, v in {**ROOMS, **band}.items() for w in ("-o", f"{k}={v}")]
    make = ("--num-levels", 9, "--start-level", 40, "--out", out)
    outcome = works("levels", "make", SOKOBAN, *own, *make)
    assert outcome.out == f"9 levels of {SOKOBAN}, seeds 40 to 48: {out}\n"
    levels, seeds = draw_levels(SOKOBAN, 9, start_level=40, **ROOMS, **band)
    np.testing.assert_array_equal(load_levels(out).grids, levels.grids)
    env = gymnasium.make(SOKOBAN, **ROOMS)
    for grid, seed in zip(levels.grids, seeds.tolist(), strict=True):
        np.testing.assert_array_equal(env.reset(seed=seed)[0], grid)
