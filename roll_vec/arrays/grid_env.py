"""`GridEnv`: the base class of array environments that are played on a board."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.grid_family import Cell, GridFamily
from roll_vec.arrays.options import GridOptions
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.rows import Items, Row
from roll_vec.render.tiles import TILE_SIZE


class GridEnv(ArrayEnv, GridOptions):
    """Base class of array environments that are played on a board.

    The board is a variable of cell codes; a table says what each code looks like.
    Observations in all modes, pictures, texts and instructions follow from these.
    ``render_scale`` is that of `roll_vec.arrays.options.ArrayOptions`.

    Parameters
    ----------
    obs_mode : str
        Form of observations: ``grid``, ``planes``, ``tiny_rgb``, ``rgb`` or ``text``.
        These are the codes, a plane for each code, a pixel for each cell, a tile for
        each cell, and the text.
    grid_lookup : dict from int to str, or None
        Characters of the codes in texts, in the place of those of `cells`.
    grid_vocab : dict from str to str, or None
        Meanings of the characters, for the instructions.
    render_mode : str or None
        Form of frames: ``rgb_array``, ``ansi``, ``text`` or ``human``.  ``ansi`` is
        coloured text, ``human`` a window (extra ``render``).

    Attributes
    ----------
    cells : sequence of Cell, of the class
        What each code looks like, from code 0: characters, a meaning, a colour of
        (red, green, blue), and for terminals the number of an ANSI colour.
    observation : str, of the class
        The variable that is the board: of two axes, and of uint8.  In its place the
        rule ``observe(env, out)`` may write the codes: ``out[row, column] = 1``.
    tiles : (C, 16, 16, 3) uint8, or None, of the class
        A picture of each code; None: squares of its colour.

    Raises
    ------
    InvalidOptionError
    """

    cells: ClassVar[Any] = ()
    tiles: ClassVar[NDArray[np.uint8] | None] = None
    observation: ClassVar[str | None] = "board"
    CHECKS_CODES: ClassVar[bool] = True
    OBS_MODES: ClassVar[Mapping[str, str]] = GridOptions.OBS_MODES
    metadata: ClassVar[dict[str, Any]] = GridOptions.metadata

    obs_mode: str = "grid"
    grid_lookup: Any = None
    grid_vocab: Any = None
    render_scale: int = 1  # type: ignore[misc]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.FAMILY = _make_family(cls)

    def __post_init__(self) -> None:
        if not self.cells:
            accepted = "what each code of the board looks like, roll_vec.Cell each"
            owner = f"{type(self).__name__}.cells"
            raise InvalidOptionError.expected(owner, accepted, self.cells)
        super().__post_init__()
        self._check_symbols()
        self._set(grid_lookup={**self.FAMILY.glyphs, **self.grid_lookup})

    @cached_property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of the board."""
        dtype, shape = self.variables.get(str(self.observation), (np.dtype(bool), ()))
        if len(shape) != 2 or dtype != np.uint8:
            name = type(self).__name__
            accepted = f"the board {self.observation!r} as (np.uint8, (rows, columns))"
            value = self.state.get(str(self.observation))
            raise InvalidOptionError.expected(f"{name}.state", accepted, value)
        return shape

    def allocate_codes(self, num_envs: int) -> NDArray[np.uint8]:
        """Return an array for the cell codes of so many boards, as rules write them."""
        return np.empty((num_envs, *self.grid_shape), np.uint8)

    @property
    def known_limits(self) -> dict[str, Any]:
        """The declared ``state_limits``, and the codes of a board that is observed."""
        codes = {}
        if self.rules()[2] is None:
            codes[str(self.observation)] = 0, self.FAMILY.num_codes - 1
        return {**codes, **self.state_limits}

    @property
    def writes_own_text(self) -> bool:
        """Whether the method ``text`` is a subclass's own."""
        return type(self).text is not GridEnv.text

    def text(self, env: Row) -> str:
        """Return the board as characters; a subclass may have its own text."""
        codes = np.zeros(self.grid_shape, np.uint8)
        observe = getattr(type(self), "observe", None)
        if observe is None:
            codes[...] = getattr(env, str(self.observation)).array
        else:
            observe(env, Items(codes, "out"))
        texts: tuple[str, ...] = self.make_observer(1).frames(codes[None], "text")
        return texts[0]


def _make_family(cls: type[GridEnv]) -> GridFamily:
    """Return the looks of a class's boards.

    Raises
    ------
    InvalidOptionError
    """
    owner, accepted = f"{cls.__name__}.cells", "(glyph, meaning, (red, green, blue))"
    cells = []
    for each in cls.cells:
        try:
            cell = Cell(*each)
            is_text = isinstance(cell.glyph, str) and isinstance(cell.meaning, str)
            pixel = [int(part) in range(256) for part in cell.pixel]
            is_pixel = len(pixel) == 3 and all(pixel)
            is_right = is_text and cell.glyph and is_pixel
        except (TypeError, ValueError):
            is_right = False
        if not is_right:
            raise InvalidOptionError.expected(owner, accepted, each)
        cells.append(cell)
    tiles = cls.tiles
    if tiles is not None:
        shape = (len(cells), TILE_SIZE, TILE_SIZE, 3)
        if getattr(tiles, "shape", None) != shape or tiles.dtype != np.uint8:
            accepted = f"an array of uint8 of shape {shape}"
            raise InvalidOptionError.expected(f"{cls.__name__}.tiles", accepted, tiles)
        tiles = np.array(tiles, order="C")
        tiles.flags.writeable = False
    names = cls.actions if isinstance(cls.actions, (tuple, list)) else ()
    return GridFamily(tuple(cells), tuple(names), tiles)
