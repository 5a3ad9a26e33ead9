"""Infos on request: seeds and levels at resets.

It is for bugs such as these:

- the seed is the one that the stream started from;
- the infos of a batch keep those of the first reset;
- the index of a level of users is counted from ``start_level``.
"""

import gymnasium
import numpy as np
import pytest

from roll_vec.seeding import episode_seed, level_for_seed
from tests.conftest import JIT_OFF
from tests.contract.cases import LEVEL_IDS

SOKOBAN = "roll_vec/Sokoban-v0"
REQUESTS = {"seed_info": True, "level_info": True}
SETS = [(0, 0), (1, 0), (7, 1000), (5, 2**32 - 5), (2**32, 0)]


@pytest.mark.parametrize(("num_levels", "start_level"), SETS)
@pytest.mark.parametrize("id", LEVEL_IDS)
def test_seeds_and_levels_follow_the_documented_rules(id, num_levels, start_level):
    """An episode plays start_level plus its seed modulo the number of levels."""
    small = {"num_boxes": 1, "dim_room": (5, 6)} if id == SOKOBAN else {"size": 3}
    keywords = {"num_levels": num_levels, "start_level": start_level, **small}
    single = gymnasium.make(id, **REQUESTS, **keywords)
    batch = gymnasium.make_vec(
        id, num_envs=2, autoreset_mode="Disabled", **REQUESTS, **keywords
    )
    unlimited = gymnasium.make(id, **small)
    for seed in (2**40 + 5,) if JIT_OFF else (0, 11, 2**32 - 2, 2**40 + 5):
        for k in range(1 if JIT_OFF else 3):
            grids, infos = batch.reset(seed=None if k else [seed, seed + 1])
            grid, own_info = single.reset(seed=None if k else seed)
            np.testing.assert_array_equal(grid, grids[0])
            assert infos["seed"].dtype == infos["level"].dtype == np.int64
            assert own_info == {key: int(infos[key][0]) for key in ("seed", "level")}
            assert all(type(value) is int for value in own_info.values())
            for i in range(2):
                own_seed = episode_seed(seed + i, k)
                level = level_for_seed(own_seed, num_levels, start_level)
                assert (infos["seed"][i], infos["level"][i]) == (own_seed, level)
                if num_levels:
                    assert level == start_level + own_seed % num_levels
                expected = unlimited.reset(seed=level)[0]
                np.testing.assert_array_equal(grids[i], expected)
