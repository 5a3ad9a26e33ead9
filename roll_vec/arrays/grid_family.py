"""The description of a game's grid: its cell codes, and how they look.

Observations, frames, instructions and ``roll-vec play`` read all characters, colours
and tiles here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property
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
        From C codes, H rows and W columns to the shape of an observation.
    highest : int or None
        The highest value in an observation; None: the highest cell code.
    write : callable or None
        ``write(start, stop, grids, *tables, out)``: a kernel of `kernels.grids`.  None:
        the codes are copied.
    table : str or None
        The attribute of `GridFamily` that the kernel looks codes up in, if any.
    """

    meaning: str
    shape: Callable[[int, int, int], tuple[int, ...]]
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


@dataclasses.dataclass(frozen=True)
class GridFamily:
    """All that is shared by the grids of one game.

    Parameters
    ----------
    cells : tuple of Cell
        By code, from 0.
    drawn_tiles : (C, 16, 16, 3) uint8, read-only, or None
        A picture of each code; None: squares in the colour of its pixel.
    more_modes : mapping of str to ArrayMode
        Observation modes beside those of every grid.
    """

    cells: tuple[Cell, ...]
    drawn_tiles: NDArray[np.uint8] | None = None
    more_modes: Mapping[str, ArrayMode] = dataclasses.field(default_factory=dict)

    @property
    def num_codes(self) -> int:
        """Number of cell codes."""
        return len(self.cells)

    @cached_property
    def glyphs(self) -> dict[int, str]:
        """Characters by code: ROLL's ``grid_lookup``."""
        return {code: cell.glyph for code, cell in enumerate(self.cells)}

    @cached_property
    def meanings(self) -> dict[str, str]:
        """Meanings by glyph: ROLL's ``grid_vocab``."""
        return {cell.glyph: cell.meaning for cell in self.cells}

    @cached_property
    def colours(self) -> dict[int, str]:
        """ANSI colours by code."""
        return {code: cell.colour for code, cell in enumerate(self.cells)}

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """(C, 3) uint8, read-only: the pixels by code."""
        return _read_only(np.array([cell.pixel for cell in self.cells], np.uint8))

    @cached_property
    def tiles(self) -> NDArray[np.uint8]:
        """(C, 16, 16, 3) uint8, read-only: the tiles by code."""
        if self.drawn_tiles is not None:
            return self.drawn_tiles
        shape = (self.num_codes, TILE_SIZE, TILE_SIZE, 3)
        squares = np.broadcast_to(self.pixels[:, np.newaxis, np.newaxis], shape)
        return _read_only(squares.copy())


def _read_only(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    array.flags.writeable = False
    return array
