"""Puzzles of users for Sudoku and sliding tiles: reading texts, files and arrays.

A puzzle of a text is a line of all its numbers, row by row, or has a line for each row.
What follows a ``#`` is a comment; lines of other text, such as titles, are left out.
Frames of ``-``, ``+``, ``=`` and ``|`` may divide rows and columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.level_sets import Faults, Grids, LevelSet, refuse, split_lines
from roll_vec.envs.sliding_tiles import MAX_SIZE
from roll_vec.envs.sudoku import FEWEST_CLUES, solve_puzzles

_FRAME = re.compile(r"[-+=|\s]*[-+=][-+=|\s]*")
_SEPARATORS = re.compile(r"[\s,;|\"'\[\]()]+")
_DIGITS = re.compile(r"[0-9._*]+")
# By letter; 255: no cell.
_CODES = bytes(
    0 if chr(code) in "._*" else "0123456789".find(chr(code)) % 256
    for code in range(256)
)
_TILE = re.compile(r"[0-9]{1,3}|[._]+")
_ACCEPTED = "a path of a text file or of a folder of them, a text, or a list of texts"


class PuzzleSet(LevelSet):
    """Square puzzles of one size; see `LevelSet`.

    One that cannot be played is refused by its name.

    Attributes
    ----------
    SIZES : tuple of int, of the class
        The rows and columns that are accepted.
    """

    LEVEL: ClassVar[str] = "puzzle"
    SUFFIXES: ClassVar[tuple[str, ...]] = (".txt", ".csv")
    SIZES: ClassVar[tuple[int, ...]]

    @classmethod
    def read_cells(cls, line: str) -> bytes:
        """Return the cells that a line of a text has, none if it is another text."""
        raise NotImplementedError

    @classmethod
    def find_faults(cls, grids: Grids) -> dict[str, NDArray[np.bool_]]:
        """Return the faults of puzzles of an accepted size: those that have each."""
        raise NotImplementedError

    @classmethod
    def is_text(cls, levels: str) -> bool:
        """Return whether a str is a text; one line may be one, too."""
        num_cells = len(cls.read_cells(levels))
        sizes = [size * size for size in cls.SIZES]
        return num_cells in sizes or super().is_text(levels)

    @classmethod
    def parse(cls, text: str, where: str, _faults: Faults) -> Grids:
        """Return the puzzles of a text; see `LevelSet.parse`."""
        puzzles = _split_puzzles(text, where, cls.read_cells, cls.SIZES)
        size = math.isqrt(len(puzzles[0][1]))
        names = [f"{where}, puzzle {j} (line {n})" for j, (n, _) in enumerate(puzzles)]
        for name, (_, cells) in zip(names, puzzles, strict=True):
            if len(cells) != size * size:
                accepted = f"{size * size} cells, as in the first puzzle"
                refuse(name, f"expected {accepted}, got {len(cells)}")
        cells = np.frombuffer(b"".join(cells for _, cells in puzzles), np.uint8)
        return cls.check(cells.reshape(-1, size, size), lambda j: names[j], _faults)

    @classmethod
    def parse_array(cls, levels: Any, where: str, faults: Faults) -> Grids:
        """Return the puzzles of an array, whose last axis may have all cells of one."""
        try:
            array = np.asarray(levels)
        except ValueError:  # of rows of several lengths
            array = np.empty(0, object)
        *others, last = array.shape or (0,)
        size = math.isqrt(last)
        is_board = last in cls.SIZES and others[-1:] == [last]
        if not is_board and size in cls.SIZES and size * size == last:
            levels = array.reshape(*others, size, size)
        return super().parse_array(levels, where, faults)

    @classmethod
    def check(cls, grids: Grids, name: Callable[[int], str], _faults: Faults) -> Grids:
        """Refuse puzzles with faults; see `LevelSet.check`."""
        height, width = grids.shape[1:]
        if height != width or height not in cls.SIZES:
            sizes = " or ".join(f"{size} x {size}" for size in cls.SIZES)
            refuse(name(0), f"expected {sizes} cells, got {height} x {width}")
        _refuse_faults(cls.find_faults(grids), name)
        return grids


class SudokuSet(PuzzleSet):
    """Puzzles of Sudoku with one solution each.

    A grid has a puzzle, 0 for empty cells, and below it the solution:
    (2 size, size) uint8.
    """

    ACCEPTED: ClassVar[str] = (
        "an array (L, 9, 9) or (L, 81) of digits, 0 for empty cells, or (L, 4, 4) or "
        f"(L, 16); {_ACCEPTED}"
    )
    ID: ClassVar[str] = "roll_vec/Sudoku-v0"
    HIGHEST_CODE: ClassVar[int] = 9
    SIZES: ClassVar[tuple[int, ...]] = tuple(FEWEST_CLUES)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a puzzle."""
        _, _, width = self.grids.shape
        return width, width

    @classmethod
    def read_cells(cls, line: str) -> bytes:
        """Return the digits of a row or a puzzle; see `PuzzleSet.read_cells`.

        Of a row of several columns, as in CSV files, the puzzle is the first one that
        has its form.
        """
        words = [word for word in _SEPARATORS.split(line) if word]
        sizes = [size * size for size in sorted(cls.SIZES, reverse=True)]
        puzzles = [
            word
            for size in sizes
            for word in words
            if len(word) == size and _DIGITS.fullmatch(word)
        ]
        cells = [*puzzles, "".join(words)][0]
        # A line with so many cells is no title: it is refused for its length.
        if _DIGITS.fullmatch(cells) or re.search(r"[0-9._*]{9}", line):
            return cells.encode("latin-1", "replace").translate(_CODES)
        return b""

    @classmethod
    def find_faults(cls, grids: Grids) -> dict[str, NDArray[np.bool_]]:
        """Return the faults that are seen without a search."""
        scale = grids.shape[1]
        clues = (grids > 0).sum(axis=(1, 2))
        fewest = FEWEST_CLUES[scale]
        return {
            f"expected digits up to {scale}": (grids > scale).any(axis=(1, 2)),
            "expected an empty cell, got none": clues == scale * scale,
            f"expected at least {fewest} clues, as each puzzle with one solution has": (
                clues < fewest
            ),
        }

    @classmethod
    def check(cls, grids: Grids, name: Callable[[int], str], _faults: Faults) -> Grids:
        """Refuse puzzles without exactly one solution; see `LevelSet.check`."""
        grids = super().check(grids, name, _faults)
        solutions, counts = solve_puzzles(grids)
        faults = {
            "expected one solution, got none": counts == 0,
            "expected one solution, got several": counts == 2,
            "expected one solution; the search for a second one took too long": (
                counts > 2
            ),
        }
        _refuse_faults(faults, name)
        return np.concatenate((grids, solutions), axis=1)


