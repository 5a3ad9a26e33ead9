"""Sokoban, one room or a batch of them: rules, ends, attributes, failing rooms."""

from functools import partial

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.sokoban import SokobanOptions
from roll_vec.envs.sokoban import rooms as sokoban_rooms
from roll_vec.envs.sokoban.rooms import draw_rooms
from roll_vec.errors import (
    InvalidOptionError,
    LevelGenerationError,
    ResetNeededError,
)
from roll_vec.seeding import retry_seed
from tests.conftest import JIT_OFF
from tests.oracles.sokoban import OracleSokoban
from tests.oracles.sokoban_rooms import generate_room
from tests.oracles.solver import solve_sokoban
from tests.splits import split_all

ID = "roll_vec/Sokoban-v0"
CONFIGS = [
    {},
    {"dim_room": (5, 5), "num_boxes": 1},
    {"dim_room": (5, 8), "num_boxes": 2, "search_depth": 30},
    {"dim_x": 9, "dim_y": 4, "num_boxes": 1},
    {"dim_room": (7, 7), "num_boxes": 2, "num_gen_steps": 9, "search_depth": 25},
]


def oracle_of(env, max_steps=None):
    """Return the oracle in the state of an environment."""
    return OracleSokoban(env.room_fixed, env.room_state, max_steps)


def solution_of(env):
    """Return a shortest solution of the room that is played."""
    return solve_sokoban(env.room_fixed.tolist(), env.room_state.tolist())


def seed_with_solution(env, lengths):
    """A seed whose room has a shortest solution of one of these lengths."""
    for seed in range(1000):
        env.reset(seed=seed)
        if len(solution_of(env.unwrapped)) in lengths:
            return seed
    raise AssertionError("no such room")


# -------------------------------------------------------------------------- rules


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_play_equals_the_oracle(config):
    env = gymnasium.make(ID, action_start=1, **config).unwrapped
    rng = np.random.default_rng(0)
    for seed in range(3 if JIT_OFF else 12):
        grid, info = env.reset(seed=seed)
        assert info == {}
        game = oracle_of(env)
        np.testing.assert_array_equal(grid, game.observe())
        for _ in range(40):
            action = int(rng.integers(0, 5))
            grid, reward, terminated, truncated, info = env.step(action)
            step = game.step(action)
            np.testing.assert_array_equal(grid, game.observe())
            assert reward == step.reward
            assert (terminated, truncated) == (step.success, False)
            assert info == {
                "action_is_effective": step.effective,
                "action_is_valid": action != 0,
                "success": step.success,
            }
            np.testing.assert_array_equal(env.room_state, game.room_state)
            np.testing.assert_array_equal(env.room_fixed, game.room_fixed)
            assert tuple(env.player_position.tolist()) == game.player
            assert env.boxes_on_target == game.boxes_on_target


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_rooms_are_the_oracles_for_the_first_seed_that_has_one(config):
    env = gymnasium.make(ID, **config).unwrapped
    options = env.options
    for seed in [0, 1, 2**32 - 1] if JIT_OFF else [*range(20), 2**32 - 1]:
        env.reset(seed=seed)
        attempt, status = 0, 1
        while status != 0:
            status, fixed, state = generate_room(
                retry_seed(seed, attempt),
                options.dim_room,
                options.num_boxes,
                options.search_depth,
                options.num_gen_steps,
            )
            attempt += 1
        np.testing.assert_array_equal(env.room_fixed, fixed)
        np.testing.assert_array_equal(env.room_state, state)


def test_action_0_is_no_valid_action_in_both_forms():
    env = gymnasium.make(ID, max_steps=3, action_start=1).unwrapped
    batch = gymnasium.make_vec(ID, num_envs=2, max_steps=3, action_start=1)
    assert not env.action_space.contains(0)
    before, _ = env.reset(seed=7)
    batch.reset(seed=[7, 7])
    info = {"action_is_effective": False, "action_is_valid": False, "success": False}
    for t in range(1, 4):
        obs, reward, terminated, truncated, given = env.step(0)
        np.testing.assert_array_equal(obs, before)
        assert (reward, terminated, truncated) == (-0.1, False, t == 3)
        assert given == info
        obs, rewards, terminations, truncations, infos = batch.step([0, 0])
        np.testing.assert_array_equal(obs, [before, before])
        assert rewards.tolist() == [-0.1, -0.1]
        assert not terminations.any()
        assert truncations.tolist() == [t == 3] * 2
        for key, value in info.items():
            assert infos[key].tolist() == [value] * 2
            assert infos["_" + key].all()
    assert env.num_env_steps == 3


