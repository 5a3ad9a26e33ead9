"""Pictures of grids: every observation mode but the codes themselves.

Nothing here knows an environment; a table gives each code its colours or
characters.
"""

# depends: _jit.py sha256:e75ec21cdcff0df5

import numpy as np

from ._jit import kernel

_U = np.uint64
_1 = _U(1)


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
    # Over flat boards, with unsigned indices and codes of the cells' own type, the
    # inner loop becomes vectors: 125 to 23 ns a room of 6x6.
    cells = grids.shape[1] * grids.shape[2]
    boards = grids.reshape(grids.shape[0], cells)
    planes = out.reshape(out.shape[0], out.shape[1], cells)
    for i in range(_U(start), _U(stop)):
        for code in range(_U(out.shape[1])):
            wanted = np.uint8(code)
            for cell in range(_U(cells)):
                planes[i, code, cell] = boards[i, cell] == wanted


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
    for i in range(start, stop):
        for r in range(grids.shape[1]):
            for c in range(grids.shape[2]):
                code = grids[i, r, c]
                for channel in range(3):
                    out[i, r, c, channel] = colours[code, channel]


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
    size = tiles.shape[1]
    for i in range(start, stop):
        for r in range(grids.shape[1]):
            for c in range(grids.shape[2]):
                code = grids[i, r, c]
                for y in range(size):
                    for x in range(size):
                        for channel in range(3):
                            out[i, r * size + y, c * size + x, channel] = tiles[
                                code, y, x, channel
                            ]


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
