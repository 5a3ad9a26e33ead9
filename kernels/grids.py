"""Pictures of grids: every observation mode but the codes themselves.

Nothing here knows an environment; a table gives each code its colours or
characters.
"""

import numpy as np

from ._jit import kernel

_U = np.uint64
_1, _3 = _U(1), _U(3)
# Cells that are compared at once; a shorter loop is unrolled and stays scalar.
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
    # Whole vectors run over the end of a plane; what they write there is written again
    # by the next one.  Only the last rows, from which they would leave the range, stop
    # at the end.  6x6: 125 ns a room cell by cell, 23 in vectors with a rest of 4 cells
    # a plane, 13 in whole ones.
    cells = grids.shape[1] * grids.shape[2]
    boards, planes = grids.reshape(grids.size), out.reshape(out.size)
    width, num_codes = _U(cells), _U(out.shape[1])
    blocks = _U((cells + _LANES - 1) // _LANES)
    whole = max(stop - 1 - (_LANES - 1) // cells, start)
    for i in range(_U(start), _U(whole)):
        for code in range(num_codes):
            wanted = np.uint8(code)
            for block in range(blocks):
                first = i * width + block * _U(_LANES)
                into = (i * num_codes + code) * width + block * _U(_LANES)
                for lane in range(_U(_LANES)):
                    planes[into + lane] = boards[first + lane] == wanted
    for i in range(_U(whole), _U(stop)):
        for code in range(num_codes):
            into = (i * num_codes + code) * width
            for cell in range(width):
                planes[into + cell] = boards[i * width + cell] == np.uint8(code)


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
    codes, pixels = grids.reshape(grids.size), out.reshape(out.size)
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
    # A line of a tile is copied in vectors: 6.3 to 1.2 us a room of 6x6 in 16 pixels.
    height, width, size = _U(grids.shape[1]), _U(grids.shape[2]), _U(tiles.shape[1])
    line = size * _3
    lines, pixels = tiles.reshape(tiles.size), out.reshape(out.size)
    for i in range(_U(start), _U(stop)):
        for r in range(height):
            for y in range(size):
                into = ((i * height + r) * size + y) * width * line
                for c in range(width):
                    first = (_U(grids[i, r, c]) * size + y) * line
                    for k in range(line):
                        pixels[into + c * line + k] = lines[first + k]


@kernel
def write_code_points(start, stop, grids, table, newline, out):
    """Write the code points of each grid as text, rows parted by a newline.

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
            # The loop over cells innermost, so that a character a cell costs no loop
            # of one round: 37 ns a board of 6x6 for 73.
            for k in range(length):
                for c in range(width):
                    out[i, first + c * length + k] = table[grids[i, r, c], k]
            if r > 0:
                out[i, first - _1] = newline
