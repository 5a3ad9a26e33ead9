"""Levels: sets that are kept, their numbers and seeds in infos."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.arrays import level_providers
from roll_vec.seeding import episode_seed, level_for_seed
from tests.conftest import JIT_OFF
from tests.contract.cases import LEVEL_IDS

SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
SMALL = {"dim_room": (5, 6), "num_boxes": 1}
CONFIG = {SOKOBAN: {**SMALL, "search_depth": 30}, LAKES: {"size": 3}}


@pytest.fixture(params=CONFIG)
def id(request):
    """The id of a family with levels."""
    return request.param


# ------------------------------------------------------------------ kept levels


def test_a_level_is_drawn_once_and_kept_unless_the_set_is_too_large(id, monkeypatch):
    """Shows in no result: `tests/contract/test_memory.py` has those."""
    calls = []

    def make(num_levels):
        env = roll_vec.make_vec(id, 4, num_levels=num_levels, **CONFIG[id])
        provider = env.engine.level_provider
        generate = provider.generate

        def draw(seeds):
            calls.append(seeds.tolist())
            return generate(seeds)

        monkeypatch.setattr(provider, "generate", draw)
        calls.clear()
        return env

    env = make(5)
    for seeds in ([0, 7, 2, 12], [5, 1, 1, 1], [0, 1, 2, 0], [3, 4, 8, 9]):
        env.reset(seed=seeds)
    assert calls == [[0, 2], [1], [3, 4]]
    num_bytes = sum(each[:1].nbytes for each in env.engine.level_provider.arrays)
    # Unlimited levels are drawn each time, but once a call.
    env = make(0)
    for _ in range(2):
        env.reset(seed=[9, 3, 9, 9])
    assert calls == [[3, 9]] * 2
    monkeypatch.setattr(level_providers, "CACHE_BYTES", 25 * num_bytes)
    for num_levels, count in ((25, 1), (26, 2)):
        env = make(num_levels)
        for _ in range(2):
            env.reset(seed=[1, 2, 3, 4])
        assert len(calls) == count


# ------------------------------------------------------------------- interrupts


# ------------------------------------------------------------------------- unrolls


@pytest.mark.parametrize(
    ("id", "level"), [(SOKOBAN, "#####\n#@$.#\n#####"), (LAKES, ["SFF", "FHG"])]
)
@pytest.mark.parametrize("unrolls", [False, True])
def test_episodes_that_begin_in_compiled_code_note_their_level(id, level, unrolls):
    more = {"max_episode_steps": 1, "autoreset_mode": "SameStep", "action_start": 1}
    more["level_info"] = True
    env = roll_vec.make_vec(id, 9, levels=[level] * 3, start_level=1, **more)
    env.reset(seed=0)
    for k in range(1, 9):
        actions = np.zeros((1, 9), int)
        infos = env.unroll(actions)[-1] if unrolls else env.step(actions[0])[-1]
        expected = [1 + episode_seed(i, k) % 2 for i in range(9)]
        assert infos["level"].reshape(-1).tolist() == expected


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