class TileSet(PuzzleSet):
    """Boards of sliding tiles with a solution, 0 for the empty cell."""

    ACCEPTED: ClassVar[str] = (
        "an array (L, H, W) or (L, H * W) of numbers, 0 for the empty cell, "
        f"from 2 x 2 to {MAX_SIZE} x {MAX_SIZE} cells; {_ACCEPTED}"
    )
    ID: ClassVar[str] = "roll_vec/SlidingTiles-v0"
    HIGHEST_CODE: ClassVar[int] = MAX_SIZE**2 - 1
    SIZES: ClassVar[tuple[int, ...]] = tuple(range(2, MAX_SIZE + 1))

    @classmethod
    def read_cells(cls, line: str) -> bytes:
        """Return the numbers of a row or a board; see `PuzzleSet.read_cells`.

        ``867254301`` is a board of nine digits; a number alone, such as the size, is
        another text.
        """
        words = [word for word in _SEPARATORS.split(line) if word]
        if len(words) == 1:
            words = list(words[0]) if len(words[0]) in (4, 9) else []
        if not all(map(_TILE.fullmatch, words)):
            return b""
        return bytes(min(int(word), 255) if word.isdigit() else 0 for word in words)

    @classmethod
    def find_faults(cls, grids: Grids) -> dict[str, NDArray[np.bool_]]:
        """Return the faults of boards."""
        cells = grids.reshape(len(grids), -1)
        num_cells, size = cells.shape[1], grids.shape[1]
        numbers = np.arange(num_cells)
        # The solved board is 1, 2, ..., 0: the empty cell is the highest number.
        order = (cells.astype(np.int64) - 1) % num_cells
        is_odd = np.zeros(len(cells), np.int64)
        for k in range(num_cells):
            is_odd += (order[:, k : k + 1] > order[:, k + 1 :]).sum(axis=1)
        # A move swaps two cells, and takes the empty one to a cell of the other colour
        # of a chequered board.
        empty = (cells == 0).argmax(axis=1)
        is_odd += empty // size + empty % size
        return {
            f"expected the numbers 0 to {num_cells - 1}, once each": (
                (np.sort(cells, axis=1) != numbers).any(axis=1)
            ),
            "expected tiles that are not in order at the start": (
                (order == numbers).all(axis=1)
            ),
            "it has no solution": is_odd % 2 == 1,
        }


def _refuse_faults(
    faults: dict[str, NDArray[np.bool_]], name: Callable[[int], str]
) -> None:
    """Raise the error about the first level that has a fault, if one has."""
    for fault, has_it in faults.items():
        if has_it.any():
            refuse(name(int(has_it.argmax())), fault)


def _split_puzzles(
    text: str,
    where: str,
    read_cells: Callable[[str], bytes],
    sizes: Collection[int],
) -> list[tuple[int, bytes]]:
    """Return the puzzles of a text: the line where each begins, and its cells.

    Raises
    ------
    InvalidOptionError
    """
    # Lines one below the other with equal numbers of cells.
    runs: list[list[tuple[int, bytes]]] = [[]]
    for number, line in enumerate(split_lines(text), 1):
        if _FRAME.fullmatch(line):
            continue
        cells = read_cells(line.partition("#")[0])
        if not cells or (runs[-1] and len(runs[-1][-1][1]) != len(cells)):
            runs.append([])
        if cells:
            runs[-1].append((number, cells))
    puzzles = []
    for run in filter(None, runs):
        first, length = run[0][0], len(run[0][1])
        height = 1
        if length in sizes and len(run) % length == 0:
            height = length
        elif math.isqrt(length) not in sizes or math.isqrt(length) ** 2 != length:
            whole = " or ".join(str(size * size) for size in sizes)
            rows = " or ".join(map(str, sizes))
            refuse(
                f"{where}, line {first}",
                f"expected a puzzle of {whole} cells, or {rows} rows with as many, got "
                f"{len(run)} lines of {length}",
            )
        for k in range(0, len(run), height):
            lines = [cells for _, cells in run[k : k + height]]
            puzzles.append((run[k][0], b"".join(lines)))
    if not puzzles:
        refuse(where, "there are no puzzles")
    return puzzles
