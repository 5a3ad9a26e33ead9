"""Steps, masks, grids, maps and solutions of lakes equal the oracles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.frozen_lake import random_maps, rules, solver
from roll_vec.kernels.rng.pcg64 import seed_rows
from tests.conftest import JIT_OFF
from tests.oracles.frozen_lake import (
    OracleFrozenLake,
    fewest_moves,
    generate_map,
    highest_chances,
    play_policy,
    transition_matrices,
)
from tests.plain import PlainKernels

CODES = {"S": 1, "F": 1, "H": 2, "G": 3}
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
        self.options = rules.LakeOptions(
            rules.make_neighbours(*shape),
            rules.make_slip(
                options.get("is_slippery", True), options.get("success_rate", 1 / 3)
            ),
            np.array(schedule, np.float64),
        )
        self.variables = rules.LakeState(
            maps, np.zeros(0, np.int64), np.full(num_rows, 99)
        )
        self.positions = self.variables.positions
        self.rng_states = np.zeros((6, num_rows), np.uint64)
        self.elapsed_steps = np.full(num_rows, 99, np.int32)
        self.state = (
            tuple(self.variables),
            tuple(self.options),
            self.rng_states,
            self.elapsed_steps,
        )
        self.num_steps = np.zeros(num_rows, int)
        self.ranges = ((num_rows // 3, num_rows), (0, num_rows // 3))

    def start(self, seeds):
        """Begin episodes row by row, in any order."""
        rows = np.argsort(seeds)
        seed_rows(rows, seeds[rows], self.rng_states)
        for i in rows.tolist():
            starts = np.array(list("".join(self.boards[i]))) == "S"
            chances = np.cumsum(starts / starts.sum())
            position = self.games[i].reset(int(seeds[i]))
            before = self.positions.copy()
            rules.LAKE.advance_rows(0, 1, np.array([i]), (chances,), self.state)
            before[i] = position
            assert self.positions.tolist() == before.tolist()
        assert not self.elapsed_steps.any()

    def compare_step(self, actions, skip_mask):
        """Step kernel and oracles; compare results and state."""
        before = self.positions.copy()
        # Nothing of an earlier step may shine through.
        probs, rewards = np.ones((2, self.num_rows))
        flags = np.ones((len(OUTPUTS) - 1, self.num_rows), np.bool_)
        outputs = dict(zip((*OUTPUTS, "probs"), (rewards, *flags, probs), strict=True))
        results, infos = (rewards, *flags[:2]), (*flags[2:], probs)
        limits = self.first_action, self.max_steps
        more = limits, self.state, results, infos
        for start, stop in self.ranges:
            unchanged = probs[:start].copy()
            rules.step_rows(start, stop, 0, actions, skip_mask, *more)
            assert (probs[:start] == unchanged).all()
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
            assert self.positions[i] == game.position
        assert self.elapsed_steps.tolist() == self.num_steps.tolist()


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
        high, low = lakes.rng_states[:2, i].tolist()
        assert (high << 64) + low == state


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
    neighbours = rules.make_neighbours(3, 3)
    uniforms = [0.0, np.nextafter(1.0, 0.0)]
    for total in sums:
        uniforms += [np.nextafter(total, 0.0), total, np.nextafter(total, 1.0)]
    for uniform in uniforms:
        if 0.0 <= uniform < 1.0:
            outcome = int(np.argmax(slip[1] > uniform))
            assert rules.categorical_sample(slip[1], uniform) == outcome
            assert rules.sample_slip(uniform, *slip[1]) == outcome
            position = neighbours[4, rules.turn(rules.DOWN, outcome)]
            assert position == (3, 7, 5)[outcome]


@pytest.mark.parametrize("one_map", [True, False])
def test_grids_and_masks_are_those_of_the_oracle(one_map):
    rng = np.random.default_rng(6)
    seen = set()
    for options in OPTIONS:
        n, cells = 24, 12
        lakes = Lakes(rng, (3, 4), n, one_map, 0, 0, options)
        lakes.positions[:] = positions = rng.integers(0, cells, n)
        grids = np.full((n, cells), 99, np.uint8)
        rules.observe_rows(10, n, 0, lakes.state, (grids,))
        assert (grids[:10] == 99).all()
        rules.observe_rows(0, 10, 0, lakes.state, (grids,))
        for i in range(n):
            expected = codes(lakes.boards[i])
            expected[positions[i]] = {1: 0, 2: 4, 3: 5}[expected[positions[i]]]
            np.testing.assert_array_equal(grids[i], expected)
        # Some rows in any order, and of these a range.
        rows = rng.permutation(n)[:20]
        masks = np.full((20, 4), 7, np.int8)
        rules.LAKE.write_masks(2, 19, rows, *lakes.state[:2], masks)
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


def generate(seeds, size, p, ranges=None, module=random_maps, states=None):
    """Return maps, start cells and whether there is a map, as rows of a batch."""
    n, cells = len(seeds), size * size
    states = np.zeros((6, 1), np.uint64) if states is None else states
    workspace = states, np.zeros(cells, np.int64), np.zeros(cells, np.bool_)
    maps, starts = np.full((n, cells), 99, np.uint8), np.full(n, 99, np.int64)
    ok = np.zeros(n, np.bool_)
    sums = np.cumsum([p, 1 - p])
    seeds, chance = np.array(seeds, np.uint64), float(sums[0] / sums[1])
    tables = rules.make_neighbours(size, size), workspace, (maps, starts, ok)
    for start, stop in ranges or [(0, n)]:
        module.generate_maps(start, stop, seeds, size, chance, *tables)
    return maps, starts, ok


def assert_maps_equal_oracle(seeds, size, p):
    # By two calls, the one of the last rows first.
    n = len(seeds)
    maps, starts, ok = generate(seeds, size, p, [(n // 3, n), (0, n // 3)])
    assert ok.all()
    for i, seed in enumerate(seeds):
        rows = generate_map(size, p, int(seed))
        np.testing.assert_array_equal(maps[i], codes(rows), f"seed {seed}")
        assert "".join(rows).index("S") == starts[i]


# size, p, and of how many seeds
MAPS = [(2, 0.0, 50), (4, 0.8, 99), (4, 1.0, 9), (5, 0.0, 9), (8, 0.6, 20)]
MAPS += [(11, 1 / 3, 5), (20, 0.7, 5)]


@pytest.mark.parametrize(("size", "p", "number"), MAPS)
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
    _, starts, ok = generate(seeds, 4, 0.3, [(10, 12)])
    assert ok.nonzero()[0].tolist() == (starts != 99).nonzero()[0].tolist() == [10, 11]
    assert random_maps.MAX_DRAWS == 100_000


def test_large_maps_are_bounded_in_cells_not_in_draws():
    few, states = PlainKernels(random_maps, MAX_DRAWN_CELLS=300), np.zeros((6, 1), "u8")
    _, _, ok = generate([5], 10, 0.0, module=few, states=states)
    assert not ok[0]
    # Four draws of a board and of two cells, two uses of 32 bits to a word each.
    generator = np.random.Generator(np.random.PCG64(5))
    for _ in range(4):
        generator.random(100)
        generator.integers(10, size=2)
        generator.integers(10, size=2)
    expected = generator.bit_generator.state["state"]["state"]
    high, low = states[:2, 0].tolist()
    assert (high << 64) + low == expected


# ------------------------------------------------------------------------- solutions

SHAPES = [(4, 4), (3, 5), (5, 2), (1, 6), (6, 1), (1, 1)]


def solve(maps, shape, rows=None, success_rate=1.0 / 3.0, saves_steps=True):
    """Return values, steps and policies of maps; those out of the range stay 7."""
    maps = np.array([codes(each) for each in maps])
    count, width = shape[0] * shape[1], shape[1]
    values, steps = np.full((2, *maps.shape), 7.0)
    policies, distances = np.full(maps.shape, 7), np.full(maps.shape, 7, np.int32)
    # Nothing of another map may shine through.
    workspace = solver.SolverWorkspace(
        *np.full((3, count), 1),
        np.full((count, 2 * width + 1), 7.0),
        *np.full((4, count), 7.0),
        np.full(count, 1),
    )
    start, stop = rows or (0, len(maps))
    lakes = maps, rules.make_neighbours(*shape), rules.make_slip(True, success_rate)
    lakes += distances, values, steps, policies
    solver.solve_maps(start, stop, saves_steps, lakes, tuple(workspace))
    return values, steps, policies


def measure(maps, shape, rows=None):
    """Return the fewest moves without slips; those out of the range stay 7."""
    maps = np.array([codes(each) for each in maps])
    distances = np.full(maps.shape, 7, np.int32)
    frontier, neighbours = (
        np.zeros(maps.shape[1], np.int64),
        rules.make_neighbours(*shape),
    )
    start, stop = rows or (0, len(maps))
    solver.measure_distances(start, stop, maps, neighbours, frontier, distances)
    return distances


def some_maps(shape, number, seed=0):
    rng = np.random.default_rng(seed)
    return [random_rows(rng, *shape) for _ in range(2 if JIT_OFF else number)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_distances_are_the_fewest_moves(shape):
    maps = some_maps(shape, 40)
    assert measure(maps, shape).tolist() == [fewest_moves(rows) for rows in maps]


@pytest.mark.parametrize("success_rate", [1.0 / 3.0, 0.75, 0.0, 0.05])
@pytest.mark.parametrize("shape", SHAPES[: 3 if JIT_OFF else None], ids=str)
def test_values_are_the_highest_chances_and_the_policy_attains_them(
    shape, success_rate
):
    maps = some_maps(shape, 6, seed=1)
    values, steps, policies = solve(maps, shape, None, success_rate)
    quick, *_ = solve(maps, shape, None, success_rate, saves_steps=False)
    for m, rows in enumerate(maps):
        expected = highest_chances(rows, success_rate)
        np.testing.assert_allclose(values[m], expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(quick[m], expected, rtol=1e-9, atol=1e-11)
        chances, times = play_policy(rows, policies[m], success_rate)
        np.testing.assert_allclose(chances, values[m], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(times, steps[m], rtol=1e-9)
        # Exactly: neither a hole nor ice without a way to a goal has any chance.
        lost = np.array(fewest_moves(rows)) < 0
        assert (values[m] == 0).tolist() == lost.tolist()
        assert not policies[m][lost].any()


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_of_the_best_policies_it_is_the_quickest_and_then_the_lowest(shape):
    maps = some_maps(shape, 12, seed=2)
    _, found, policies = solve(maps, shape)
    slower = ties = 0
    for m, rows in enumerate(maps):
        chances = transition_matrices(rows, 1.0 / 3.0)
        values = highest_chances(rows)
        is_best = chances @ values > values - 1e-9
        alive = (values > 0) & (np.array(list("".join(rows))) != "G")
        # Value iteration over the steps of the best actions alone.
        steps = np.zeros(len(values))
        for _ in range(20_000):
            times = np.where(is_best, 1.0 + chances @ steps, np.inf)
            after = np.where(alive, times.min(axis=0), 0.0)
            if np.abs(after - steps).max() < 1e-13:
                break
            steps = after
        np.testing.assert_allclose(found[m], steps, rtol=1e-9)
        lowest = (times < steps + 1e-7).argmax(axis=0)
        assert policies[m][alive].tolist() == lowest[alive].tolist()
        slower += (is_best & (times > steps + 1e-7))[:, alive].any()
        ties += ((times < steps + 1e-7).sum(axis=0) > 1)[alive].any()
    assert JIT_OFF or (slower and ties)


@pytest.mark.parametrize("success_rate", [1.0 / 3.0, 0.9, 0.999])
def test_no_action_raises_a_chance_that_the_policy_attains(success_rate):
    # Then no policy has a higher chance.  Value iteration would take too long.
    maps = some_maps((5, 5), 30, seed=4)
    found, _, policies = solve(maps, (5, 5), None, success_rate)
    for rows, values, policy in zip(maps, found, policies, strict=True):
        ahead = (transition_matrices(rows, success_rate) @ values).max(axis=0)
        goal = np.array([cell == "G" for cell in "".join(rows)])
        assert (ahead <= values + 1e-12)[~goal].all()
        chances, _ = play_policy(rows, policy, success_rate)
        np.testing.assert_allclose(chances, values, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("slip", [0.5, 1e-3, 1e-9])
def test_chances_to_wait_for_are_exact(slip):
    # Holes all along: the best is to push against the wall until a slip to the goal.
    (values,), (steps,), (policy,) = solve([["SFG", "HHH"]], (2, 3), None, 1.0 - slip)
    np.testing.assert_allclose(values, [1, 1, 1, 0, 0, 0], rtol=1e-14)
    assert policy[:2].tolist() == [rules.UP] * 2
    slip = 1.0 - (1.0 - slip)
    np.testing.assert_allclose(steps[:2], [6 / slip, 4 / slip], rtol=1e-12)


def test_a_call_solves_its_range_of_maps():
    maps = some_maps((3, 3), 5, seed=3)
    for function in (solve, lambda *args: [measure(*args)]):
        whole, part = function(maps, (3, 3)), function(maps, (3, 3), (1, len(maps) - 1))
        for array, expected in zip(part, whole, strict=True):
            np.testing.assert_array_equal(array[1:-1], expected[1:-1])
            assert (array[[0, -1]] == 7).all()
