"""Planes, pixels, tiles and texts of grids equal a table look-up in numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels import grids as kernels

SHAPES = [(1, 1, 1), (3, 6, 6), (5, 3, 8), (2, 9, 4), (4, 1, 7)]
# So many that planes are written in blocks, which run over the ends of planes.
MANY = [(40, 6, 6), (150, 2, 3), (200, 1, 1), (30, 8, 8), (25, 9, 10), (13, 12, 11)]
NUM_CODES = 7


def grids_of(shape, seed=0):
    """Random grids that hold every code."""
    grids = np.random.default_rng(seed).integers(0, NUM_CODES, shape, np.uint8)
    # Every code is there if there is room for it.
    grids.ravel()[: min(grids.size, NUM_CODES)] = range(min(grids.size, NUM_CODES))
    return grids


def in_ranges(write, n):
    """Write all rows in three ranges, out of order."""
    cuts = [0, n // 3, n // 2, n]
    for start, stop in [(cuts[1], cuts[2]), (cuts[2], cuts[3]), (cuts[0], cuts[1])]:
        write(start, stop)


@pytest.mark.parametrize("shape", SHAPES + MANY)
@pytest.mark.parametrize("num_codes", [6, NUM_CODES])
def test_planes_are_one_hot(shape, num_codes):
    grids = np.minimum(grids_of(shape), num_codes - 1)
    n, height, width = shape
    out = np.full((n, num_codes, height, width), 9, np.uint8)
    in_ranges(lambda a, b: kernels.write_planes(a, b, grids, out), n)
    expected = grids[:, None] == np.arange(num_codes)[:, None, None]
    np.testing.assert_array_equal(out, expected.astype(np.uint8))
    assert (out.sum(axis=1) == 1).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_pixels_are_looked_up(shape):
    grids = grids_of(shape)
    colours = np.random.default_rng(1).integers(0, 256, (NUM_CODES, 3), np.uint8)
    out = np.full((*shape, 3), 9, np.uint8)
    in_ranges(lambda a, b: kernels.write_pixels(a, b, grids, colours, out), shape[0])
    np.testing.assert_array_equal(out, colours[grids])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 2, 16])
def test_tiles_are_looked_up(shape, size):
    grids = grids_of(shape)
    n, height, width = shape
    tiles = np.random.default_rng(2).integers(
        0, 256, (NUM_CODES, size, size, 3), np.uint8
    )
    out = np.full((n, size * height, size * width, 3), 9, np.uint8)
    in_ranges(lambda a, b: kernels.write_tiles(a, b, grids, tiles, out), n)
    expected = tiles[grids].transpose(0, 1, 3, 2, 4, 5).reshape(out.shape)
    np.testing.assert_array_equal(out, expected)


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 6)),
    strings=st.lists(
        st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=4),
        min_size=NUM_CODES,
        max_size=NUM_CODES,
    ),
)
def test_code_points_are_the_strings_row_by_row(seed, shape, strings):
    n, height, width = shape
    grids = grids_of(shape, seed)
    length = max(map(len, strings))
    table = np.zeros((NUM_CODES, length), np.uint32)
    for code, string in enumerate(strings):
        table[code, : len(string)] = [ord(c) for c in string]
    newline = np.uint32(ord("\n"))
    out = np.full((n, height * (width * length + 1) - 1), 9, np.uint32)
    in_ranges(
        lambda a, b: kernels.write_code_points(a, b, grids, table, newline, out), n
    )
    for grid, points in zip(grids.tolist(), out.tolist(), strict=True):
        expected = "\n".join("".join(strings[code] for code in row) for row in grid)
        assert "".join(chr(point) for point in points if point) == expected
        # Padding stands at the end of each cell.
        padded = [[strings[code].ljust(length, "\0") for code in row] for row in grid]
        assert points == [ord(c) for c in "\n".join("".join(row) for row in padded)]


@pytest.mark.parametrize("name", ["planes", "pixels", "tiles", "code_points"])
def test_a_range_leaves_the_other_rows_alone(name):
    grids = grids_of((4, 2, 3))
    tables = {
        "planes": (),
        "pixels": (np.zeros((NUM_CODES, 3), np.uint8),),
        "tiles": (np.zeros((NUM_CODES, 2, 2, 3), np.uint8),),
        "code_points": (np.ones((NUM_CODES, 1), np.uint32), np.uint32(10)),
    }[name]
    shape, dtype = {
        "planes": ((4, NUM_CODES, 2, 3), np.uint8),
        "pixels": ((4, 2, 3, 3), np.uint8),
        "tiles": ((4, 4, 6, 3), np.uint8),
        "code_points": ((4, 7), np.uint32),
    }[name]
    out = np.full(shape, 99, dtype)
    getattr(kernels, f"write_{name}")(1, 3, grids, *tables, out)
    assert (out[[0, 3]] == 99).all()
    assert (out[1:3] != 99).all()
