"""The oracles against tables of what the original systems produced.

Every test runs on the sample in ``tests/data``; slow ones run on the full tables, where
these are beside the checkout.
"""

import re
from functools import cache

import numpy as np
import pytest

from tests.data.make_golden_sample import make_sample
from tests.gymnasium_versions import Lake
from tests.oracles import golden_path, load_golden
from tests.oracles.frozen_lake import OracleFrozenLake, generate_map, lake_is_solvable
from tests.oracles.sokoban import ROOM, OracleSokoban, generate_room, solve

MAX_STEPS = 60
# Seconds a room in the generator's oracle, against milliseconds for the others.
SLOW_TAGS = {"d10x10_b4_s300"}

golden = cache(load_golden)


def needs_full(name):
    """Mark what reads a full table."""
    path = golden_path(name, full=True)
    reason = f"full golden table not found: shared/golden/{path.name}"
    return pytest.mark.skipif(not path.exists(), reason=reason)


def cases(name, *, slow=()):
    """One case for every tag of sample and full table."""
    params = []
    for full in (False, True):
        source = "full" if full else "sample"
        if full and not golden_path(name, full=True).exists():
            params.append(pytest.param(None, None, marks=needs_full(name), id=source))
            continue
        for tag, fields in golden(name, full=full).items():
            marks = [pytest.mark.slow] if full or tag in slow else []
            params.append(pytest.param(tag, fields, marks=marks, id=f"{source}-{tag}"))
    return params


def sokoban_config(tag):
    """Read dim_room, num_boxes and search_depth from a tag."""
    rows, columns, boxes, depth = map(int, re.findall(r"\d+", tag))
    return (rows, columns), boxes, depth


def frozen_lake_config(tag):
    """Read size, p and is_slippery from a tag."""
    size, p, slip = re.fullmatch(r"size(\d+)_p([\d.]+)_slip(\d)", tag).groups()
    return int(size), float(p), slip == "1"


@pytest.mark.parametrize(("tag", "fields"), cases("sokoban", slow=SLOW_TAGS))
def test_rooms_equal_roll(tag, fields):
    dim_room, num_boxes, search_depth = sokoban_config(tag)
    for seed, code, fixed, state in zip(
        *(fields[key] for key in ("seeds", "code", "fixed", "state")), strict=True
    ):
        status, room_fixed, room_state = generate_room(
            int(seed), dim_room, num_boxes, search_depth
        )
        assert status == code, f"seed {seed}"
        if status == ROOM:
            np.testing.assert_array_equal(room_fixed, fixed, f"seed {seed}")
            np.testing.assert_array_equal(room_state, state, f"seed {seed}")


@pytest.mark.parametrize(("tag", "fields"), cases("sokoban"))
def test_sokoban_steps_equal_gym_sokoban(tag, fields):
    for row in np.flatnonzero(fields["code"] == ROOM):
        game = OracleSokoban(fields["fixed"][row], fields["state"][row], MAX_STEPS)
        first, length = game.observe(), fields["length"][row]
        steps = [game.step(int(action)) for action in fields["actions"][row, :length]]
        for key, values in zip(steps[0]._fields, zip(*steps, strict=True), strict=True):
            np.testing.assert_array_equal(
                values, fields[key][row, :length], f"{key}, row {row}"
            )
        assert steps[-1].done
        np.testing.assert_array_equal(game.room_state, fields["final"][row])
        if tag.startswith(("d6x", "d7x")):
            # Small rooms have a solution, and none is longer than what was played.
            game = OracleSokoban(fields["fixed"][row], fields["state"][row], MAX_STEPS)
            directions, _ = solve(first)
            successes = [game.step(1 + direction).success for direction in directions]
            assert successes == [False] * (len(directions) - 1) + [True], f"row {row}"
            if fields["success"][row, length - 1]:
                assert len(directions) <= length, f"row {row}"


def test_solvers_tell_the_unsolvable_and_the_solved():
    assert lake_is_solvable(["SFH", "HFG"])
    assert not lake_is_solvable(["SFH", "FHG"])
    wall = [0] * 5
    assert solve([wall, [0, 5, 4, 2, 0], wall]) == ([3], 1)
    assert solve([wall, [0, 4, 5, 2, 0], wall]) is None
    assert solve([wall, [0, 1, 5, 3, 0], wall]) == ([], 0)


@pytest.mark.parametrize(("tag", "fields"), cases("frozen_lake"))
def test_lakes_equal_roll_and_gymnasium(tag, fields):
    size, p, is_slippery = frozen_lake_config(tag)
    for row, seed in enumerate(fields["seeds"]):
        rows = generate_map(size, p, int(seed))
        assert rows == [b"".join(cells).decode() for cells in fields["map"][row]]
        assert lake_is_solvable(rows), f"seed {seed}"
        lake = OracleFrozenLake(rows, is_slippery)
        assert lake.reset(int(seed)) == fields["position"][row, 0]
        length = fields["length"][row]
        steps = [lake.step(int(action)) for action in fields["actions"][row, :length]]
        for key, recorded in (
            ("position", fields["position"][row, 1 : length + 1]),
            ("reward", fields["reward"][row, :length]),
            ("done", fields["done"][row, :length]),
        ):
            values = [getattr(step, key) for step in steps]
            np.testing.assert_array_equal(values, recorded, f"{key}, seed {seed}")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_slippery": False, "reward_schedule": (3, -2, -0.25)},
        {"success_rate": 0.75, "reward_schedule": (10, -1, 0.5)},
        {"success_rate": 1.0},
    ],
)
def test_frozen_lake_equals_the_installed_gymnasium(options):
    # Two starts, not square, and played on after the end of every fourth episode.
    rows = ["SFFFF", "FHFSF", "FFFHG"]
    theirs = Lake(desc=rows, **options)
    ours = OracleFrozenLake(rows, **options)
    actions = np.random.default_rng(0)
    for episode in range(40):
        seed = 5 if episode == 0 else None
        assert ours.reset(seed) == theirs.reset(seed=seed)[0]
        done, left = False, 3 if episode % 4 == 0 else 0
        while not done or left > 0:
            left -= done
            action = int(actions.integers(4))
            position, reward, done, _, info = theirs.step(action)
            assert ours.step(action) == (position, reward, done, info["prob"])


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=needs_full(n)) for n in ("sokoban", "frozen_lake")]
)
def test_sample_comes_from_the_full_table(name):
    expected, stored = make_sample(name), golden(name)
    assert list(stored) == list(expected)
    for tag, fields in expected.items():
        assert list(stored[tag]) == list(fields)
        for field, values in fields.items():
            assert stored[tag][field].dtype == values.dtype
            np.testing.assert_array_equal(stored[tag][field], values)
