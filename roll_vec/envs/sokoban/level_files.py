"""Sokoban levels of users: reading files, texts and arrays, and checking the levels.

The text format is that of the world's collections (XSokoban, Microban, the ``.sok`` of
Sokoban YASC)::

    # wall   @ p player   + P player on target   $ b box   * B box on target
    . o target

and floor is a space, ``-`` or ``_``.  A row of a level has a wall and no other letters.
Every other line ends a level: a blank one, a title, a comment, or one of floor alone,
which is outside of the walls.  A run of equal cells may be its length, up to 99, and
its letter (``4#``), and ``|`` may stand in the place of a line break.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.level_sets import (
    Faults,
    Grids,
    LevelSet,
    flood_fill,
    name_lines,
    refuse,
    split_lines,
)
from roll_vec.kernels.sokoban import moves as kernels

__all__ = ["LevelSet", "RoomSet", "format_levels", "load_levels"]

_LETTERS = {
    "#": kernels.WALL,
    " ": kernels.FLOOR,
    "-": kernels.FLOOR,
    "_": kernels.FLOOR,
    ".": kernels.TARGET,
    "o": kernels.TARGET,
    "*": kernels.BOX_ON_TARGET,
    "B": kernels.BOX_ON_TARGET,
    "$": kernels.BOX,
    "b": kernels.BOX,
    "@": kernels.PLAYER,
    "p": kernels.PLAYER,
    "+": kernels.PLAYER_ON_TARGET,
    "P": kernels.PLAYER_ON_TARGET,
}
_CELLS = "".join(_LETTERS)
_CELL = f"[{re.escape(_CELLS)}]"
# Rows with run lengths, or several in a line.
_ROWS = re.compile(rf"(?:\d{{0,2}}{_CELL}|\|)+", re.ASCII)
_RUN = re.compile(rf"(\d+)({_CELL})", re.ASCII)
_WALLS = frozenset("# -_")
# By code, the letter that is written.
_LETTER_BYTES = b"# .*$@+"
_CODES = bytes(_LETTERS.get(chr(byte), 0) for byte in range(256))


class RoomSet(LevelSet):
    """Levels of Sokoban, all of their border wall; see `LevelSet`.

    Levels of different sizes are padded with wall below and on the right.  What is
    outside of the walls, such as decoration, becomes wall.  Levels that cannot be
    played, or are solved at the start, are left out.
    """

    ACCEPTED: ClassVar[str] = (
        "an array (L, H, W) or (H, W) of integer codes from 0 to 6, a path of a text "
        "file or of a folder of them, or a text or a list of texts"
    )
    HIGHEST_CODE: ClassVar[int] = kernels.NUM_CODES - 1
    SUFFIXES: ClassVar[tuple[str, ...]] = (".txt", ".xsb", ".sok")

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The values of the variables of `Sokoban` that a level has."""
        return room_arrays(self._cells)

    @classmethod
    def is_text(cls, levels: str) -> bool:
        """Return whether a str is a text: also a level in a line, with ``|``."""
        return len(_read_rows(levels)) > 1 or super().is_text(levels)

    @classmethod
    def parse(cls, text: str, where: str, faults: Faults) -> Grids:
        """Return the levels of a text; see `LevelSet.parse`."""
        levels = _split_levels(text)
        if not levels:
            fault = "there are no levels"
            if text.lstrip("\ufeff \t\r\n").startswith("<"):
                fault += ": it is XML, as .slc files are; expected plain text, as .xsb"
            faults.append((where, fault))
            return np.zeros((0, 0, 0), np.uint8)
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
        codes = np.frombuffer(letters.encode("ascii").translate(_CODES), np.uint8)
        grids = codes.reshape(len(levels), height, width)
        return cls.check(grids, lambda j: f"{where}, {levels[j][0]}", faults)

    @classmethod
    def check(cls, grids: Grids, name: Callable[[int], str], faults: Faults) -> Grids:
        """Leave out levels with faults; return them with wall in place of the outside.

        See `LevelSet.check`.
        """
        outside = _find_outside(grids)
        has_gap = (outside & (grids >= kernels.PLAYER)).any(axis=(1, 2))
        players = (grids >= kernels.PLAYER).sum(axis=(1, 2))
        grids = np.where(outside, np.uint8(kernels.WALL), grids)

        def count(*codes: int) -> NDArray[np.int64]:
            counts: NDArray[np.int64] = np.isin(grids, codes).sum(axis=(1, 2))
            return counts

        boxes_left = count(kernels.BOX)
        boxes = boxes_left + count(kernels.BOX_ON_TARGET)
        targets = count(kernels.TARGET, kernels.BOX_ON_TARGET, kernels.PLAYER_ON_TARGET)
        problems = {
            "expected exactly one player, got {players}": players != 1,
            "the player can leave it: the walls have a gap": has_gap,
            "expected at least one box, got none": boxes == 0,
            "expected as many targets as boxes, got {targets} and {boxes}": (
                targets != boxes
            ),
            "all boxes are on targets at the start": boxes_left == 0,
        }
        numbers = {"players": players, "targets": targets, "boxes": boxes}
        playable: Grids = grids[cls.leave_out(problems, name, faults, **numbers)]
        return playable

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


