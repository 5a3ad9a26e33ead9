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

from roll_vec.envs.level_sets import (
    Faults,
    Grids,
    LevelSet,
    name_lines,
    refuse,
    split_lines,
)

_FRAME = re.compile(r"[-+=|\s]*[-+=][-+=|\s]*")
_SEPARATORS = re.compile(r"[\s,;|\"'\[\]()]+")
# The end of `PuzzleSet.ACCEPTED`.
TEXTS = "a path of a text file or of a folder of them, a text, or a list of texts"


class PuzzleSet(LevelSet):
    """Square puzzles of one size; see `LevelSet`.

    Those that cannot be played are left out.

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
    def parse(cls, text: str, where: str, faults: Faults) -> Grids:
        """Return the puzzles of a text; see `LevelSet.parse`."""
        num_faults = len(faults)
        puzzles = _split_puzzles(text, where, cls.read_cells, cls.SIZES, faults)
        if not puzzles:
            if len(faults) == num_faults:
                faults.append((where, "there are no puzzles"))
            return np.zeros((0, 0, 0), np.uint8)
        size = math.isqrt(len(puzzles[0][1]))
        for name, cells in puzzles:
            if len(cells) != size * size:
                accepted = f"{size * size} cells, as in the first puzzle"
                refuse(name, f"expected {accepted}, got {len(cells)}")
        codes = np.frombuffer(b"".join(cells for _, cells in puzzles), np.uint8)
        return cls.check(codes.reshape(-1, size, size), lambda j: puzzles[j][0], faults)

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
    def check(cls, grids: Grids, name: Callable[[int], str], faults: Faults) -> Grids:
        """Leave out puzzles with faults; see `LevelSet.check`."""
        playable: Grids = grids[cls.find_sound(grids, name, faults)]
        return playable

    @classmethod
    def find_sound(
        cls, grids: Grids, name: Callable[[int], str], faults: Faults
    ) -> NDArray[np.int64]:
        """Return the indices of the puzzles without a fault of `find_faults`."""
        height, width = grids.shape[1:]
        if height != width or height not in cls.SIZES:
            sizes = " or ".join(f"{size} x {size}" for size in cls.SIZES)
            refuse(name(0), f"expected {sizes} cells, got {height} x {width}")
        return cls.leave_out(cls.find_faults(grids), name, faults)


def _split_words(line: str) -> list[str]:
    """Return the words of a line, without a comment."""
    words = _SEPARATORS.split(line.partition("#")[0])
    return [word for word in words if word]


def _split_puzzles(
    text: str,
    where: str,
    read_cells: Callable[[list[str]], bytes],
    sizes: Collection[int],
    faults: Faults,
) -> list[tuple[str, bytes]]:
    """Return the puzzles of a text: the name of each in messages, and its cells.

    ``faults`` is updated with lines that are no puzzles.
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
        length = len(run[0][1])
        height = 1
        if length in sizes and len(run) % length == 0:
            height = length
        elif math.isqrt(length) not in sizes or math.isqrt(length) ** 2 != length:
            whole = " or ".join(str(size * size) for size in sizes)
            rows = " or ".join(map(str, sizes))
            fault = (
                f"expected a puzzle of {whole} cells, or {rows} rows with as many, got "
                f"{len(run)} lines of {length}"
            )
            faults.append((f"{where}, {name_lines(run[0][0], run[-1][0])}", fault))
            continue
        for k in range(0, len(run), height):
            numbers, lines = zip(*run[k : k + height], strict=True)
            name = f"{where}, {name_lines(numbers[0], numbers[-1])}"
            puzzles.append((name, b"".join(lines)))
    return puzzles