def test_attributes_of_the_room():
    keywords = {"dim_room": [5, 7], "num_boxes": 2, "action_start": 1}
    env = gymnasium.make(ID, **keywords).unwrapped
    grid, _ = env.reset(seed=3)
    assert env.dim_room == (5, 7)
    assert env.num_boxes == 2
    assert (env.room_fixed == 2).sum() == (env.room_state == 4).sum() == 2
    assert (env.room_state == 5).sum() == 1
    row, col = env.player_position
    assert grid[row, col] in (5, 6)
    assert env.room_fixed.dtype == env.room_state.dtype == grid.dtype == np.uint8
    env.room_fixed[:] = env.room_state[:] = 9
    np.testing.assert_array_equal(env.step(0)[0], grid)


# --------------------------------------------------------------------------- ends


def limits(kind, steps):
    """Keywords for a limit of so many steps."""
    return {
        "max_steps": {"max_steps": steps},
        "max_episode_steps": {"max_episode_steps": steps},
        "both": {"max_steps": steps, "max_episode_steps": steps},
    }[kind]


@pytest.mark.parametrize("kind", ["max_steps", "max_episode_steps", "both"])
@pytest.mark.parametrize("spare", [-1, 0, 1])
def test_a_success_on_the_very_step_of_the_limit(kind, spare):
    config = {"dim_room": (5, 6), "num_boxes": 1, "search_depth": 30}
    probe = gymnasium.make(ID, **config)
    seed = seed_with_solution(probe, range(4, 9))
    probe.reset(seed=seed)
    solution = solution_of(probe.unwrapped)
    limit = len(solution) + spare

    env = gymnasium.make(ID, **config, **limits(kind, limit))
    batch = gymnasium.make_vec(
        ID, num_envs=2, autoreset_mode="Disabled", **config, **limits(kind, limit)
    )
    env.reset(seed=seed)
    batch.reset(seed=[seed, seed])
    for t, action in enumerate(solution[:limit], start=1):
        _, reward, *ends, info = env.step(action)
        _, rewards, *all_ends, infos = batch.step([action, action])
        # terminated by the success, truncated by the limit, and both together.
        assert ends == [t == len(solution), t == limit]
        assert [flags.tolist() for flags in all_ends] == [[end] * 2 for end in ends]
        assert info["success"] == (t == len(solution))
        assert infos["success"].tolist() == [info["success"]] * 2
        assert rewards.tolist() == [reward] * 2
    if spare >= 0:
        assert reward == -0.1 + 1.0 + 10.0


# ------------------------------------------------------------------ threads, failures


# numpy's errstate, which lets integers wrap around silently, is one thread's own.
needs_jit = pytest.mark.skipif(JIT_OFF, reason="plain functions are for one thread")


@needs_jit
def test_rooms_do_not_depend_on_the_number_of_threads():
    options = SokobanOptions(dim_room=(6, 6), num_boxes=2)
    seeds = np.arange(200, dtype=np.uint64)
    one, statuses = draw_rooms(options, seeds)
    assert not statuses.any()
    for num_threads in (2, 3):
        many, statuses = draw_rooms(options, seeds, num_threads)
        assert not statuses.any()
        np.testing.assert_array_equal(many, one)


@needs_jit
def test_batches_do_not_depend_on_the_number_of_threads(monkeypatch):
    split_all(monkeypatch, 5)
    played = []
    for num_threads in (1, 2, 5):
        env = gymnasium.make_vec(
            ID, num_envs=11, num_threads=num_threads, max_episode_steps=6, num_boxes=1
        )
        env.action_space.seed(0)
        results = [env.reset(seed=0)]
        results += [env.step(env.action_space.sample()) for _ in range(15)]
        played.append(repr(results))
    assert played[0] == played[1] == played[2]