def room_arrays(
    grids: Grids,
) -> tuple[Grids, NDArray[np.int32], NDArray[np.int32]]:
    """Return rooms, their players' cells, and their numbers of boxes off targets.

    Parameters
    ----------
    grids : (l, H, W) uint8
    """
    cells = grids.reshape(len(grids), -1)
    players = (cells >= kernels.PLAYER).argmax(axis=1)
    boxes_left = (cells == kernels.BOX).sum(axis=1)
    return grids, players.astype(np.int32), boxes_left.astype(np.int32)


def load_levels(levels: Any) -> RoomSet:
    """Return levels in any form as a set; see `LevelSet.load`.

    Raises
    ------
    InvalidOptionError
    """
    return RoomSet.load(levels)


def _split_levels(text: str) -> list[tuple[str, list[str]]]:
    """Return each level of a text: its lines, for messages, and its rows."""
    levels: list[tuple[str, list[str]]] = []
    rows: list[str] = []
    first = num_before = 0
    is_comment = False
    for number, line in enumerate([*split_lines(text.expandtabs()), ""], 1):
        row = line.rstrip()
        if rows and _is_row(row):
            rows.append(row)
            continue
        new = _read_rows(row)
        # Each line of ``5#|#@$.#|5#`` has a level of its own.
        is_next = len(new) > 1 and _WALLS.issuperset(new[0])
        if rows and (not new or (is_next and _WALLS.issuperset(rows[-1]))):
            lines = name_lines(first, number - 1)
            if not new and line.startswith("#"):
                lines += f" (line {number} has other letters)"
            levels.append((lines, rows))
            rows = []
        if not rows:
            first = number
        rows += new
        # Boards in a comment of several lines are no levels.  One line has no end.
        if not new and line[:8].lower() == "comment:":
            num_before, is_comment = len(levels), True
        elif is_comment and line[:11].lower() == "comment-end":
            del levels[num_before:]
            is_comment = False
    return levels


def _is_row(line: str) -> bool:
    return "#" in line and not line.strip(_CELLS)


def _read_rows(line: str) -> list[str]:
    """Return the rows of a level that a line has: mostly one; none if it is text."""
    if _is_row(line):
        return [line]
    if "#" not in line or not _ROWS.fullmatch(line):
        return []
    rows = _RUN.sub(lambda run: run[2] * int(run[1]), line).strip("|").split("|")
    return rows if all("#" in row for row in rows) else []


def _check_padding(where: str, shape: tuple[int, int, int], size: int) -> None:
    """Refuse levels that differ so much in size that few cells become very many.

    ``shape`` is that of all levels with their padding, ``size`` the cells without it.
    """
    number, height, width = shape
    if math.prod(shape) > max(1 << 26, 100 * size):
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
    """Return levels as a text with a line ``; n`` before each, as Boxoban's files.

    Parameters
    ----------
    grids : (l, H, W) uint8
        Levels of a `RoomSet`.
    numbers : (l,) iterable of int, or None
        None: from 0 on.
    """
    numbers = range(len(grids)) if numbers is None else numbers
    newlines = np.full((*grids.shape[:2], 1), ord("\n"), np.uint8)
    table = np.frombuffer(_LETTER_BYTES, np.uint8)
    rows = np.concatenate((table[grids], newlines), axis=2)
    texts = (level.tobytes().decode("ascii") for level in rows)
    return "\n".join(
        f"; {number}\n{text}" for number, text in zip(numbers, texts, strict=True)
    )
