"""Recorded episodes of ROLL and Gymnasium are played again through the public ids.

Every row of the samples in ``tests/data`` and, where it is at hand, of the full
tables beside the checkout.  Both were recorded for at most 60 steps; ``done`` is true
at that limit in Sokoban's tables, which ROLL itself kept, and not in FrozenLake's.
"""

import re
from functools import cache

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban import SokobanOptions
from roll_vec.envs.sokoban.rooms import draw_rooms
from roll_vec.seeding import retry_seed
from tests.conftest import JIT_OFF
from tests.oracles import golden_path, load_golden

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
FROZEN_LAKE = "roll_vec/FrozenLake-v1"
MAX_STEPS = 60
PLAYER, TARGET = 5, 2
# Both of ROLL's ways to say it.
LIMITS = [{"max_steps": MAX_STEPS}, {"max_episode_steps": MAX_STEPS}]
SOKOBAN_TAGS = [
    "d6x6_b1_s10",
    "d6x6_b1_s300",
    "d6x6_b2_s100",
    "d6x6_b3_s300",
    "d7x7_b2_s300",
    "d6x9_b2_s50",
    "d8x8_b3_s100",
    "d10x10_b4_s30",
    "d10x10_b4_s300",
    "d13x11_b3_s40",
]
LAKE_TAGS = [
    "size4_p0.8_slip1",
    "size4_p0.8_slip0",
    "size8_p0.8_slip1",
    "size8_p0.6_slip0",
    "size16_p0.9_slip1",
]
# Without the JIT a room of this search takes seconds.
if JIT_OFF:
    SOKOBAN_TAGS.remove("d10x10_b4_s300")


@cache
def tables(name, full):
    """Return the tables of a game by tag."""
    return load_golden(name, full=full)


# The full tables take long, and are not everywhere.
@pytest.fixture(params=["sample", pytest.param("full", marks=pytest.mark.slow)])
def golden(request):
    """A function from a table's name and a tag to its fields."""
    full = request.param == "full"
    if full:
        shared = request.getfixturevalue("shared")
        assert golden_path("sokoban", full=True).parent == shared / "golden"
        if JIT_OFF:
            pytest.skip("the sample is enough with the JIT off")

    def fields_of(name, tag):
        fields = tables(name, full)[tag]
        # From both ends: failed rooms stand at the end of a sample's table.
        rows = np.arange(len(fields["seeds"]))
        rows = [*rows[:2], *rows[-2:]] if JIT_OFF else rows
        return {key: values[rows] for key, values in fields.items()}

    return fields_of


def test_tags_are_all_there_are():
    assert set(tables("sokoban", False)) - set(SOKOBAN_TAGS) <= {"d10x10_b4_s300"}
    assert list(tables("frozen_lake", False)) == LAKE_TAGS


def sokoban_config(tag):
    """Return the keywords that a tag stands for."""
    rows, columns, boxes, depth = map(int, re.findall(r"\d+", tag))
    return {"dim_room": (rows, columns), "num_boxes": boxes, "search_depth": depth}


def lake_config(tag):
    """Return the keywords that a tag stands for."""
    size, p, slip = re.fullmatch(r"size(\d+)_p([\d.]+)_slip(\d)", tag).groups()
    return {"size": int(size), "p": float(p), "is_slippery": slip == "1"}


def seeds_of(fields):
    """Return the seeds of a table."""
    return [int(seed) for seed in fields["seeds"]]


def as_grid(fixed, state):
    """The codes 0 to 6 of a table's two grids."""
    return np.where((state == PLAYER) & (fixed == TARGET), PLAYER + 1, state)


def play(env, actions):
    """Step a batch through (n, T) actions; lists of what each step gave."""
    results = [env.step(column) for column in actions.T]
    return [list(part) for part in zip(*results, strict=True)]


def assert_recorded(values, recorded, live, name):
    """Compare (T, n) played with (n, T) recorded where an episode was going on."""
    values = np.array(values).T
    assert values.dtype == recorded.dtype
    np.testing.assert_array_equal(values[live], recorded[live], name)


