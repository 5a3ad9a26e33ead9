"""Random maps equal those of the oracle, cell for cell, and end at their limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.frozen_lake import random_maps as kernels
from roll_vec.kernels.frozen_lake.rules import make_neighbours
from tests.conftest import JIT_OFF
from tests.kernels.frozen_lake.test_rules import codes
from tests.oracles.frozen_lake import generate_map
from tests.oracles.solver import lake_is_solvable
from tests.plain import PlainKernels


def make_workspace(size):
    """Return the arrays of `MapWorkspace`."""
    cells = size * size
    arrays = np.zeros((6, 1), np.uint64), np.zeros(cells, np.int64)
    return *arrays, np.zeros(cells, np.bool_)


def generate(seeds, size, p, ranges=None, module=kernels):
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
            make_neighbours(size, size),
            make_workspace(size),
            (maps, starts, ok),
        )
    return maps, starts, ok


def assert_maps_equal_oracle(seeds, size, p):
    maps, starts, ok = generate(seeds, size, p)
    assert ok.all()
    for i, seed in enumerate(seeds):
        rows = generate_map(size, p, int(seed))
        assert lake_is_solvable(rows)
        np.testing.assert_array_equal(maps[i], codes(rows), f"seed {seed}")
        assert "".join(rows).index("S") == starts[i]


# size, p, and of how many seeds
MAPS = [
    (2, 0.0, 100),
    (2, 0.8, 100),
    (3, 0.1, 60),
    (4, 0.8, 300),
    (4, 1.0, 30),
    (5, 0.0, 20),
    (8, 0.6, 60),
    (8, 0.95, 60),
    (11, 1 / 3, 10),
    (20, 0.7, 10),
]


@pytest.mark.parametrize(("size", "p", "number"), MAPS)
def test_maps_equal_the_oracle(size, p, number):
    if JIT_OFF:
        number = 3 if size > 4 else 10
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
    for ranges in ([(0, 1), (1, 30)], [(20, 30), (0, 20)]):
        for actual, desired in zip(generate(seeds, 4, 0.6, ranges), whole, strict=True):
            np.testing.assert_array_equal(actual, desired)
    maps, starts, ok = generate(seeds, 4, 0.6, [(10, 12)])
    assert ok.nonzero()[0].tolist() == (starts != 99).nonzero()[0].tolist() == [10, 11]
    assert (maps[[9, 12]] == 99).all()


def test_drawing_ends_at_its_limit_and_at_the_first_row_without_a_map():
    few = PlainKernels(kernels, MAX_DRAWS=3)
    seeds = list(range(60))
    draws = []
    for seed in seeds:
        # The least limit with which there is a map.
        limit = 1
        while not generate(
            [seed], 4, 0.3, module=PlainKernels(kernels, MAX_DRAWS=limit)
        )[2][0]:
            limit += 1
        draws.append(limit)
        if limit > 3:
            break
    first = len(draws) - 1
    assert 0 < first < len(seeds) - 1
    maps, starts, ok = generate(seeds, 4, 0.3, module=few)
    assert ok.tolist() == [True] * first + [False] * (len(seeds) - first)
    assert (maps[first + 1 :] == 99).all()
    assert (starts[first + 1 :] == 99).all()
    full, full_starts, _ = generate(seeds, 4, 0.3)
    np.testing.assert_array_equal(maps[:first], full[:first])
    np.testing.assert_array_equal(starts[:first], full_starts[:first])


def test_the_number_of_draws_is_bounded():
    assert kernels.MAX_DRAWS == 100_000


def test_large_maps_are_bounded_in_cells_not_in_draws():
    plain = PlainKernels(kernels, MAX_DRAWN_CELLS=300)
    size = 10
    maps = np.zeros((1, size * size), np.uint8)
    ok = np.zeros(1, np.bool_)
    workspace = make_workspace(size)
    rng_states = workspace[0]
    plain.generate_maps(
        0,
        1,
        np.array([5], np.uint64),
        size,
        0.0,
        make_neighbours(size, size),
        workspace,
        (maps, np.zeros(1, np.int64), ok),
    )
    assert not ok[0]
    # Four draws of a board and of two cells, two uses of 32 bits to a word each.
    generator = np.random.Generator(np.random.PCG64(5))
    for _ in range(4):
        generator.random(size * size)
        generator.integers(size, size=2)
        generator.integers(size, size=2)
    expected = generator.bit_generator.state["state"]["state"]
    assert int(rng_states[0, 0]) << 64 | int(rng_states[1, 0]) == expected
