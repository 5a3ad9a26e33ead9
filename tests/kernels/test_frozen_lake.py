"""Slips, maps and solutions of lakes equal the oracles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.frozen_lake import moves, random_maps, solver
from tests.conftest import JIT_OFF
from tests.oracles import frozen_lake
from tests.plain import PlainKernels

CODES = {"S": 1, "F": 1, "H": 2, "G": 3}


def random_rows(rng, height, width):
    """A map of any letters, with some starts and perhaps no goal."""
    cells = rng.choice(list("FFFFFHGS"), (height, width))
    cells[rng.integers(height), rng.integers(width)] = "S"
    return ["".join(row) for row in cells]


def codes(rows):
    """Return the codes of a map's letters, (H * W,) uint8."""
    return np.array([CODES[letter] for row in rows for letter in row], np.uint8)


@pytest.mark.parametrize("success_rate", [0.0, 0.07, 0.3, 1 / 3, 0.7, 1.0])
def test_slips_at_the_edges_of_their_probabilities(success_rate):
    slip = moves.make_slip(True, success_rate)
    fail = (1.0 - success_rate) / 2.0
    sums = [fail, fail + success_rate, fail + success_rate + fail]
    assert slip.tolist() == [[fail, success_rate, fail], sums]
    sure = [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    assert moves.make_slip(False, success_rate).tolist() == sure
    # On a cell with ice all around, facing down: right, down or left of it.  What
    # rounding leaves above the last sum counts as the first, as with Gymnasium's.
    neighbours = moves.make_neighbours(3, 3)
    uniforms = [0.0, np.nextafter(1.0, 0.0)]
    for total in sums:
        uniforms += [np.nextafter(total, 0.0), total, np.nextafter(total, 1.0)]
    for uniform in uniforms:
        if 0.0 <= uniform < 1.0:
            outcome = int(np.argmax(slip[1] > uniform))
            assert moves.sample_slip(uniform, *slip[1]) == outcome
            position = neighbours[4, moves.turn(moves.DOWN, outcome)]
            assert position == (3, 7, 5)[outcome]


def generate(seeds, size, p, ranges=None, module=random_maps, states=None):
    """Return maps, start cells and whether there is a map, as rows of a batch."""
    n, cells = len(seeds), size * size
    states = np.zeros((6, 1), np.uint64) if states is None else states
    workspace = states, np.zeros(cells, np.int64), np.zeros(cells, np.bool_)
    maps, starts = np.full((n, cells), 99, np.uint8), np.full(n, 99, np.int64)
    ok = np.zeros(n, np.bool_)
    sums = np.cumsum([p, 1 - p])
    seeds, chance = np.array(seeds, np.uint64), float(sums[0] / sums[1])
    tables = moves.make_neighbours(size, size), workspace, (maps, starts, ok)
    for start, stop in ranges or [(0, n)]:
        module.generate_maps(start, stop, seeds, size, chance, *tables)
    return maps, starts, ok


def assert_maps_equal_oracle(seeds, size, p):
    # By two calls, the one of the last rows first.
    n = len(seeds)
    maps, starts, ok = generate(seeds, size, p, [(n // 3, n), (0, n // 3)])
    assert ok.all()
    for i, seed in enumerate(seeds):
        rows = frozen_lake.generate_map(size, p, int(seed))
        np.testing.assert_array_equal(maps[i], codes(rows), f"seed {seed}")
        assert "".join(rows).index("S") == starts[i]


@given(
    st.integers(0, 2**64 - 1), st.integers(2, 9), st.floats(0.3, 1.0, exclude_max=True)
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


SHAPES = [(4, 4), (3, 5), (5, 2), (1, 6), (6, 1), (1, 1)]


def solve(maps, shape, rows=None, success_rate=1.0 / 3.0, saves_steps=True):
    """Return values, steps, policies, fewest moves; those out of the range stay 7."""
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
    lakes = maps, moves.make_neighbours(*shape), moves.make_slip(True, success_rate)
    lakes += distances, values, steps, policies
    solver.solve_maps(start, stop, saves_steps, lakes, tuple(workspace))
    return values, steps, policies, distances


def some_maps(shape, number, seed=0):
    rng = np.random.default_rng(seed)
    return [random_rows(rng, *shape) for _ in range(2 if JIT_OFF else number)]


@pytest.mark.parametrize("success_rate", [1.0 / 3.0, 0.75, 0.0, 0.05])
@pytest.mark.parametrize("shape", SHAPES[: 3 if JIT_OFF else None], ids=str)
def test_values_are_the_highest_chances_and_the_policy_attains_them(
    shape, success_rate
):
    maps = some_maps(shape, 6, seed=1)
    values, steps, policies, distances = solve(maps, shape, None, success_rate)
    quick, *_ = solve(maps, shape, None, success_rate, saves_steps=False)
    for m, rows in enumerate(maps):
        expected = frozen_lake.highest_chances(rows, success_rate)
        np.testing.assert_allclose(values[m], expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(quick[m], expected, rtol=1e-9, atol=1e-11)
        chances, times = frozen_lake.play_policy(rows, policies[m], success_rate)
        np.testing.assert_allclose(chances, values[m], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(times, steps[m], rtol=1e-9)
        # Exactly: neither a hole nor ice without a way to a goal has any chance.
        assert distances[m].tolist() == frozen_lake.fewest_moves(rows)
        lost = distances[m] < 0
        assert (values[m] == 0).tolist() == lost.tolist()
        assert not policies[m][lost].any()


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_of_the_best_policies_it_is_the_quickest_and_then_the_lowest(shape):
    maps = some_maps(shape, 12, seed=2)
    _, found, policies, _ = solve(maps, shape)
    slower = ties = 0
    for m, rows in enumerate(maps):
        chances = frozen_lake.transition_matrices(rows, 1.0 / 3.0)
        values = frozen_lake.highest_chances(rows)
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


@pytest.mark.parametrize("slip", [0.5, 1e-3, 1e-9])
def test_chances_to_wait_for_are_exact(slip):
    # Holes all along: the best is to push against the wall until a slip to the goal.
    results = solve([["SFG", "HHH"]], (2, 3), None, 1.0 - slip)
    (values,), (steps,), (policy,), _ = results
    np.testing.assert_allclose(values, [1, 1, 1, 0, 0, 0], rtol=1e-14)
    assert policy[:2].tolist() == [moves.UP] * 2
    slip = 1.0 - (1.0 - slip)
    np.testing.assert_allclose(steps[:2], [6 / slip, 4 / slip], rtol=1e-12)
