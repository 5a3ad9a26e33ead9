"""Levels of users: play, the cache of a process, pickles."""

import copy
import dataclasses
import io
import pickle
import sys
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from numba import types

from roll_vec.cli import main
from roll_vec.envs.sokoban import SokobanOptions
from roll_vec.envs.sokoban.level_files import LevelSet, load_levels
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.sokoban import rules as kernels
from roll_vec.seeding import episode_seed, level_for_seed
from roll_vec.stacked.grid_observations import OBS_MODES
from roll_vec.testing import check_vector_env
from tests.conftest import JIT_OFF
from tests.envs.sokoban.user_levels import (
    COLLECTION,
    EXPECTED,
    ID,
    ONE,
    batch,
)
from tests.oracles.sokoban import OracleSokoban


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"dim_room": (7, 7)}, "dim_room"),
        ({"dim_x": 6, "dim_y": 6}, "dim_x, dim_y: cannot be given beside levels"),
        ({"num_boxes": 2}, "num_boxes: cannot be given beside levels"),
        ({"search_depth": 9, "num_gen_steps": 3}, "search_depth, num_gen_steps: cann"),
        ({"num_boxes": "x"}, "num_boxes: expected an integer"),
        ({"num_levels": 4}, "num_levels: expected at most 3, got 4"),
        ({"start_level": 3}, "start_level: expected at most 2, got 3"),
        ({"start_level": 2, "num_levels": 2}, "num_levels: expected at most 1, got 2"),
        ({"start_level": -1}, "start_level: expected at least 0"),
    ],
    ids=str,
)
def test_keywords_that_contradict_user_levels_are_refused(keywords, told):
    for make in (partial(gymnasium.make, ID), partial(gymnasium.make_vec, ID)):
        with pytest.raises(InvalidOptionError, match=told):
            make(levels=EXPECTED, **keywords)


def test_defaults_and_the_levels_own_size_are_no_contradiction():
    room = {"dim_room": (6, 6), "num_boxes": 3, "search_depth": 300}
    assert gymnasium.make(ID, levels=[ONE], **room).unwrapped.dim_room == (3, 5)
    options = SokobanOptions(levels=EXPECTED, start_level=1)
    assert (options.level_count, options.start_level) == (2, 1)
    assert SokobanOptions(**dataclasses.asdict(options)) == options
    assert dataclasses.replace(options, obs_mode="rgb").dim_room == (6, 6)
    assert options != SokobanOptions(levels=EXPECTED[::-1], start_level=1)


# ---------------------------------------------------------------------------- play


@pytest.mark.parametrize(
    ("num_levels", "start_level"), [(0, 0), (0, 1), (2, 0), (1, 2)]
)
def test_an_episode_plays_the_level_of_its_seed(num_levels, start_level):
    keywords = {"num_levels": num_levels, "start_level": start_level}
    count = num_levels or 3 - start_level
    env = batch(EXPECTED, 8, autoreset_mode="Disabled", **keywords)
    single = gymnasium.make(ID, levels=EXPECTED, **keywords)
    for episode in range(3):
        seeds = list(range(100, 108))
        grids, _ = env.reset(seed=None if episode else seeds)
        for seed, grid in zip(seeds, grids, strict=True):
            level = level_for_seed(episode_seed(seed, episode), count, start_level)
            np.testing.assert_array_equal(grid, EXPECTED[level])
    for _ in range(3):
        grid, _ = single.reset(seed=(seed := seeds.pop()))
        np.testing.assert_array_equal(grid, EXPECTED[start_level + seed % count])
    assert env.get_attr("num_levels") == (count,) * 8


def test_play_equals_the_oracle_with_different_numbers_of_boxes():
    more = {"max_episode_steps": -1, "action_start": 1}
    env = batch(EXPECTED, 6, autoreset_mode="Disabled", **more)
    single = gymnasium.make(ID, levels=EXPECTED).unwrapped
    rng = np.random.default_rng(0)
    grids, _ = env.reset(seed=0)
    solved = 0
    for start in range(4 if JIT_OFF else 12):
        grids, _ = env.reset(seed=start)
        fixed, states = env.get_attr("room_fixed"), env.get_attr("room_state")
        games = [
            OracleSokoban(*room, 10**6) for room in zip(fixed, states, strict=True)
        ]
        assert env.get_attr("num_boxes") == tuple(game.num_boxes for game in games)
        assert set(env.get_attr("num_boxes")) == {1, 2}
        for _ in range(120):
            actions = rng.integers(0, 5, 6)
            grids, rewards, ends, _, infos = env.step(actions)
            steps = [g.step(a) for g, a in zip(games, actions.tolist(), strict=True)]
            np.testing.assert_array_equal(grids, [game.observe() for game in games])
            assert rewards.tolist() == [step.reward for step in steps]
            assert ends.tolist() == [step.success for step in steps]
            assert infos["success"].tolist() == ends.tolist()
            homes = tuple(game.boxes_on_target for game in games)
            assert env.get_attr("boxes_on_target") == homes
            solved += int(ends.sum())
            if ends.any():
                break
    assert solved
    assert single.num_boxes == 0
    for seed, boxes in ((0, 1), (1, 2), (2, 1)):
        single.reset(seed=seed)
        assert (single.num_boxes, single.boxes_on_target) == (boxes, boxes - 1)


