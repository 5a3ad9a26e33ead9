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

from tests.conftest import JIT_OFF
from tests.oracles import golden_path, load_golden

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
MAX_STEPS = 60
PLAYER, TARGET = 5, 2


@cache
def tables(name, full):
    """Return the tables of a game by tag."""
    return load_golden(name, full=full)


SOKOBAN_TAGS, LAKE_TAGS = (
    list(tables("sokoban", False)),
    list(tables("frozen_lake", False)),
)
if JIT_OFF:
    # Rooms of a deep search or many cells take seconds uncompiled.
    SOKOBAN_TAGS, LAKE_TAGS = SOKOBAN_TAGS[:1], LAKE_TAGS[:1]


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
    rows = slice(None, None, 8 if JIT_OFF else None)
    return lambda name, tag: {k: v[rows] for k, v in tables(name, full)[tag].items()}


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
    fixed, state = np.array(fixed), np.array(state)
    return np.where((state == PLAYER) & (fixed == TARGET), PLAYER + 1, state)


def play(env, fields, first):
    """Play a batch to the ends of the recorded episodes; results by name, (n, T).

    Also a mask of what was recorded, and (n, T) steps at the limit.
    """
    length = fields["length"]
    actions = fields["actions"][:, : length.max()].astype(np.int64) + first
    parts = list(zip(*(env.step(column) for column in actions.T), strict=True))
    results = dict(
        zip(("obs", "reward", "terminated", "truncated"), parts, strict=False)
    )
    for key in ("success", "action_is_effective", "action_is_valid"):
        results[key] = [infos[key] for infos in parts[4]]
    times = np.arange(1, actions.shape[1] + 1)
    results = {key: np.array(values).swapaxes(0, 1) for key, values in results.items()}
    live = times <= length[:, None]
    return results, live, np.broadcast_to(times == MAX_STEPS, live.shape)


def assert_recorded(values, recorded, live, name):
    """Compare what was played with what was recorded where an episode was going on."""
    recorded = recorded[:, : live.shape[1]]
    assert values.dtype == recorded.dtype, name
    np.testing.assert_array_equal(values[live], recorded[live], name)


@pytest.mark.parametrize("tag", SOKOBAN_TAGS)
def test_sokoban(golden, tag):
    fields = golden("sokoban", tag)
    rooms = np.flatnonzero(fields["code"] == 0)
    fields = {key: values[rooms] for key, values in fields.items()}
    # Both of ROLL's ways to say it.
    limit = "max_steps" if "_s300" in tag else "max_episode_steps"
    keywords = {"action_start": 1, limit: MAX_STEPS, **sokoban_config(tag)}
    env = gymnasium.make_vec(SOKOBAN, num_envs=len(rooms), **keywords)
    obs, info = env.reset(seed=seeds_of(fields))
    assert info == {}
    np.testing.assert_array_equal(obs, as_grid(fields["fixed"], fields["state"]))

    results, live, at_limit = play(env, fields, 0)
    results["done"] = results["terminated"] | results["truncated"]
    for name, recorded in (
        ("reward", fields["reward"]),
        ("done", fields["done"]),
        ("terminated", fields["success"]),
        ("truncated", at_limit),
        ("success", fields["success"]),
        ("action_is_effective", fields["effective"]),
        ("action_is_valid", fields["actions"] != 0),
    ):
        assert_recorded(results[name], recorded, live, name)
    final = results["obs"][np.arange(len(rooms)), fields["length"] - 1]
    np.testing.assert_array_equal(final, as_grid(fields["fixed"], fields["final"]))


PLAYERS = [0, 4, 5]
LETTERS = np.array([b"F", b"F", b"H", b"G", b"H", b"G"])


def positions_of(grids):
    """The cells of the players in (..., N, N) codes."""
    flat = grids.reshape(*grids.shape[:-2], -1)
    assert (np.isin(flat, PLAYERS).sum(axis=-1) == 1).all()
    return np.isin(flat, PLAYERS).argmax(axis=-1).astype(np.int32)


@pytest.mark.parametrize("tag", LAKE_TAGS)
def test_random_frozen_lake(golden, tag):
    fields = golden("frozen_lake", tag)
    n = len(fields["seeds"])
    limit = "max_steps" if "slip1" in tag else "max_episode_steps"
    keywords = {limit: MAX_STEPS, **lake_config(tag)}
    env = gymnasium.make_vec(RANDOM_LAKE, num_envs=n, **keywords)
    obs, info = env.reset(seed=seeds_of(fields))
    assert info == {}
    letters, starts = LETTERS[obs], positions_of(obs)
    letters.reshape(n, -1)[np.arange(n), starts] = b"S"
    np.testing.assert_array_equal(letters, fields["map"])
    np.testing.assert_array_equal(starts, fields["position"][:, 0])

    # A golden action a is ROLL's a + 1.
    results, live, at_limit = play(env, fields, 1)
    # ROLL's infos and the two kinds of end, from what the tables record.
    cells, position = fields["map"].reshape(n, -1), fields["position"]
    tiles = cells[np.arange(n)[:, None], np.maximum(position[:, 1:], 0)]
    results["position"] = positions_of(results["obs"])
    for name, recorded in (
        ("position", position[:, 1:]),
        ("reward", fields["reward"]),
        ("terminated", fields["done"]),
        ("truncated", at_limit),
        ("success", tiles == b"G"),
        ("action_is_effective", position[:, 1:] != position[:, :-1]),
        ("action_is_valid", live | True),
    ):
        assert_recorded(results[name], recorded, live, name)
