"""The description of a game's grid: its cell codes, and how they look.

Observations, frames, instructions and ``roll-vec play`` read all characters, colours
and tiles here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.render.tiles import TILE_SIZE


class ArrayMode(NamedTuple):
    """An observation mode whose observations are arrays of uint8.

    Attributes
    ----------
    meaning : str
        The contents of an observation.
    shape : callable
        From C codes, H rows, W columns and tiles of S pixels to the shape of an
        observation.
    highest : int or None
        The highest value in an observation; None: the highest cell code.
    write : callable or None
        ``write(start, stop, grids, *tables, out)``: a kernel of `kernels.grids`.  None:
        the codes are copied.
    table : str or None
        The attribute of `GridFamily` that the kernel looks codes up in, if any.
    """

    meaning: str
    shape: Callable[[int, int, int, int], tuple[int, ...]]
    highest: int | None
    write: Callable[..., object] | None
    table: str | None = None


class Cell(NamedTuple):
    """The looks of one cell code.

    Attributes
    ----------
    glyph : str
        Its characters in text, usually one.
    meaning : str
        What the glyph stands for, in the instructions.
    pixel : (int, int, int)
        Red, green and blue from 0 to 255: its pixel in ``tiny_rgb``.
    colour : str
        Parameter of an ANSI "select graphic rendition" sequence, see `render.ansi`.
    """

    glyph: str
    meaning: str
    pixel: tuple[int, int, int]
    colour: str = ""


class GridFamily:
    """All that is shared by the grids of one game.

    Parameters
    ----------
    cells : tuple of Cell
        By code, from 0.
    tiles : (C, S, S, 3) uint8, or None
        A picture of each code; None: squares of 16 pixels in the colour of its pixel.
    more_modes : mapping of str to ArrayMode
        Observation modes beside those of every grid.

    Attributes
    ----------
    num_codes : int
        Number of cell codes.
    glyphs : dict of int to str
        Characters by code: ROLL's ``grid_lookup``.
    meanings : dict of str to str
        Meanings by glyph: ROLL's ``grid_vocab``.
    colours : dict of int to str
        ANSI colours by code.
    pixels, tiles : (C, 3) and (C, S, S, 3) uint8, read-only
        The pixels and the tiles by code.
    """

    def __init__(
        self,
        cells: tuple[Cell, ...],
        tiles: NDArray[np.uint8] | None = None,
        more_modes: Mapping[str, ArrayMode] = MappingProxyType({}),
    ) -> None:
        self.cells, self.more_modes, self.num_codes = cells, more_modes, len(cells)
        self.glyphs = {code: cell.glyph for code, cell in enumerate(cells)}
        self.meanings = {cell.glyph: cell.meaning for cell in cells}
        self.colours = {code: cell.colour for code, cell in enumerate(cells)}
        self.pixels = np.array([each.pixel for each in cells], np.uint8).reshape(-1, 3)
        if tiles is None:
            square = np.ones((TILE_SIZE, TILE_SIZE, 1), np.uint8)
            tiles = self.pixels[:, np.newaxis, np.newaxis] * square
        self.tiles = np.array(tiles, order="C")
        for table in (self.pixels, self.tiles):
            table.flags.writeable = False