@pytest.mark.parametrize("obs_mode", OBS_MODES)
def test_user_levels_look_like_generated_rooms(obs_mode):
    room = {"dim_room": (6, 7), "num_boxes": 2, "num_levels": 5}
    more = {"obs_mode": obs_mode, "render_mode": "ansi", "action_mode": "text"}
    drawn = gymnasium.make_vec(ID, num_envs=5, **room)
    levels, _ = drawn.reset(seed=0)
    theirs = gymnasium.make_vec(ID, num_envs=5, **room, **more)
    ours = batch(levels, 5, **more)
    assert ours.single_observation_space == theirs.single_observation_space
    for seed in (3, None):
        results = [env.reset(seed=seed) for env in (ours, theirs)]
        assert repr(results[0]) == repr(results[1])
    for action in ("Up", "left", "?", "Down"):
        results = [env.step([action] * 5) for env in (ours, theirs)]
        assert repr(results[0]) == repr(results[1])
        assert ours.render() == theirs.render()
    for name in ("get_instructions", "boxes_on_target", "num_boxes", "room_state"):
        assert repr(ours.call(name)) == repr(theirs.call(name))


def test_batch_of_user_levels_passes_the_checker():
    check_vector_env(
        partial(gymnasium.make_vec, ID, levels=[COLLECTION]), steps=40, seed=2
    )


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
def test_user_levels_compile_nothing_anew():
    env = batch(EXPECTED)
    env.reset(seed=0)
    env.step([1, 1, 1])
    # An array that cannot be written would be another type.
    for kernel in (kernels.place_rows, kernels.step_rows):
        kinds = [kind for signature in kernel.signatures for kind in signature]
        assert all(kind.mutable for kind in kinds if isinstance(kind, types.Array))


def test_the_command_line_plays_a_file(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["-o", "levels=levels.txt", "-o", "num_levels=1"]
    assert main(["rollout", ID, "--num-envs", "4", "--steps", "60", *options]) == 0
    assert Path("rollout.png").exists()
    monkeypatch.setattr(sys, "stdin", io.StringIO("d\nu\nd\n"))
    capsys.readouterr()
    assert main(["play", ID, *options]) == 0
    assert "Solved in 1 step" in capsys.readouterr().out


# ------------------------------------------------------------- one set in a process


def test_a_path_is_read_once_until_it_changes(path):
    first, again = gymnasium.make(ID, levels=path), batch(str(path))
    levels = first.unwrapped.options.levels
    assert again.get_attr("levels")[0] is levels is load_levels(path)
    path.write_text(ONE)
    assert len(load_levels(path)) == 1
    assert len(levels) == 3
    np.testing.assert_array_equal(first.reset(seed=4)[0], EXPECTED[1])


@pytest.mark.parametrize("form", ["single", "vector"])
def test_copies_share_the_levels_of_a_path(form, path):
    path.write_text("\n\n".join([COLLECTION] * 400))
    action = 4
    if form == "single":
        env = gymnasium.make(ID, levels=path).unwrapped
    else:
        env, action = batch(path, 2), [4, 4]
    env.reset(seed=1)
    stored = pickle.dumps(env)
    assert len(stored) < 10_000
    twins = pickle.loads(stored), copy.deepcopy(env)
    for twin in twins:
        options = twin.options if form == "single" else twin.engine.options
        assert options.levels is load_levels(path)
    for play in (lambda env: env.step(action), lambda env: env.reset()):
        expected = repr(play(env))
        assert [repr(play(twin)) for twin in twins] == [expected] * 2


@pytest.mark.parametrize(
    "text", [ONE, f"{COLLECTION}\n{ONE}", COLLECTION.replace("#@$.#", "#+$ #")]
)
def test_a_pickle_wants_the_levels_that_it_was_made_of(text, path):
    # It would go on with numbers of levels that are no more.
    env = batch(path)
    env.reset(seed=2)
    stored = pickle.dumps(env)
    before = path.read_text()
    path.write_text(text)
    with pytest.raises(InvalidOptionError, match=r"levels\.txt: expected the levels"):
        pickle.loads(stored)
    path.write_text(before)
    grids = [each.reset()[0] for each in (env, pickle.loads(stored))]
    np.testing.assert_array_equal(*grids)


def test_levels_of_an_array_are_ours_and_travel():
    given = EXPECTED.copy()
    env = batch(given)
    given[:] = 0
    twin = pickle.loads(pickle.dumps(env))
    for each in (env, twin, copy.deepcopy(env)):
        np.testing.assert_array_equal(each.reset(seed=0)[0], EXPECTED)
    (levels, *_), (others, *_) = env.get_attr("levels"), twin.get_attr("levels")
    assert isinstance(levels, LevelSet)
    assert levels == others
    assert hash(levels) == hash(others)
    assert levels != EXPECTED.tolist()
    assert repr(levels) == "<3 levels>"
    with pytest.raises(ValueError, match="read-only"):
        levels.grids[:] = 0
    # Nor do the observations show them themselves.
    single = gymnasium.make(ID, levels=levels)
    single.reset(seed=0)[0][:] = 0
    single.unwrapped.grid[:] = 0
    np.testing.assert_array_equal(levels.grids, EXPECTED)
