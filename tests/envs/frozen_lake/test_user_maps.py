"""Maps of users: play, copies, keywords beside them."""

import copy
import dataclasses
import pickle
from functools import partial

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.frozen_lake import RandomFrozenLakeOptions
from roll_vec.envs.frozen_lake.level_files import load_levels
from roll_vec.envs.frozen_lake.maps import can_reach_goal, tile_codes
from roll_vec.errors import InvalidOptionError
from roll_vec.seeding import episode_seed, level_for_seed
from roll_vec.testing import check_vector_env
from tests.conftest import JIT_OFF
from tests.contract.cases import draw_actions
from tests.contract.test_unroll import check_equal
from tests.envs.frozen_lake.user_maps import COLLECTION, EXPECTED, ID, MAPS, batch
from tests.oracles.frozen_lake import OracleFrozenLake


@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({"size": 5}, "size: cannot be given beside levels"),
        ({"p": 0.5}, "p: cannot be given beside levels"),
        ({"size": 5, "p": 0.5}, "size, p: cannot be given beside levels"),
        ({"p": 7}, "p: expected a number from 0 to 1"),
        ({"num_levels": 4}, "num_levels: expected at most 3, got 4"),
        ({"start_level": 3}, "start_level: expected at most 2, got 3"),
        ({"start_level": 2, "num_levels": 2}, "num_levels: expected at most 1, got 2"),
    ],
    ids=str,
)
def test_keywords_that_contradict_maps_are_refused(keywords, problem):
    for make in (partial(gymnasium.make, ID), partial(gymnasium.make_vec, ID)):
        with pytest.raises(InvalidOptionError, match=problem):
            make(levels=MAPS, **keywords)


def test_options_are_made_from_options():
    options = RandomFrozenLakeOptions(levels=MAPS, start_level=1)
    assert (options.size, options.level_count, options.grid_shape) == (3, 2, (3, 4))
    assert RandomFrozenLakeOptions(**dataclasses.asdict(options)) == options
    assert dataclasses.replace(options, obs_mode="rgb").grid_shape == (3, 4)
    assert options != RandomFrozenLakeOptions(levels=MAPS[::-1], start_level=1)


@pytest.mark.parametrize(
    ("num_levels", "start_level"), [(0, 0), (0, 1), (2, 0), (1, 2)]
)
def test_an_episode_plays_the_map_of_its_seed(num_levels, start_level):
    keywords = {"num_levels": num_levels, "start_level": start_level}
    count = num_levels or 3 - start_level
    env = batch(MAPS, 8, autoreset_mode="Disabled", level_info=True, **keywords)
    single = gymnasium.make(ID, levels=MAPS, level_info=True, **keywords)
    for episode in range(3):
        seeds = list(range(100, 108))
        grids, infos = env.reset(seed=None if episode else seeds)
        for seed, grid, index in zip(seeds, grids, infos["level"], strict=True):
            level = level_for_seed(episode_seed(seed, episode), count, start_level)
            np.testing.assert_array_equal(grid, EXPECTED[level])
            assert index == level
    grid, info = single.reset(seed=104)
    np.testing.assert_array_equal(grid, EXPECTED[info["level"]])
    assert info["level"] == start_level + 104 % count


