"""Tiles with numbers, for boards whose cells are numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roll_vec.render.tiles import TILE_SIZE

# Five rows of three pixels from the top; an octal digit is a row.
_GLYPHS = {
    "0": 0o75557,
    "1": 0o26227,
    "2": 0o71747,
    "3": 0o71317,
    "4": 0o55711,
    "5": 0o74717,
    "6": 0o74757,
    "7": 0o71222,
    "8": 0o75757,
    "9": 0o75717,
    "K": 0o55655,
    "F": 0o74644,
    "*": 0o52725,
}
_ROWS, _COLUMNS, _HEIGHT = 5, 3, 10
_DARK, _LIGHT = (40, 40, 48), (255, 255, 255)
# Above this mean of red, green and blue a ground gets dark digits.
_BRIGHT = 150


Colour = tuple[int, int, int]


def parse_colours(text: str) -> list[Colour]:
    """Return the red, green and blue of hexadecimal numbers, such as ``FF0080``."""
    numbers = [int(each, 16) for each in text.split()]
    return [(n >> 16, n >> 8 & 255, n & 255) for n in numbers]


def paint_numbers(
    labels: Sequence[str], grounds: Sequence[Colour]
) -> NDArray[np.uint8]:
    """Return tiles with a text each, on a ground of one colour.

    Parameters
    ----------
    labels : sequence of C str
        At most four digits, ``K``, ``F`` and ``*`` each; one or two are twice as wide.
    grounds : sequence of C (red, green, blue)

    Returns
    -------
    (C, 16, 16, 3) uint8
        The last row and column of a tile are darker, so that neighbours are told apart.
    """
    tiles = np.empty((len(labels), TILE_SIZE, TILE_SIZE, 3), np.uint8)
    for tile, label, ground in zip(tiles, labels, grounds, strict=True):
        tile[:] = np.array(ground) * 4 // 5
        tile[:-1, :-1] = ground
        wide = 2 if len(label) <= 2 else 1
        pixels = np.zeros((_ROWS, len(label), _COLUMNS + 1), bool)
        for number, character in enumerate(label):
            bits = f"{_GLYPHS[character]:0{_ROWS * _COLUMNS}b}"
            glyph = np.array([bit == "1" for bit in bits])
            pixels[:, number, :-1] = glyph.reshape(_ROWS, _COLUMNS)
        lines = pixels.reshape(_ROWS, -1)[:, :-1]
        shape = lines.repeat(_HEIGHT // _ROWS, 0).repeat(wide, 1)
        top, left = (TILE_SIZE - _HEIGHT) // 2, (TILE_SIZE - shape.shape[1]) // 2
        colour = _DARK if sum(ground) > 3 * _BRIGHT else _LIGHT
        tile[top : top + _HEIGHT, left : left + shape.shape[1]][shape] = colour
    return tiles
