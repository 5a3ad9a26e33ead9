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

_FRAME = re.compile(r"[-+=|\s]*[-+=][-+=|\s]*")
_SEPARATORS = re.compile(r"[\s,;|\"'\[\]()]+")
# The end of `PuzzleSet.ACCEPTED`.
TEXTS = "a path of a text file or of a folder of them, a text, or a list of texts"


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
    def read_cells(cls, words: list[str]) -> bytes:
        """Return the cells that a line of a text has, none if it is another text.

        Parameters
        ----------
        words : list of str
            What stands between spaces, commas, bars, quotes and brackets.

        Returns
        -------
        bytes
            A code each; 255 for what is none.
        """
        raise NotImplementedError

    @classmethod
    def find_faults(cls, grids: Grids) -> dict[str, NDArray[np.bool_]]:
        """Return the faults of puzzles of an accepted size: those that have each."""
        raise NotImplementedError

    @classmethod
    def is_text(cls, levels: str) -> bool:
        """Return whether a str is a text; one line may be one, too."""
        num_cells = len(cls.read_cells(_split_words(levels)))
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
        codes = np.frombuffer(b"".join(cells for _, cells in puzzles), np.uint8)
        return cls.check(codes.reshape(-1, size, size), lambda j: names[j], _faults)

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
        refuse_faults(cls.find_faults(grids), name)
        return grids


def refuse_faults(
    faults: dict[str, NDArray[np.bool_]], name: Callable[[int], str]
) -> None:
    """Raise the error about the first level that has a fault, if one has."""
    for fault, has_it in faults.items():
        if has_it.any():
            refuse(name(int(has_it.argmax())), fault)


def _split_words(line: str) -> list[str]:
    """Return the words of a line, without a comment."""
    words = _SEPARATORS.split(line.partition("#")[0])
    return [word for word in words if word]


def _split_puzzles(
    text: str,
    where: str,
    read_cells: Callable[[list[str]], bytes],
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
        cells = read_cells(_split_words(line))
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
