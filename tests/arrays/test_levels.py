"""Levels: sets that are kept, numbers and seeds in infos, `set_level_options`."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import roll_vec
from roll_vec.arrays import level_providers
from roll_vec.seeding import episode_seed, level_for_seed
from tests.conftest import JIT_OFF
from tests.contract.cases import assert_same, assert_undisturbed, draw_actions
from tests.contract.kinds import COPIES

SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
CONFIG = {
    SOKOBAN: {"dim_room": (5, 6), "num_boxes": 1, "search_depth": 30},
    LAKES: {"size": 3},
}


@pytest.fixture(params=CONFIG)
def id(request):
    """The id of a family with levels."""
    return request.param


def test_a_level_is_drawn_once_and_kept_unless_the_set_is_too_large(id, monkeypatch):
    """Shows in no result: those are compared below with unlimited levels."""
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


def test_kept_levels_are_in_no_copy_and_no_pickle(id):
    env = roll_vec.make_vec(id, 4, num_levels=500, **CONFIG[id])
    size, provider = len(pickle.dumps(env)), env.engine.level_provider
    env.reset(seed=0)
    assert {len(part) for part in provider.arrays} == {500}
    assert len(pickle.dumps(env)) < size + 4000
    for duplicate in COPIES.values():
        twin = duplicate(env)
        assert not twin.engine.level_provider.is_present.any()
        assert provider.is_present.any()
        assert_same(twin.reset(), env.reset())


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
def test_seeds_and_levels_follow_the_documented_rules(id, num_levels, start_level):
    """An episode plays start_level plus its seed modulo the number of levels."""
    keywords = {"num_levels": num_levels, "start_level": start_level, **CONFIG[id]}
    single = gymnasium.make(id, **REQUESTS, **keywords)
    batch = gymnasium.make_vec(
        id, num_envs=2, autoreset_mode="Disabled", **REQUESTS, **keywords
    )
    unlimited = gymnasium.make(id, **CONFIG[id])
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


# By id: the first options, and later ones.
CHANGES = {
    SOKOBAN: ({"num_boxes": 2}, {"num_boxes": 1, "num_levels": 7, "start_level": 3}),
    LAKES: ({"p": 0.9}, {"p": 0.5, "num_levels": 0}),
}
needs_jit = pytest.mark.skipif(
    JIT_OFF, reason="a minute uncompiled, for kernels that others run as well"
)


@needs_jit
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_batch_with_changes_equals_single_environments(id, mode):
    """The next episodes change, also those that are pending, and not the present ones.

    A kernel may be bound to the options from before.
    """
    first, later = CHANGES[id]
    keywords = {"max_episode_steps": 5, "action_start": 1, **CONFIG[id], **first}
    keywords |= {"seed_info": True, "level_info": True}
    env = gymnasium.make_vec(id, num_envs=6, autoreset_mode=mode, **keywords)
    sync = SyncVectorEnv(
        [lambda: gymnasium.make(id, **keywords) for _ in range(6)], autoreset_mode=mode
    )
    assert_same(env.reset(seed=1), sync.reset(seed=1))
    changes = {
        7: later,
        22: {"start_level": 40, "num_levels": 3},
        37: first,
        # An episode of every environment has ended at a step of this kind: 5, 10, ...
        48: {"num_levels": 0, "start_level": 0},
    }
    for t, batch in enumerate(draw_actions(env, 60)):
        if t in changes:
            env.unwrapped.set_level_options(**changes[t])
            for one in sync.envs:
                one.unwrapped.set_level_options(**changes[t])
        assert_same(env.step(batch), sync.step(batch), f"step {t}")


@needs_jit
def test_options_back_to_the_first_leave_no_trace(id):
    first, later = CHANGES[id]
    keywords = {"max_episode_steps": 5, "action_start": 1, **CONFIG[id], **first}
    env, twin = (roll_vec.make_vec(id, 6, **keywords) for _ in range(2))
    for batch in (env, twin):
        batch.reset(seed=3)
    options = gymnasium.make(id, **keywords).unwrapped.options
    env.set_level_options(**later)
    env.set_level_options(**{name: getattr(options, name) for name in later})
    assert env.get_state() == twin.get_state()
    assert_undisturbed(env, twin)
