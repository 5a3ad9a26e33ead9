"""Grids as texts that list the coordinates of things: RAGEN's format ``coord``.

The strings are those of RAGEN (20daedc), ``ragen/env/*/utils.py``, to the character::

    Board size: 6 rows x 6 cols (zero-indexed).
    Targets: (2, 4)
    Boxes: (2, 3)
    Player: (3, 1)
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.grid_family import GridFamily

TEXT_FORMATS = ("grid", "coord", "grid_coord")
# Added to the code of a cell where the player starts, which no code tells.
START_MARK = 1 << 7
# RAGEN's titles have a space before the newline.
_COORDINATES_TITLE, _GRID_TITLE = "Coordinates: \n", "\nGrid Map: \n"


class CoordinateWriter:
    """Writes the coordinates of the things on grids of one shape.

    Parameters
    ----------
    family : GridFamily
        Its `coordinate_labels` are the lines, in their order.
    shape : (int, int)
        Height and width of a grid.

    Attributes
    ----------
    min_length, max_length : int
        Bounds of the length of a text.
    """

    def __init__(self, family: GridFamily, shape: tuple[int, int]) -> None:
        height, width = shape
        self._header = f"Board size: {height} rows x {width} cols (zero-indexed)."
        self._names = [f"({r}, {c})" for r in range(height) for c in range(width)]
        self._lines: list[tuple[str, NDArray[np.bool_]]] = []
        for label, codes in family.coordinate_labels:
            is_listed = np.zeros(2 * START_MARK, np.bool_)
            if codes is None:
                is_listed[START_MARK:] = True
            else:
                is_listed[list(codes)] = is_listed[START_MARK:][list(codes)] = True
            self._lines.append((f"\n{label}: ", is_listed))
        # A cell stands in several lines: a box on a target is both.
        counts = sum(is_listed.astype(int) for _, is_listed in self._lines)
        lines_per_cell = int(np.max(counts, initial=0))
        self.min_length = len(self._header)
        self.max_length = self.min_length + sum(len(label) for label, _ in self._lines)
        self.max_length += lines_per_cell * sum(len(name) + 2 for name in self._names)

    def write(self, grids: NDArray[np.uint8]) -> list[str]:
        """Return the text of each grid.

        Parameters
        ----------
        grids : (n, H, W) uint8
            Codes, with `START_MARK` added where a game's labels ask for it.
        """
        num_grids, names = len(grids), self._names
        texts = [[self._header] for _ in range(num_grids)]
        # Not -1: of no grids numpy cannot tell their size.
        cells = grids.reshape(num_grids, grids.shape[1] * grids.shape[2])
        for label, is_listed in self._lines:
            rows, places = np.nonzero(is_listed[cells])
            listed = [names[place] for place in places.tolist()]
            counts = np.bincount(rows, minlength=num_grids).tolist()
            for text, (start, stop) in zip(
                texts, pairwise(accumulate(counts, initial=0)), strict=True
            ):
                if stop > start:
                    text.append(label + ", ".join(listed[start:stop]))
        return ["".join(text) for text in texts]

    @staticmethod
    def join(coordinates: str, grid: str) -> str:
        """Return the text of the format ``grid_coord``."""
        return _COORDINATES_TITLE + coordinates + _GRID_TITLE + grid

    @property
    def joined_length(self) -> int:
        """The characters that `join` adds."""
        return len(_COORDINATES_TITLE) + len(_GRID_TITLE)