# Depth 1 looks at no state, depth 2 at none after a pull, and in a corridor boxes
# on both sides of a third cannot all be pulled.
NO_ROOMS = [
    {"search_depth": 1},
    {"search_depth": 2, "num_boxes": 1},
    {"num_gen_steps": 1, "num_boxes": 5},
    {"dim_room": (3, 9), "num_boxes": 3},
]


def few_attempts(monkeypatch, max_attempts=3):
    """Let a configuration fail early where kernels run uncompiled."""
    few = partial(draw_rooms, max_attempts=max_attempts)
    monkeypatch.setattr(sokoban_rooms, "draw_rooms", few)


@pytest.mark.parametrize("config", NO_ROOMS, ids=str)
def test_a_configuration_without_rooms_ends_in_an_error(config, monkeypatch):
    if JIT_OFF:
        few_attempts(monkeypatch)
    env = gymnasium.make(ID, **config)
    batch = gymnasium.make_vec(ID, num_envs=3, **config)
    for form in (env, batch):
        for _ in range(2):
            with pytest.raises(LevelGenerationError) as caught:
                form.reset(seed=5)
            message = str(caught.value)
            assert "no room was found for level seed 5 within 2000 attempts" in message
            options = env.unwrapped.options
            for name in ("dim_room", "num_boxes", "search_depth", "num_gen_steps"):
                assert f"{name}={getattr(options, name)}" in message
            with pytest.raises(ResetNeededError):
                form.unwrapped.step(1 if form is env else [1, 1, 1])
    assert batch.np_random_seed == (None, None, None)


def failing_seed(options, seeds):
    """Return the first seed without a room at the first attempt."""
    for seed in seeds:
        _, (status,) = draw_rooms(options, np.array([seed], np.uint64), max_attempts=1)
        if status:
            return seed
    raise AssertionError("every seed has a room")


@pytest.mark.parametrize("form", ["single", "vector"])
def test_nothing_has_moved_where_a_room_fails(form, monkeypatch):
    few_attempts(monkeypatch, 1)
    good = 8
    bad = failing_seed(SokobanOptions(), range(100))
    draw = partial(draw_rooms, SokobanOptions(), max_attempts=1)
    while draw(np.array([good, good + 1], np.uint64))[1].any():
        good += 1
    if form == "single":
        env, twin = (gymnasium.make(ID) for _ in range(2))
        seeds, failing, action = good, bad, 1
    else:
        env, twin = (gymnasium.make_vec(ID, num_envs=2) for _ in range(2))
        seeds, failing, action = [good, good + 1], [good, bad], [1, 2]
    for each in (env, twin):
        each.reset(seed=seeds)
        each.step(action)
    with pytest.raises(LevelGenerationError, match=f"level seed {bad} "):
        env.reset(seed=failing)
    assert env.np_random_seed == twin.np_random_seed
    for _ in range(5):
        assert repr(env.step(action)) == repr(twin.step(action))
    # Nor have the streams.
    monkeypatch.undo()
    assert repr(env.reset()) == repr(twin.reset())


def test_untried_seeds_are_told_apart():
    options = SokobanOptions()
    bad = failing_seed(options, range(100))
    seeds = np.array([bad, 1, 2], np.uint64)
    _, statuses = draw_rooms(options, seeds, max_attempts=1)
    assert statuses[0] in (1, 2)
    assert statuses[1:].tolist() == [-1, -1]


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_rooms_that_no_memory_is_for_are_refused(make, monkeypatch):
    def refuse(*_):
        message = "Unable to allocate 69.6 GiB"
        raise MemoryError(message)

    monkeypatch.setattr(sokoban_rooms.rooms, "make_workspaces", refuse)
    env = make(ID, dim_room=(12, 34))
    with pytest.raises(InvalidOptionError, match=r"dim_room: \(12, 34\) .*69.6 GiB"):
        env.reset(seed=0)