# ----------------------------------------------------------------------- Sokoban


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("tag", SOKOBAN_TAGS)
def test_sokoban_in_a_batch(golden, tag, limit):
    fields = golden("sokoban", tag)
    rooms = np.flatnonzero(fields["code"] == 0)
    fields = {key: values[rooms] for key, values in fields.items()}
    n, length = len(rooms), fields["length"]
    keywords = {"action_start": 1, **sokoban_config(tag), **limit}
    env = gymnasium.make_vec(SOKOBAN, num_envs=n, **keywords)
    obs, info = env.reset(seed=seeds_of(fields))
    assert info == {}
    np.testing.assert_array_equal(obs, as_grid(fields["fixed"], fields["state"]))
    np.testing.assert_array_equal(env.get_attr("room_fixed"), fields["fixed"])
    np.testing.assert_array_equal(env.get_attr("room_state"), fields["state"])

    actions = fields["actions"][:, : length.max()].astype(np.int64)
    observations, rewards, terminations, truncations, infos = play(env, actions)
    live = np.arange(actions.shape[1]) < length[:, None]
    fields = {
        key: values[:, : length.max()] if values.shape[1:] == (100,) else values
        for key, values in fields.items()
    }
    dones = np.logical_or(terminations, truncations)
    assert_recorded(rewards, fields["reward"], live, "reward")
    assert_recorded(dones, fields["done"], live, "done")
    assert_recorded(terminations, fields["success"], live, "terminations")
    for key, field in [("success", "success"), ("action_is_effective", "effective")]:
        assert_recorded([info[key] for info in infos], fields[field], live, key)
    valid = [info["action_is_valid"] for info in infos]
    assert_recorded(valid, fields["actions"] != 0, live, "action_is_valid")
    limit_reached = np.arange(1, actions.shape[1] + 1) == MAX_STEPS
    at_limit = np.broadcast_to(limit_reached, live.shape)
    assert_recorded(truncations, at_limit, live, "truncations")
    final = np.array(observations)[length - 1, np.arange(n)]
    np.testing.assert_array_equal(final, as_grid(fields["fixed"], fields["final"]))


def sokoban_alone(tag, how):
    """Return one room, made by Gymnasium or by ROLL's config."""
    config = sokoban_config(tag)
    if how == "make":
        keywords = {"max_steps": MAX_STEPS, "action_start": 1, **config}
        return gymnasium.make(SOKOBAN, **keywords).unwrapped
    return roll_vec.SokobanEnv(roll_vec.SokobanEnvConfig(max_steps=MAX_STEPS, **config))


@pytest.mark.parametrize("how", ["make", "config"])
@pytest.mark.parametrize("tag", SOKOBAN_TAGS)
def test_sokoban_alone(golden, tag, how):
    fields = golden("sokoban", tag)
    env = sokoban_alone(tag, how)
    for row in np.flatnonzero(fields["code"] == 0)[::3]:
        env.reset(seed=int(fields["seeds"][row]))
        np.testing.assert_array_equal(env.room_fixed, fields["fixed"][row])
        np.testing.assert_array_equal(env.room_state, fields["state"][row])
        for t in range(fields["length"][row]):
            _, reward, terminated, truncated, info = env.step(
                int(fields["actions"][row, t])
            )
            assert reward == fields["reward"][row, t]
            assert (terminated or truncated) == fields["done"][row, t]
            assert terminated == info["success"] == fields["success"][row, t]
            assert truncated == (t == MAX_STEPS - 1)
            assert info["action_is_effective"] == fields["effective"][row, t]
        assert terminated or truncated
        np.testing.assert_array_equal(env.room_state, fields["final"][row])


@pytest.mark.parametrize("tag", SOKOBAN_TAGS)
def test_failed_rooms_fail_alike_and_are_retried_by_the_documented_seed(golden, tag):
    fields = golden("sokoban", tag)
    config = sokoban_config(tag)
    options = SokobanOptions(**config)

    def attempt(seed):
        (grid,), (status,) = draw_rooms(
            options, np.array([seed], np.uint64), max_attempts=1
        )
        return grid, status

    failed = np.flatnonzero(fields["code"] != 0)
    for seed, code in zip(seeds_of(fields), fields["code"], strict=True):
        assert attempt(seed)[1] == code, f"seed {seed}"
    if not len(failed):
        return
    seeds = [int(seed) for seed in fields["seeds"][failed]]
    env = gymnasium.make_vec(SOKOBAN, num_envs=len(seeds), **config)
    obs, _ = env.reset(seed=seeds)
    alone = gymnasium.make(SOKOBAN, **config)
    for i, seed in enumerate(seeds):
        number, status = 0, 1
        while status != 0:
            number += 1
            grid, status = attempt(retry_seed(seed, number))
        np.testing.assert_array_equal(obs[i], grid, f"seed {seed}, try {number}")
        np.testing.assert_array_equal(alone.reset(seed=seed)[0], grid)


def test_failed_rooms_are_in_the_sample():
    codes = [fields["code"] for fields in tables("sokoban", False).values()]
    assert set(np.concatenate(codes).tolist()) == {0, 1, 2}


# ------------------------------------------------------------------- FrozenLake

PLAYERS = {0: b"F", 4: b"H", 5: b"G"}
LETTERS = np.array([b"F", b"F", b"H", b"G", b"H", b"G"])


