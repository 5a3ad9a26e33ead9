"""Steps, starts, masks, grids and maps of lakes equal the oracle, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.frozen_lake import random_maps, rules
from tests.conftest import JIT_OFF
from tests.oracles.frozen_lake import DIRECTIONS, OracleFrozenLake, generate_map
from tests.plain import PlainKernels

CODES = {"S": 1, "F": 1, "H": 2, "G": 3}
DTYPES = {"rewards": np.float64, "probs": np.float64}
OUTPUTS = ("rewards", "terminations", "truncations", "effective", "valid", "successes")
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
    """Some lakes of one shape beside their oracles, each on a map of its own or on one.

    Kernels are called for two ranges of rows, the second one first.
    """

    def __init__(self, rng, shape, num_rows, one_map, first_action, max_steps, options):
        self.num_rows, self.max_steps = num_rows, max_steps
        self.first_action = first_action
        self.boards = [random_rows(rng, *shape) for _ in range(num_rows)]
        if one_map:
            self.boards = self.boards[:1] * num_rows
        self.games = [OracleFrozenLake(rows, **options) for rows in self.boards]
        maps = np.array([codes(rows) for rows in self.boards[: 1 if one_map else None]])
        schedule = options.get("reward_schedule", (1, 0, 0))
        self.lakes = rules.LakeParameters(
            first_action,
            maps,
            rules.make_neighbours(*shape),
            rules.make_slip(
                options.get("is_slippery", True), options.get("success_rate", 1 / 3)
            ),
            np.array(schedule, np.float64),
        )
        self.state = rules.LakeState(
            np.full(num_rows, 99),
            np.full(num_rows, 99, np.int32),
            np.zeros((6, num_rows), np.uint64),
        )
        self.num_steps = np.zeros(num_rows, int)
        self.ranges = ((num_rows // 3, num_rows), (0, num_rows // 3))

    def start(self, seeds):
        """Begin episodes row by row, in any order."""
        rows = np.argsort(seeds)
        rules.seed_rows(rows, seeds[rows], self.state.rng_states)
        for i in rows.tolist():
            starts = np.array(list("".join(self.boards[i]))) == "S"
            chances = np.cumsum(starts / starts.sum())
            position = self.games[i].reset(int(seeds[i]))
            before = self.state.positions.copy()
            rules.start_rows(0, 1, np.array([i]), chances, tuple(self.state))
            before[i] = position
            assert self.state.positions.tolist() == before.tolist()
        assert not self.state.elapsed_steps.any()

    def step(self, actions, skip_mask):
        """Step the kernel; return its results by name, with the probabilities."""
        # Nothing of an earlier step may shine through.
        outputs = {
            name: np.ones(self.num_rows, DTYPES.get(name, np.bool_))
            for name in (*OUTPUTS, "probs")
        }
        for start, stop in self.ranges:
            before = outputs["probs"].copy()
            rules.step_rows(
                start,
                stop,
                actions,
                skip_mask,
                self.max_steps,
                tuple(self.lakes),
                tuple(self.state),
                tuple(outputs[name] for name in OUTPUTS),
                outputs["probs"],
            )
            assert (outputs["probs"][:start] == before[:start]).all()
        return outputs

    def compare_step(self, actions, skip_mask):
        """Step kernel and oracles; compare results and state."""
        before = self.state.positions.copy()
        outputs = self.step(actions, skip_mask)
        self.num_steps += ~skip_mask
        for i, game in enumerate(self.games):
            results = {name: values[i] for name, values in outputs.items()}
            direction = int(actions[i]) - self.first_action
            at_limit = 0 < self.max_steps <= self.num_steps[i]
            if skip_mask[i]:
                assert not any(results.values())
            elif direction < 0:
                assert results.pop("truncations") == at_limit
                assert results.pop("probs") == 1.0
                assert not any(results.values())
            else:
                step = game.step(direction)
                assert results == {
                    "rewards": step.reward,
                    "terminations": step.done,
                    "truncations": at_limit,
                    "effective": step.position != before[i],
                    "valid": True,
                    "successes": "".join(self.boards[i])[step.position] == "G",
                    "probs": step.prob,
                }
            assert self.state.positions[i] == game.position
        assert self.state.elapsed_steps.tolist() == self.num_steps.tolist()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("first_action", [0, 1])
@pytest.mark.parametrize("one_map", [True, False])
def test_steps_equal_the_oracle(options, first_action, one_map):
    rng = np.random.default_rng(first_action)
    n, steps = (5, 20) if JIT_OFF else (20, 60)
    shape, max_steps = ((3, 5), 15) if one_map else ((4, 3), first_action * 15)
    lakes = Lakes(rng, shape, n, one_map, first_action, max_steps, options)
    lakes.start(rng.integers(0, 2**63, n, np.uint64))
    for _ in range(steps):
        # One below the first action is "no valid action", where there is one.
        lakes.compare_step(rng.integers(0, 4 + first_action, n), rng.random(n) < 0.2)
    # The generators stand where the oracle's do.
    for i, game in enumerate(lakes.games):
        state = game.rng.bit_generator.state["state"]["state"]
        high, low = lakes.state.rng_states[:2, i].tolist()
        assert (high << 64) + low == state


@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (1, 5), (5, 1)])
def test_neighbours_are_those_of_the_directions(shape):
    height, width = shape
    neighbours = rules.make_neighbours(height, width)
    assert neighbours.dtype == np.int64
    assert neighbours.shape == (height * width, 8)
    for cell in range(height * width):
        for direction, (down, right) in DIRECTIONS.items():
            row = min(max(cell // width + down, 0), height - 1)
            col = min(max(cell % width + right, 0), width - 1)
            assert neighbours[cell, direction] == row * width + col
        assert (neighbours[cell, 4:] == cell).all()


@pytest.mark.parametrize("success_rate", [0.0, 0.07, 0.3, 1 / 3, 0.7, 1.0])
def test_slips_at_the_edges_of_their_probabilities(success_rate):
    slip = rules.make_slip(True, success_rate)
    fail = (1.0 - success_rate) / 2.0
    sums = [fail, fail + success_rate, fail + success_rate + fail]
    assert slip.tolist() == [[fail, success_rate, fail], sums]
    sure = [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    assert rules.make_slip(False, success_rate).tolist() == sure
    # On a cell with ice all around, facing down: right, down or left of it.  What
    # rounding leaves above the last sum counts as the first, as with Gymnasium's.
    maps, neighbours = np.ones((1, 9), np.uint8), rules.make_neighbours(3, 3)
    uniforms = [0.0, np.nextafter(1.0, 0.0)]
    for total in sums:
        uniforms += [np.nextafter(total, 0.0), total, np.nextafter(total, 1.0)]
    for uniform in uniforms:
        if 0.0 <= uniform < 1.0:
            outcome = int(np.argmax(slip[1] > uniform))
            assert rules.categorical_sample(slip[1], uniform) == outcome
            lakes = 0, maps, neighbours, slip, np.zeros(3)
            position, *_, prob = rules.step_row(0, 4, rules.DOWN, uniform, *lakes)
            assert (position, prob) == ((3, 7, 5)[outcome], slip[0, outcome])


def test_goal_on_the_very_step_of_the_limit_is_both():
    lakes = Lakes(np.random.default_rng(0), (1, 3), 1, True, 0, 2, OPTIONS[1])
    lakes.lakes.maps[:] = codes(["SFG"])
    lakes.state.positions[0] = lakes.state.elapsed_steps[0] = 0
    none = np.zeros(1, np.bool_)
    ends = [lakes.step(np.array([rules.RIGHT]), none) for _ in range(2)]
    assert [end["terminations"][0] for end in ends] == [False, True]
    assert [end["truncations"][0] for end in ends] == [False, True]


@pytest.mark.parametrize("one_map", [True, False])
def test_grids_and_masks_are_those_of_the_oracle(one_map):
    rng = np.random.default_rng(6)
    seen = set()
    for options in OPTIONS:
        n, cells = 24, 12
        lakes = Lakes(rng, (3, 4), n, one_map, 0, 0, options)
        lakes.state.positions[:] = positions = rng.integers(0, cells, n)
        grids = np.full((n, cells), 99, np.uint8)
        rules.write_grids(10, n, lakes.lakes.maps, positions, grids)
        assert (grids[:10] == 99).all()
        rules.write_grids(0, 10, lakes.lakes.maps, positions, grids)
        for i in range(n):
            expected = codes(lakes.boards[i])
            expected[positions[i]] = {1: 0, 2: 4, 3: 5}[expected[positions[i]]]
            np.testing.assert_array_equal(grids[i], expected)
        # Some rows in any order, and of these a range.
        rows = rng.permutation(n)[:20]
        masks = np.full((20, 4), 7, np.int8)
        rules.write_action_masks(2, 19, rows, *lakes.lakes[1:4], positions, masks)
        assert (masks[[0, 1, 19]] == 7).all()
        for j in range(2, 19):
            game = lakes.games[rows[j]]
            here = game.position = int(positions[rows[j]])
            expected = [
                any(chance and cell != here for chance, cell in outcomes)
                for outcomes in map(game.outcomes, range(4))
            ]
            assert masks[j].tolist() == expected
            seen.update(expected)
    assert seen == {True, False}


# ------------------------------------------------------------------------ random maps


def make_workspace(size):
    """Return the arrays of `MapWorkspace`."""
    cells = size * size
    arrays = np.zeros((6, 1), np.uint64), np.zeros(cells, np.int64)
    return *arrays, np.zeros(cells, np.bool_)


def generate(seeds, size, p, ranges=None, module=random_maps, workspace=None):
    """Return maps, start cells and whether there is a map, as rows of a batch."""
    n = len(seeds)
    maps = np.full((n, size * size), 99, np.uint8)
    starts = np.full(n, 99, np.int64)
    ok = np.zeros(n, np.bool_)
    sums = np.cumsum([p, 1 - p])
    for start, stop in ranges or [(0, n)]:
        module.generate_maps(
            start,
            stop,
            np.array(seeds, np.uint64),
            size,
            float(sums[0] / sums[1]),
            rules.make_neighbours(size, size),
            workspace or make_workspace(size),
            (maps, starts, ok),
        )
    return maps, starts, ok


def assert_maps_equal_oracle(seeds, size, p):
    maps, starts, ok = generate(seeds, size, p)
    assert ok.all()
    for i, seed in enumerate(seeds):
        rows = generate_map(size, p, int(seed))
        np.testing.assert_array_equal(maps[i], codes(rows), f"seed {seed}")
        assert "".join(rows).index("S") == starts[i]


# size, p, and of how many seeds
MAPS = [(2, 0.0, 50), (4, 0.8, 99), (5, 0.0, 9), (8, 0.6, 20), (11, 1 / 3, 5)]


@pytest.mark.parametrize(("size", "p", "number"), [*MAPS, (4, 1.0, 9), (20, 0.7, 5)])
def test_maps_equal_the_oracle(size, p, number):
    if JIT_OFF:
        number = 2 if size > 4 else 9
    seeds = np.random.default_rng(size).integers(0, 2**64, number, np.uint64)
    seeds[:2] = 0, 2**32 - 1
    assert_maps_equal_oracle(seeds, size, p)


@given(
    st.integers(0, 2**64 - 1),
    st.integers(2, 9),
    st.floats(0.3, 1.0, exclude_max=True),
)
def test_maps_of_any_configuration_equal_the_oracle(seed, size, p):
    assert_maps_equal_oracle([seed], size, p)


def test_maps_do_not_depend_on_the_ranges():
    seeds = np.random.default_rng(0).integers(0, 2**32, 30, np.uint64)
    whole = generate(seeds, 4, 0.6)
    for actual, desired in zip(
        generate(seeds, 4, 0.6, [(20, 30), (0, 20)]), whole, strict=True
    ):
        np.testing.assert_array_equal(actual, desired)
    maps, starts, ok = generate(seeds, 4, 0.6, [(10, 12)])
    assert ok.nonzero()[0].tolist() == (starts != 99).nonzero()[0].tolist() == [10, 11]
    assert (maps[[9, 12]] == 99).all()


def test_drawing_ends_at_its_limit_and_at_the_first_row_without_a_map():
    def is_drawn(seed, limit):
        few = PlainKernels(random_maps, MAX_DRAWS=limit)
        return generate([seed], 4, 0.3, module=few)[2][0]

    seeds = list(range(60))
    # The first seed that takes more than three draws.
    first = next(seed for seed in seeds if not is_drawn(seed, 3))
    assert 0 < first < 59
    few = PlainKernels(random_maps, MAX_DRAWS=3)
    maps, starts, ok = generate(seeds, 4, 0.3, module=few)
    assert ok.tolist() == [seed < first for seed in seeds]
    assert (maps[first + 1 :] == 99).all()
    assert (starts[first + 1 :] == 99).all()
    full, full_starts, _ = generate(seeds, 4, 0.3)
    np.testing.assert_array_equal(maps[:first], full[:first])
    np.testing.assert_array_equal(starts[:first], full_starts[:first])
    assert random_maps.MAX_DRAWS == 100_000


def test_large_maps_are_bounded_in_cells_not_in_draws():
    few, workspace = PlainKernels(random_maps, MAX_DRAWN_CELLS=300), make_workspace(10)
    _, _, ok = generate([5], 10, 0.0, module=few, workspace=workspace)
    assert not ok[0]
    # Four draws of a board and of two cells, two uses of 32 bits to a word each.
    generator = np.random.Generator(np.random.PCG64(5))
    for _ in range(4):
        generator.random(100)
        generator.integers(10, size=2)
        generator.integers(10, size=2)
    expected = generator.bit_generator.state["state"]["state"]
    high, low = workspace[0][:2, 0].tolist()
    assert (high << 64) + low == expected
