"""Sokoban levels of users: reading files, texts and arrays, and checking the levels.

The text format is the common one, as Boxoban's files have it::

    # wall   @ player   + player on target   $ box   * box on target   . target

and floor is a space, ``-`` or ``_``.  A level ends at a blank line or at one that
begins with ``;``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.level_sets import (
    Grids,
    LevelSet,
    flood_fill,
    format_grids,
    refuse,
    split_text,
)
from roll_vec.kernels.sokoban import rules as kernels
from roll_vec.storage.data_files import max_text_size

__all__ = ["LevelSet", "RoomSet", "format_levels", "load_levels"]

_LETTERS = {
    "#": kernels.WALL,
    " ": kernels.FLOOR,
    "-": kernels.FLOOR,
    "_": kernels.FLOOR,
    ".": kernels.TARGET,
    "*": kernels.BOX_ON_TARGET,
    "$": kernels.BOX,
    "@": kernels.PLAYER,
    "+": kernels.PLAYER_ON_TARGET,
}
# By code, the letter that is written.
_LETTER_BYTES = b"# .*$@+"
_CODES = bytes(_LETTERS.get(chr(byte), 0) for byte in range(256))


class RoomSet(LevelSet):
    """Levels of Sokoban, all of their border wall; see `LevelSet`.

    Levels of different sizes are padded with wall below and on the right.
    """

    ACCEPTED: ClassVar[str] = (
        "an array (L, H, W) or (H, W) of integer codes from 0 to 6, a path of a text "
        "file, of a folder of them or of a .npz file, or a list of texts"
    )
    ID: ClassVar[str] = "roll_vec/Sokoban-v0"
    HIGHEST_CODE: ClassVar[int] = kernels.NUM_CODES - 1
    SUFFIXES: ClassVar[tuple[str, ...]] = (".txt", ".xsb", ".sok")

    @classmethod
    def parse(cls, text: str, where: str) -> Grids:
        """Return the levels of a text; see `LevelSet.parse`."""
        levels = list(split_text(text))
        if not levels:
            refuse(where, "there are no levels")
        height = max(len(rows) for _, rows in levels)
        width = max(len(row) for _, rows in levels for row in rows)
        _check_padding(where, (len(levels), height, width), len(text))
        # Short rows are filled with spaces, not walls: a gap in the walls stays a gap.
        blank = " " * width
        letters = "".join(
            row.ljust(width)
            for _, rows in levels
            for row in rows + [blank] * (height - len(rows))
        )
        if not _LETTERS.keys() >= set(letters):
            letters_accepted = " ".join(_LETTERS).replace("   ", " ")
            for number, (line, rows) in enumerate(levels):
                for j, row in enumerate(rows):
                    if unknown := sorted(set(row) - _LETTERS.keys()):
                        refuse(
                            f"{where}, level {number} (line {line + j})",
                            f"expected only {letters_accepted} and spaces, "
                            f"got {''.join(unknown)!r}",
                        )
        codes = np.frombuffer(letters.encode("ascii").translate(_CODES), np.uint8)
        grids = codes.reshape(len(levels), height, width)
        return cls.check(grids, lambda j: f"{where}, level {j} (line {levels[j][0]})")

    @classmethod
    def check(cls, grids: Grids, name: Callable[[int], str]) -> Grids:
        """Refuse levels with faults; return them with wall in place of the outside."""

        def count(*codes: int) -> NDArray[np.int64]:
            counts: NDArray[np.int64] = np.isin(grids, codes).sum(axis=(1, 2))
            return counts

        players = count(kernels.PLAYER, kernels.PLAYER_ON_TARGET)
        boxes_left = count(kernels.BOX)
        boxes = boxes_left + count(kernels.BOX_ON_TARGET)
        targets = count(kernels.TARGET, kernels.BOX_ON_TARGET, kernels.PLAYER_ON_TARGET)
        outside = _find_outside(grids)
        outside_cells = np.where(outside, grids, kernels.WALL)
        faults = {
            "expected exactly one player, got {players}": players != 1,
            "expected at least one box, got none": boxes == 0,
            "expected as many targets as boxes, got {targets} and {boxes}": (
                targets != boxes
            ),
            "all boxes are on targets at the start": boxes_left == 0,
            "the player can leave it: the walls have a gap": (
                (outside_cells >= kernels.PLAYER).any(axis=(1, 2))
            ),
            "there is a box or a target outside the walls": (
                (outside_cells > kernels.FLOOR).any(axis=(1, 2))
            ),
        }
        faulty = np.any(list(faults.values()), axis=0)
        if faulty.any():
            j = int(faulty.argmax())
            problem = next(problem for problem, has_it in faults.items() if has_it[j])
            refuse(
                name(j),
                problem.format(players=players[j], targets=targets[j], boxes=boxes[j]),
            )
        return np.where(outside, np.uint8(kernels.WALL), grids)

    @classmethod
    def stack(cls, parts: Mapping[str, Grids]) -> Grids:
        """Return all levels in one array, padded with wall to the largest."""
        height = max(grids.shape[1] for grids in parts.values())
        width = max(grids.shape[2] for grids in parts.values())
        shape = sum(map(len, parts.values())), height, width
        _check_padding("", shape, sum(grids.size for grids in parts.values()))
        cells = np.zeros(shape, np.uint8)
        start = 0
        for grids in parts.values():
            stop = start + len(grids)
            cells[start:stop, : grids.shape[1], : grids.shape[2]] = grids
            start = stop
        return cells


def load_levels(levels: Any) -> RoomSet:
    """Return levels in any form as a set; see `LevelSet.load`.

    Raises
    ------
    InvalidOptionError
    """
    return RoomSet.load(levels)


def _check_padding(where: str, shape: tuple[int, int, int], size: int) -> None:
    """Refuse levels that differ so much in size that few cells become very many.

    ``shape`` is that of all levels with their padding, ``size`` the cells without it.
    """
    number, height, width = shape
    if math.prod(shape) > max_text_size(size):
        refuse(
            where,
            f"{number} levels, each padded to {height} rows and {width} columns, the "
            "largest of each, do not fit into one set; expected levels of similar "
            "sizes",
        )


def _find_outside(grids: Grids) -> NDArray[np.bool_]:
    """Return the cells with a way to the edge that no wall blocks, (l, H, W) bool."""
    outside: NDArray[np.bool_] = grids != kernels.WALL
    outside[:, 1:-1, 1:-1] = False
    # Levels with wall all around, as in most files, have none.
    rows = np.flatnonzero(outside.any(axis=(1, 2)))
    is_open, region = grids[rows] != kernels.WALL, outside[rows]
    flood_fill(region, is_open)
    outside[rows] = region
    return outside


def format_levels(grids: Grids, numbers: Iterable[int] | None = None) -> str:
    """Return levels in the common text format; see `format_grids`."""
    return format_grids(_LETTER_BYTES, grids, numbers)
