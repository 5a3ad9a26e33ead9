"""Steps, slips and starts of lakes equal those of the oracle, bit for bit."""

import numpy as np
import pytest

from roll_vec.kernels.frozen_lake import rules as kernels
from tests.conftest import JIT_OFF
from tests.oracles.frozen_lake import DIRECTIONS, OracleFrozenLake

CODES = {"S": 1, "F": 1, "H": 2, "G": 3}
OUTPUTS = {
    "rewards": np.float64,
    "terminations": np.bool_,
    "truncations": np.bool_,
    "effective": np.bool_,
    "valid": np.bool_,
    "successes": np.bool_,
    "probs": np.float64,
}
OPTIONS = [
    {},
    {"is_slippery": False},
    {"success_rate": 0.0},
    {"success_rate": 0.75, "reward_schedule": (10, -1.5, 0.25)},
    {"success_rate": 1.0, "reward_schedule": (-1, 0, 1e-300)},
    {"is_slippery": False, "success_rate": 0.5, "reward_schedule": (2, 3, 4)},
]


def random_rows(rng, height, width):
    """A map of any letters, with some starts and perhaps no goal."""
    cells = rng.choice(list("FFFFFHGS"), (height, width))
    cells[rng.integers(height), rng.integers(width)] = "S"
    return ["".join(row) for row in cells]


def codes(rows):
    """Return the codes of a map's letters, (H * W,) uint8."""
    return np.array([CODES[letter] for row in rows for letter in row], np.uint8)


class Lakes:
    """The state of some lakes of one shape, and a step of all of them."""

    def __init__(
        self,
        maps,
        shape,
        num_rows,
        *,
        is_slippery=True,
        success_rate=1.0 / 3.0,
        reward_schedule=(1, 0, 0),
        first_action=0,
        max_steps=0,
    ):
        self.max_steps = max_steps
        self.lakes = kernels.LakeParameters(
            first_action,
            maps,
            kernels.make_neighbours(*shape),
            kernels.make_slip(is_slippery, success_rate),
            np.array(reward_schedule, np.float64),
        )
        self.state = kernels.LakeState(
            np.zeros(num_rows, np.int64),
            np.zeros(num_rows, np.int32),
            np.zeros((6, num_rows), np.uint64),
        )
        self.positions, self.elapsed_steps, self.rng_states = self.state

    def step(self, actions, skip_mask=None, start=0, stop=None):
        n = len(self.positions)
        if skip_mask is None:
            skip_mask = np.zeros(n, np.bool_)
        # Nothing of an earlier step may shine through.
        outputs = {name: np.full(n, 1, dtype) for name, dtype in OUTPUTS.items()}
        kernels.step_rows(
            start,
            n if stop is None else stop,
            np.asarray(actions, np.int64),
            skip_mask,
            self.max_steps,
            tuple(self.lakes),
            tuple(self.state),
            tuple(outputs.values())[:-1],
            outputs["probs"],
        )
        return outputs


# ------------------------------------------------------------------------ tables