def positions_of(grids):
    """The cells of the players in (..., n, N, N) codes."""
    flat = grids.reshape(*grids.shape[:-2], -1)
    assert (np.isin(flat, list(PLAYERS)).sum(axis=-1) == 1).all()
    return np.isin(flat, list(PLAYERS)).argmax(axis=-1)


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("tag", LAKE_TAGS)
def test_random_frozen_lake_in_a_batch(golden, tag, limit):
    fields = golden("frozen_lake", tag)
    n, length = len(fields["seeds"]), fields["length"]
    env = gymnasium.make_vec(RANDOM_LAKE, num_envs=n, **lake_config(tag), **limit)
    obs, info = env.reset(seed=seeds_of(fields))
    assert info == {}
    letters = LETTERS[obs]
    starts = positions_of(obs)
    letters.reshape(n, -1)[np.arange(n), starts] = b"S"
    np.testing.assert_array_equal(letters, fields["map"])
    np.testing.assert_array_equal(env.get_attr("desc"), fields["map"])
    np.testing.assert_array_equal(starts, fields["position"][:, 0])

    # A golden action a is ROLL's a + 1.
    actions = fields["actions"][:, : length.max()].astype(np.int64) + 1
    observations, rewards, terminations, truncations, infos = play(env, actions)
    live = np.arange(actions.shape[1]) < length[:, None]
    positions = positions_of(np.array(observations)).astype(np.int32)
    position = fields["position"][:, 1 : 1 + actions.shape[1]]
    before = fields["position"][:, : actions.shape[1]]
    assert_recorded(positions, position, live, "position")
    assert_recorded(rewards, fields["reward"][:, : actions.shape[1]], live, "reward")
    done = fields["done"][:, : actions.shape[1]]
    assert_recorded(terminations, done, live, "terminations")
    # ROLL's infos and the two kinds of end, from what the tables record.
    cells = fields["map"].reshape(n, -1)
    tiles = cells[np.arange(n)[:, None], np.maximum(position, 0)]
    limit_reached = np.arange(1, actions.shape[1] + 1) == MAX_STEPS
    for values, recorded, name in [
        (truncations, np.broadcast_to(limit_reached, live.shape), "truncations"),
        ([info["success"] for info in infos], tiles == b"G", "success"),
        ([info["action_is_effective"] for info in infos], position != before, "moved"),
        ([info["action_is_valid"] for info in infos], live | True, "valid"),
    ]:
        assert_recorded(values, recorded, live, name)


def lakes_alone(tag, how):
    """Return one lake, made by Gymnasium or by ROLL's config."""
    config = lake_config(tag)
    if how == "make":
        return gymnasium.make(RANDOM_LAKE, max_steps=MAX_STEPS, **config).unwrapped
    config = roll_vec.FrozenLakeEnvConfig(max_steps=MAX_STEPS, **config)
    return roll_vec.FrozenLakeEnv(config)


@pytest.mark.parametrize("how", ["make", "config"])
@pytest.mark.parametrize("tag", LAKE_TAGS)
def test_random_frozen_lake_alone(golden, tag, how):
    fields = golden("frozen_lake", tag)
    env = lakes_alone(tag, how)
    for row in range(0, len(fields["seeds"]), 2):
        env.reset(seed=int(fields["seeds"][row]))
        np.testing.assert_array_equal(env.desc, fields["map"][row])
        assert env.s == fields["position"][row, 0]
        for t in range(fields["length"][row]):
            action = int(fields["actions"][row, t]) + 1
            _, reward, terminated, truncated, info = env.step(action)
            assert env.s == fields["position"][row, t + 1]
            assert reward == fields["reward"][row, t]
            assert terminated == fields["done"][row, t]
            assert truncated == (t == MAX_STEPS - 1)
            moved = fields["position"][row, t] != fields["position"][row, t + 1]
            assert info["action_is_effective"] == moved
            assert info["success"] == (fields["map"][row].flat[env.s] == b"G")
        assert terminated or truncated


@pytest.mark.parametrize("form", ["single", "vector"])
@pytest.mark.parametrize("tag", LAKE_TAGS)
def test_frozen_lake_on_the_golden_maps(golden, tag, form):
    fields = golden("frozen_lake", tag)
    slippery = lake_config(tag)["is_slippery"]
    for row in range(0, len(fields["seeds"]), 6):
        keywords = {
            "desc": fields["map"][row],
            "is_slippery": slippery,
            "max_episode_steps": MAX_STEPS,
        }
        if form == "single":
            env = gymnasium.make(FROZEN_LAKE, **keywords)
        else:
            env = gymnasium.make_vec(FROZEN_LAKE, num_envs=1, **keywords)
        seed = int(fields["seeds"][row])
        position, _ = env.reset(seed=seed if form == "single" else [seed])
        assert position == fields["position"][row, 0]
        for t in range(fields["length"][row]):
            action = int(fields["actions"][row, t])
            position, reward, terminated, truncated, _ = env.step(
                action if form == "single" else [action]
            )
            assert position == fields["position"][row, t + 1]
            assert reward == fields["reward"][row, t]
            assert terminated == fields["done"][row, t]
            assert truncated == (t == MAX_STEPS - 1)
        assert terminated or truncated
