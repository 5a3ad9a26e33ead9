"""Observations of grids: equal to plain numpy."""

import numpy as np
import pytest

from roll_vec.kernels import grids as kernels

SHAPES = [(1, 1, 1), (3, 6, 6), (5, 3, 8), (4, 1, 7)]
# So many that planes are written in blocks, which run over the ends of planes.
SHAPES += [(40, 6, 6), (150, 2, 3), (200, 1, 1), (25, 9, 10), (13, 12, 11)]
NUM_CODES = 7


def grids_of(shape, seed=0):
    """Random grids that hold every code if there is room for it."""
    grids = np.random.default_rng(seed).integers(0, NUM_CODES, shape, np.uint8)
    grids.ravel()[: min(grids.size, NUM_CODES)] = range(min(grids.size, NUM_CODES))
    return grids


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num_codes", [6, NUM_CODES])
def test_planes_are_one_hot(shape, num_codes):
    """In three ranges, of which each writes its rows alone."""
    grids, n = np.minimum(grids_of(shape), num_codes - 1), shape[0]
    expected = (grids[:, None] == np.arange(num_codes)[:, None, None]).astype(np.uint8)
    out = np.full_like(expected, 99)
    for start, stop in [(n // 3, n // 2), (n // 2, n), (0, n // 3)]:
        before = out.copy()
        kernels.write_planes(start, stop, grids, out)
        np.testing.assert_array_equal(out[:start], before[:start])
        np.testing.assert_array_equal(out[stop:], before[stop:])
    np.testing.assert_array_equal(out, expected)
