"""`GridEnv`: the base class of array environments that are played on a board."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Space
from numpy.typing import NDArray

from roll_vec.arrays.array_env import METADATA, ArrayEnv
from roll_vec.arrays.grid_family import ArrayMode, Cell, GridFamily
from roll_vec.arrays.grid_observations import OBS_MODES, GridObserver
from roll_vec.arrays.rule_code import RuleCode, copy_rules
from roll_vec.errors import InvalidOptionError, RollVecWarning, warn_caller
from roll_vec.kernels.rows import Items, Row
from roll_vec.options import check_lookup

# Of a generated grid.
MAX_CELLS = 1 << 20


class GridEnv(ArrayEnv):
    """Base class of array environments that are played on a board.

    The board is a variable of cell codes; a table says what each code looks like.
    Observations in all modes, pictures, texts and instructions follow from these.

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
    render_scale : int
        Scale of pictures, from 1 to 64: a tile has 16 n times 16 n pixels.

    Attributes
    ----------
    cells : sequence of Cell, of the class
        What each code looks like, from code 0: characters, a meaning, a colour of
        (red, green, blue), and for terminals the number of an ANSI colour.
    observation : str, of the class
        The variable that is the board: of two axes, and of uint8.  In its place the
        rule ``observe(env, out)`` may write the codes: ``out[row, column] = 1``.
    draw : rule or None, of the class
        ``draw(env, out)`` writes the codes of pictures and of the modes above:
        ``out[row, column] = 1``.  Then ``observe`` and ``observation_space`` are those
        of any `ArrayEnv`: what ``obs_mode="array"`` observes, the default.
    grid_shape : (int, int), of the class or a property
        Rows and columns of what ``draw`` writes; without it those of the board.
    tiles : (C, S, S, 3) uint8, or None, of the class or a property
        A picture of each code; None: squares of 16 pixels of its colour.
    more_modes : dict of str to ArrayMode, of the class
        Observation modes beside those of every board.

    Raises
    ------
    InvalidOptionError
    """

    cells: ClassVar[Any] = ()
    draw: ClassVar[Any] = None
    tiles: ClassVar[Any] = None
    more_modes: ClassVar[Mapping[str, ArrayMode]] = {}
    observation: ClassVar[Any] = "board"
    OBS_MODES: ClassVar[Mapping[str, str]] = OBS_MODES
    metadata: ClassVar[dict[str, Any]] = METADATA
    FAMILY: ClassVar[GridFamily]

    obs_mode: str = "grid"
    grid_lookup: Any = None
    grid_vocab: Any = None
    render_scale: int = 1  # type: ignore[misc]

    def __init_subclass__(cls, **keywords: Any) -> None:
        if cls.draw is not None and cls.OBS_MODES is OBS_MODES:
            cls.OBS_MODES = {"array": ArrayEnv.OBS_MODES["array"], **cls.OBS_MODES}
            if "obs_mode" not in vars(cls):
                cls.obs_mode = "array"
        if cls.draw is not None and cls.observation not in cls.state:
            cls.observation = None
        super().__init_subclass__(**keywords)
        if isinstance(cls.tiles, (property, cached_property)):
            family: Any = cached_property(lambda self: _make_family(cls, self.tiles))
            family.__set_name__(cls, "FAMILY")
            cls.FAMILY = family
        else:
            cls.FAMILY = _make_family(cls, cls.tiles)
        cls.writes_texts = cls.text is not GridEnv.text

    def __post_init__(self) -> None:
        if not self.cells:
            accepted = "what each code of the board looks like, roll_vec.Cell each"
            owner = f"{type(self).__name__}.cells"
            raise InvalidOptionError.expected(owner, accepted, self.cells)
        super().__post_init__()
        family, vocab = self.FAMILY, self.grid_vocab
        lookup = check_lookup("grid_lookup", self.grid_lookup, family.glyphs)
        vocab = family.meanings if vocab is None else vocab
        if not isinstance(vocab, Mapping):
            accepted = "a dict from str to str"
            raise InvalidOptionError.expected("grid_vocab", accepted, vocab)
        glyphs = {*family.glyphs.values(), *lookup.values()}
        unknown = [repr(symbol) for symbol in vocab if symbol not in glyphs]
        if unknown:
            message = f"grid_vocab: {', '.join(unknown)}: the board has no such symbols"
            warn_caller(message, RollVecWarning)
        self._set(grid_lookup={**family.glyphs, **lookup}, grid_vocab=dict(vocab))

    @property
    def draws_observations(self) -> bool:
        """Whether observations are made of what the rule ``draw`` writes."""
        modes = {*OBS_MODES, *self.more_modes}
        return type(self).draw is not None and self.obs_mode in modes

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The names of the rules; ``draw`` where it writes what is observed."""
        begin, step, observe, legal = super().rule_names
        return begin, step, "draw" if self.draws_observations else observe, legal

    @cached_property
    def code(self) -> RuleCode:
        """The rules as they are now, with ``draw``."""
        draw = type(self).draw
        return copy_rules(self.name, [*self.rules(), *([] if draw is None else [draw])])

    @property
    def text_variables(self) -> Mapping[str, str]:
        """The variable of each text that observations have."""
        return {} if self.draws_observations else super().text_variables

    @cached_property
    def parts(self) -> dict[str, Space[Any]]:
        """The spaces of the arrays that an observation is made of, by name."""
        return {"": self._code_space} if self.draws_observations else super().parts

    @property
    def symbol_meanings(self) -> list[tuple[str, str]]:
        """Each symbol of a grid as text and its meaning, in the order of codes."""
        # A user's symbol has the meaning of the default symbol of its code.
        cells, vocab = self.FAMILY.cells, self.grid_vocab
        return [
            (symbol, vocab.get(symbol, cells[code].meaning))
            for code, symbol in self.grid_lookup.items()
        ]

    @cached_property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of the board."""
        dtype, shape = self.variables.get(str(self.observation), (np.dtype(bool), ()))
        name = type(self).__name__
        if type(self).draw is not None and len(shape) != 2:
            accepted = "the rows and columns of what the rule `draw` writes"
            raise InvalidOptionError.expected(f"{name}.grid_shape", accepted, None)
        if len(shape) != 2 or dtype != np.uint8:
            accepted = f"the board {self.observation!r} as (np.uint8, (rows, columns))"
            value = self.state.get(str(self.observation))
            raise InvalidOptionError.expected(f"{name}.state", accepted, value)
        return shape

    @cached_property
    def observation_space(self) -> Space[Any]:
        """The space of cell codes, which the observations of a grid are made of."""
        return self._code_space

    @property
    def _code_space(self) -> Box:
        return Box(0, self.FAMILY.num_codes - 1, self.grid_shape, np.uint8)

    def make_observer(self, num_threads: int) -> GridObserver:
        """Return what turns grids into observations and frames."""
        return GridObserver(self, num_threads)

    def write_codes(self, env: Row) -> NDArray[np.uint8]:
        """Return the cell codes of the board of an environment, (H, W)."""
        codes = np.zeros(self.grid_shape, np.uint8)
        observe = type(self).draw or getattr(type(self), "observe", None)
        if observe is None:
            codes[...] = getattr(env, str(self.observation)).array
        else:
            observe(env, Items(codes, "out"))
        return codes

    def text(self, env: Row) -> str:
        """Return the board as characters; a subclass may have its own text."""
        codes = self.write_codes(env)
        texts: tuple[str, ...] = self.make_observer(1).frames(codes[None], "text")
        return texts[0]

    def _describe_grid(self) -> list[str]:
        if type(self).draw is not None and self.writes_texts:
            return []
        # Not of a number that stands for itself.
        symbols = ", ".join(
            f"{one} is {text}" for one, text in self.symbol_meanings if one != text
        )
        return [f"Symbols of the board: {symbols}."]


def check_cells(name: str, shape: tuple[int, int]) -> None:
    """Refuse a generated grid that is too large, before anything is allocated.

    Raises
    ------
    InvalidOptionError
    """
    rows, columns = shape
    if rows * columns > MAX_CELLS:
        message = (
            f"{name}: expected a board of at most {MAX_CELLS} cells, got {rows} rows "
            f"and {columns} columns, which are {rows * columns} cells"
        )
        raise InvalidOptionError(message)


def _make_family(cls: type[GridEnv], tiles: Any) -> GridFamily:
    """Return the looks of a class's boards.

    Raises
    ------
    InvalidOptionError
    """
    cells = []
    for each in cls.cells:
        try:
            cell = Cell(*each)
            pixel = [int(part) in range(256) for part in cell.pixel]
            texts = isinstance(cell.glyph, str) and isinstance(cell.meaning, str)
            is_right = texts and cell.glyph and pixel == [True] * 3
        except (TypeError, ValueError):
            is_right = False
        if not is_right:
            accepted = "(glyph, meaning, (red, green, blue))"
            raise InvalidOptionError.expected(f"{cls.__name__}.cells", accepted, each)
        cells.append(cell)
    if tiles is not None:
        shape: Any = getattr(tiles, "shape", ())
        is_square = len(shape) == 4 and shape == (len(cells), shape[1], shape[1], 3)
        if not is_square or tiles.dtype != np.uint8 or 0 in shape:
            accepted = f"an array of uint8 of shape ({len(cells)}, S, S, 3)"
            raise InvalidOptionError.expected(f"{cls.__name__}.tiles", accepted, tiles)
    return GridFamily(tuple(cells), tiles, cls.more_modes)