@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (1, 5), (5, 1), (7, 4)])
def test_neighbours_are_those_of_the_directions(shape):
    height, width = shape
    neighbours = kernels.make_neighbours(height, width)
    assert neighbours.dtype == np.int64
    assert neighbours.shape == (height * width, 8)
    for cell in range(height * width):
        for direction, (down, right) in DIRECTIONS.items():
            row = min(max(cell // width + down, 0), height - 1)
            col = min(max(cell % width + right, 0), width - 1)
            assert neighbours[cell, direction] == row * width + col
        assert (neighbours[cell, 4:] == cell).all()


@pytest.mark.parametrize("success_rate", [0.0, 0.1, 1 / 3, 0.75, 1.0])
def test_slips_are_gymnasiums_sums(success_rate):
    slip = kernels.make_slip(True, success_rate)
    fail = (1.0 - success_rate) / 2.0
    assert slip.tolist() == [
        [fail, success_rate, fail],
        [fail, fail + success_rate, fail + success_rate + fail],
    ]
    sure = [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    assert kernels.make_slip(False, success_rate).tolist() == sure


def test_categorical_sample_is_the_first_sum_above_the_uniform():
    sums = np.array([0.0, 0.25, 0.25, 0.75, 0.9])
    indices = {0.0: 1, 0.2499: 1, 0.25: 3, 0.7499: 3, 0.75: 4, 0.8999: 4}
    for uniform, index in indices.items():
        assert kernels.categorical_sample(sums, uniform) == index
    # What rounding leaves above the last sum counts as the first.
    assert kernels.categorical_sample(sums, 0.95) == 0


# ------------------------------------------------------------------------- steps


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("first_action", [0, 1])
@pytest.mark.parametrize("one_map", [True, False])
def test_steps_equal_the_oracle(options, first_action, one_map):
    rng = np.random.default_rng(first_action)
    shape = (3, 5) if one_map else (4, 3)
    n, steps = (5, 20) if JIT_OFF else (40, 60)
    max_steps = 15
    boards = [random_rows(rng, *shape) for _ in range(1 if one_map else n)]
    maps = np.array([codes(rows) for rows in boards])
    lakes = Lakes(
        maps, shape, n, first_action=first_action, max_steps=max_steps, **options
    )
    seeds = rng.integers(0, 2**63, n, np.uint64)
    games = [OracleFrozenLake(boards[i % len(boards)], **options) for i in range(n)]
    every_row = np.arange(n)
    kernels.seed_rows(every_row, seeds, lakes.rng_states)
    for i, game in enumerate(games):
        game.reset(int(seeds[i]))
        starts = (np.array(list("".join(game.rows))) == "S").astype(float)
        chances = np.cumsum(starts / starts.sum())
        row = every_row[i : i + 1]
        kernels.start_rows(0, 1, row, chances, tuple(lakes.state))
        assert lakes.positions[i] == game.position
    num_steps = np.zeros(n, int)
    for _ in range(steps):
        # One below the first action is "no valid action", where there is one.
        actions = rng.integers(0, 4 + first_action, n)
        skip_mask = rng.random(n) < 0.2
        before = lakes.positions.copy()
        outputs = lakes.step(actions, skip_mask)
        num_steps += ~skip_mask
        for i, game in enumerate(games):
            results = {name: values[i] for name, values in outputs.items()}
            direction = int(actions[i]) - first_action
            if skip_mask[i]:
                assert not any(results.values())
            elif direction < 0:
                assert results.pop("truncations") == (0 < max_steps <= num_steps[i])
                assert results.pop("probs") == 1.0
                assert not any(results.values())
            else:
                step = game.step(direction)
                assert results == {
                    "rewards": step.reward,
                    "terminations": step.done,
                    "truncations": 0 < max_steps <= num_steps[i],
                    "effective": step.position != before[i],
                    "valid": True,
                    "successes": maps[i % len(maps), step.position] == CODES["G"],
                    "probs": step.prob,
                }
            assert lakes.positions[i] == game.position
        np.testing.assert_array_equal(lakes.elapsed_steps, num_steps)
    # The generators stand where the oracle's do.
    for i, game in enumerate(games):
        state = game.rng.bit_generator.state["state"]["state"]
        assert (int(lakes.rng_states[0, i]) << 64) + int(
            lakes.rng_states[1, i]
        ) == state


@pytest.mark.parametrize("success_rate", [0.0, 0.07, 0.3, 1 / 3, 0.7, 1.0])
def test_slips_at_the_edges_of_their_probabilities(success_rate):
    # On a cell with ice all around, facing down: right, down or left of it.
    slip = kernels.make_slip(True, success_rate)
    maps, neighbours = np.ones((1, 9), np.uint8), kernels.make_neighbours(3, 3)
    reward_schedule = np.zeros(3)
    last = np.nextafter(1.0, 0.0)
    uniforms = [0.0, last]
    for total in slip[1].tolist():
        uniforms += [np.nextafter(total, 0.0), total, np.nextafter(total, 1.0)]
    for uniform in uniforms:
        if not 0.0 <= uniform < 1.0:
            continue
        # Gymnasium's categorical_sample.
        outcome = int(np.argmax(slip[1] > uniform))
        lakes = 0, maps, neighbours, slip, reward_schedule
        position, _, _, _, prob = kernels.step_row(0, 4, kernels.DOWN, uniform, *lakes)
        assert position == (3, 7, 5)[outcome]
        assert prob == slip[0, outcome]


def test_sums_of_slips_may_end_below_one():
    # Which the test above is about: what is left above them counts as the first.
    totals = [kernels.make_slip(True, rate)[1, 2] for rate in (0.07, 0.3)]
    assert max(totals) < 1.0


def test_goal_on_the_very_step_of_the_limit_is_both():
    lakes = Lakes(codes(["SFG"])[None], (1, 3), 1, is_slippery=False, max_steps=2)
    kernels.seed_rows(np.arange(1), np.zeros(1, np.uint64), lakes.rng_states)
    first, second = lakes.step([2]), lakes.step([2])
    assert not first["terminations"][0]
    assert not first["truncations"][0]
    assert second["terminations"][0]
    assert second["truncations"][0]
    assert second["successes"][0]
    assert second["rewards"][0] == 1.0


def test_without_a_limit_nothing_is_truncated():
    lakes = Lakes(codes(["SFG"])[None], (1, 3), 2, is_slippery=False, max_steps=0)
    for _ in range(50):
        assert not lakes.step([0, 0])["truncations"].any()
    assert lakes.elapsed_steps.tolist() == [50, 50]


def test_a_range_leaves_the_other_rows_alone():
    rng = np.random.default_rng(3)
    maps = np.array([codes(random_rows(rng, 3, 3)) for _ in range(8)])
    whole, pieces = Lakes(maps, (3, 3), 8), Lakes(maps, (3, 3), 8)
    for lakes in (whole, pieces):
        kernels.seed_rows(np.arange(8), np.arange(8, dtype=np.uint64), lakes.rng_states)
    for _ in range(10):
        actions = rng.integers(0, 4, 8)
        outputs = whole.step(actions)
        halves = [pieces.step(actions, None, *part) for part in [(3, 8), (0, 3)]]
        for name, values in outputs.items():
            np.testing.assert_array_equal(halves[0][name][3:], values[3:])
            np.testing.assert_array_equal(halves[1][name][:3], values[:3])
            assert (halves[0][name][:3] == 1).all()
            assert (halves[1][name][3:] == 1).all()
    np.testing.assert_array_equal(pieces.positions, whole.positions)
    np.testing.assert_array_equal(pieces.rng_states, whole.rng_states)


def test_only_the_given_rows_are_seeded_and_started():
    rng_states = np.full((6, 5), 7, np.uint64)
    positions = np.full(5, 99, np.int64)
    elapsed_steps = np.full(5, 99, np.int32)
    rows = np.array([3, 1])
    seeds = np.array([2**64 - 1, 8], np.uint64)
    kernels.seed_rows(rows, seeds, rng_states)
    chances = np.cumsum(np.full(9, 1 / 9))
    kernels.start_rows(
        0, len(rows), rows, chances, (positions, elapsed_steps, rng_states)
    )
    assert (rng_states[:, [0, 2, 4]] == 7).all()
    assert (
        positions[[0, 2, 4]].tolist() == elapsed_steps[[0, 2, 4]].tolist() == [99] * 3
    )
    for row, seed in zip(rows, seeds.tolist(), strict=True):
        uniform = np.random.Generator(np.random.PCG64(seed)).random()
        assert positions[row] == np.argmax(chances > uniform)
        assert elapsed_steps[row] == 0


# ------------------------------------------------------------------------- grids


@pytest.mark.parametrize("one_map", [True, False])
def test_grids_are_the_maps_with_the_player_on_top(one_map):
    rng = np.random.default_rng(6)
    n, cells = 30, 12
    maps = rng.integers(1, 4, (1 if one_map else n, cells), np.uint8)
    positions = rng.integers(0, cells, n)
    out = np.full((n, cells), 99, np.uint8)
    kernels.write_grids(10, n, maps, positions, out)
    assert (out[:10] == 99).all()
    kernels.write_grids(0, 10, maps, positions, out)
    for i in range(n):
        expected = maps[i % len(maps)].copy()
        expected[positions[i]] = {1: 0, 2: 4, 3: 5}[expected[positions[i]]]
        np.testing.assert_array_equal(out[i], expected)
    assert set(out[np.arange(n), positions]) == {0, 4, 5}


def test_codes_are_rolls_and_directions_gymnasiums():
    assert kernels.NUM_CODES == 6
    assert (kernels.PLAYER, kernels.ICE, kernels.HOLE, kernels.GOAL) == (0, 1, 2, 3)
    assert (kernels.PLAYER_IN_HOLE, kernels.PLAYER_ON_GOAL) == (4, 5)
    assert (kernels.LEFT, kernels.DOWN, kernels.RIGHT, kernels.UP) == (0, 1, 2, 3)


@pytest.mark.parametrize("options", OPTIONS[:4], ids=str)
@pytest.mark.parametrize("one_map", [True, False])
def test_masks_have_the_actions_that_may_move_the_player(options, one_map):
    rng = np.random.default_rng(6)
    seen = set()
    for height, width in ((3, 4), (1, 5), (2, 2)):
        rows = [random_rows(rng, height, width) for _ in range(1 if one_map else 30)]
        maps = np.array([codes(each) for each in rows])
        lakes = Lakes(maps, (height, width), 30, **options)
        lakes.positions[:] = rng.integers(0, height * width, 30)
        envs = rng.permutation(30)[:25]
        masks = np.full((25, 4), 7, np.int8)
        kernels.write_action_masks(
            2, 24, envs, maps, *lakes.lakes[2:4], lakes.positions, masks
        )
        assert (masks[[0, 1, 24]] == 7).all()
        for j in range(2, 24):
            more = {k: v for k, v in options.items() if k != "reward_schedule"}
            lake = OracleFrozenLake(rows[0 if one_map else envs[j]], **more)
            lake.position = int(lakes.positions[envs[j]])
            expected = [
                any(chance and cell != lake.position for chance, cell in outcomes)
                for outcomes in map(lake.outcomes, range(4))
            ]
            assert masks[j].tolist() == expected
            seen.update(expected)
    assert seen == {True, False}
