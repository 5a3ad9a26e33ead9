"""Observations made of grids: one-hot planes, pixels, tiles and text.

The codes of a grid may be those of any game; a table gives each code its colours or
characters.
"""

import numpy as np

from ._jit import kernel
from .views import flat

_U = np.uint64
_1, _3 = _U(1), _U(3)
# Cells of a plane that are compared at once.  The compiler unrolls a shorter loop into
# single cells.
_LANES = 64


@kernel
def write_planes(start, stop, grids, out):
    """Write the one-hot planes of the codes.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    grids : (n, H, W) uint8, C order, read
    out : (n, C, H, W) uint8, C order, written
        1 where the grid has the code c, else 0.
    """
    # A plane is written in blocks of 64 cells.  The last block runs over the end of the
    # plane; the next plane then overwrites what it wrote there.  The last rows, whose
    # blocks would leave the range, are written cell by cell.  6x6: 13 ns a room; 23
    # with blocks that end with the plane, 125 cell by cell.
    size = grids.shape[1] * grids.shape[2]
    cells, planes = flat(grids), flat(out)
    num_cells, num_codes = _U(size), _U(out.shape[1])
    num_blocks = _U((size + _LANES - 1) // _LANES)
    last_rows = max(stop - 1 - (_LANES - 1) // size, start)
    for i in range(_U(start), _U(last_rows)):
        for number in range(num_codes):
            code = np.uint8(number)
            for block in range(num_blocks):
                source = i * num_cells + block * _U(_LANES)
                target = (i * num_codes + number) * num_cells + block * _U(_LANES)
                for lane in range(_U(_LANES)):
                    planes[target + lane] = cells[source + lane] == code
    for i in range(_U(last_rows), _U(stop)):
        for number in range(num_codes):
            code = np.uint8(number)
            target = (i * num_codes + number) * num_cells
            for cell in range(num_cells):
                planes[target + cell] = cells[i * num_cells + cell] == code


@kernel
def write_pixels(start, stop, grids, colours, out):
    """Write one pixel a cell.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    grids : (n, H, W) uint8, read
    colours : (C, 3) uint8, read
        Red, green, blue of each code.
    out : (n, H, W, 3) uint8, written
    """
    codes, pixels = flat(grids), flat(out)
    cells = _U(grids.shape[1] * grids.shape[2])
    for i in range(_U(start) * cells, _U(stop) * cells):
        for channel in range(_3):
            pixels[i * _3 + channel] = colours[codes[i], channel]


@kernel
def write_tiles(start, stop, grids, tiles, out):
    """Write one square tile a cell.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    grids : (n, H, W) uint8, read
    tiles : (C, S, S, 3) uint8, read
    out : (n, S * H, S * W, 3) uint8, written
    """
    # The innermost loop copies a line of a tile in vectors: 1.2 us a room of 6x6 in
    # tiles of 16 pixels, 6.3 us pixel by pixel.
    height, width, size = _U(grids.shape[1]), _U(grids.shape[2]), _U(tiles.shape[1])
    line = size * _3
    lines, pixels = flat(tiles), flat(out)
    for i in range(_U(start), _U(stop)):
        for r in range(height):
            for y in range(size):
                target = ((i * height + r) * size + y) * width * line
                for c in range(width):
                    source = (_U(grids[i, r, c]) * size + y) * line
                    for k in range(line):
                        pixels[target + c * line + k] = lines[source + k]


@kernel
def write_code_points(start, stop, grids, table, newline, out):
    """Write each grid as text, the code points of its rows joined by newlines.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    grids : (n, H, W) uint8, read
    table : (C, L) uint32, read
        The characters of each code, padded at the end with the code point 0.
    newline : uint32
    out : (n, H * (W * L + 1) - 1) uint32, written
    """
    length, height = _U(table.shape[1]), _U(grids.shape[1])
    width = _U(grids.shape[2])
    for i in range(_U(start), _U(stop)):
        for r in range(height):
            first = r * (width * length + _1)
            # The loop over cells is the inner one, because most cells have one
            # character: 37 ns a grid of 6x6, 73 with the loop over characters.
            for k in range(length):
                for c in range(width):
                    out[i, first + c * length + k] = table[grids[i, r, c], k]
            if r > 0:
                out[i, first - _1] = newline