@pytest.mark.parametrize("is_slippery", [True, False])
def test_play_equals_the_oracle(is_slippery):
    single = gymnasium.make(ID, levels=MAPS, is_slippery=is_slippery).unwrapped
    rng = np.random.default_rng(0)
    for seed in range(6 if JIT_OFF else 30):
        single.reset(seed=seed)
        rows = MAPS[seed % 3]
        assert single.desc.tolist() == [[c.encode() for c in row] for row in rows]
        lake = OracleFrozenLake(rows, is_slippery)
        assert lake.reset(seed) == single.s
        for action in rng.integers(0, 4, 20).tolist():
            step = lake.step(action)
            _, reward, terminated, _, _ = single.step(action + 1)
            assert (single.s, reward, terminated) == (
                step.position,
                step.reward,
                step.done,
            )
            if terminated:
                break


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_batch_is_in_lockstep_with_single_environments(mode):
    more = {"levels": MAPS, "max_episode_steps": 7, "action_start": 1}
    env = gymnasium.make_vec(ID, num_envs=5, autoreset_mode=mode, **more)
    other = gymnasium.vector.SyncVectorEnv(
        [partial(gymnasium.make, ID, **more)] * 5,
        autoreset_mode=gymnasium.vector.AutoresetMode(mode),
    )
    np.testing.assert_array_equal(env.reset(seed=3)[0], other.reset(seed=3)[0])
    env.action_space.seed(0)
    for _ in range(60):
        actions = env.action_space.sample()
        for ours, theirs in zip(env.step(actions), other.step(actions), strict=False):
            if not isinstance(ours, dict):
                np.testing.assert_array_equal(ours, theirs)


def test_unroll_equals_as_many_steps():
    pair = [batch(MAPS, 6, action_start=1) for _ in range(2)]
    for env in pair:
        env.reset(seed=2)
    check_equal(*pair, draw_actions(pair[0], 40))


def test_batch_passes_the_checker():
    check_vector_env(
        partial(gymnasium.make_vec, ID, levels=[COLLECTION]), steps=40, seed=2
    )


@pytest.mark.parametrize("form", ["single", "vector"])
@pytest.mark.parametrize("source", ["path", "list"])
def test_copies_play_on(form, source, tmp_path):
    levels = MAPS * 400
    if source == "path":
        levels = tmp_path / "maps.txt"
        levels.write_text("\n\n".join([COLLECTION] * 400))
    if form == "single":
        env, action = gymnasium.make(ID, levels=levels, action_start=1).unwrapped, 2
    else:
        env, action = batch(levels, 2, action_start=1), [2, 2]
    env.reset(seed=1)
    stored = pickle.dumps(env)
    assert (len(stored) < 10_000) == (source == "path")
    twins = pickle.loads(stored), copy.deepcopy(env)
    for twin in twins:
        options = twin.options if form == "single" else twin.engine.options
        assert options.levels == load_levels(levels)
        assert source == "list" or options.levels is load_levels(levels)
    for play in (lambda env: env.step(action), lambda env: env.reset()):
        expected = repr(play(env))
        assert [repr(play(twin)) for twin in twins] == [expected] * 2


def test_maps_are_ours():
    maps = EXPECTED.copy()
    env = batch(maps)
    maps[:] = 0
    np.testing.assert_array_equal(env.reset(seed=0)[0], EXPECTED)
    single = gymnasium.make(ID, levels=load_levels(EXPECTED))
    single.reset(seed=0)[0][:] = 0
    single.unwrapped.tiles[:] = 0
    np.testing.assert_array_equal(single.reset(seed=0)[0], EXPECTED[0])
    for name, value in (("nrow", 3), ("ncol", 4), ("size", 3), ("num_levels", 3)):
        assert env.get_attr(name) == (value,) * 3
    assert [desc.tolist() for desc in env.get_attr("desc")] == [
        [[c.encode() for c in row] for row in rows] for rows in MAPS
    ]


def test_a_way_through_a_maze_is_found():
    size = 201
    maze = np.full((size, size), "H")
    maze[1::2, 1:-1] = "F"
    maze[2:-1:4, -2] = "F"
    maze[4:-1:4, 1] = "F"
    maze[1, 1], maze[-2, 1:-1] = "S", "G"
    tiles = tile_codes(maze.astype("S1"))[np.newaxis]
    starts = (maze == "S")[np.newaxis]
    assert can_reach_goal(starts, tiles).all()
    maze[100, [1, -2]] = "H"
    tiles = tile_codes(maze.astype("S1"))[np.newaxis]
    assert not can_reach_goal(starts, tiles).any()
