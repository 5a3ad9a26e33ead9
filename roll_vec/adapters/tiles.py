"""Pictures of other packages: gym-sokoban's of Sokoban, Gymnasium's of FrozenLake.

A model that has learned from a framework's pictures sees the same pixels.  The pictures
of cells are read once from the package that is installed; frames are then put together
in numpy.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Pictures: TypeAlias = NDArray[np.uint8]

_NUM_SOKOBAN_CODES = 7
# The letters of Gymnasium's maps, and by code of our lakes the number of the letter.
_LETTERS = (b"F", b"H", b"G", b"S")
_LETTER_OF = np.array([0, 0, 1, 2, 1, 2])
_START = _LETTERS.index(b"S")
_HAS_PLAYER = np.array([True, False, False, False, True, True])
# pygame draws in one thread at a time.
_drawing = threading.Lock()


def paint_rooms(grids: Pictures) -> Pictures:
    """Return rooms as gym-sokoban draws them, (n, 16 H, 16 W, 3).

    Parameters
    ----------
    grids : (n, H, W) uint8
        Cell codes.

    Raises
    ------
    ImportError
        Without gym-sokoban.
    """
    return _join_cells(load_sokoban_tiles()[grids])


def paint_lake(
    codes: Pictures, starts: NDArray[np.bool_], direction: int | None
) -> Pictures:
    """Return a lake as Gymnasium draws it; see `LakeTiles.paint`.

    Raises
    ------
    gymnasium.error.DependencyNotInstalled
        Without pygame.
    """
    return _lake_tiles(codes.shape).paint(codes, starts, direction)


@cache
def load_sokoban_tiles() -> Pictures:
    """Return gym-sokoban's picture of each cell code, (7, 16, 16, 3).

    Raises
    ------
    ImportError
        Without gym-sokoban.
    """
    from gym_sokoban.envs.render_utils import (  # type: ignore[import-not-found]
        room_to_rgb,
    )

    row = np.array(room_to_rgb(np.arange(_NUM_SOKOBAN_CODES)[np.newaxis]), np.uint8)
    return row.reshape(16, _NUM_SOKOBAN_CODES, 16, 3).transpose(1, 0, 2, 3).copy()


def _join_cells(cells: Pictures) -> Pictures:
    """Return grids as pictures, (n, H * h, W * w, 3).

    Parameters
    ----------
    cells : (n, H, W, h, w, 3) uint8
    """
    n, rows, columns, height, width, _ = cells.shape
    pictures = cells.transpose(0, 1, 3, 2, 4, 5)
    return pictures.reshape(n, rows * height, columns * width, 3)


@cache
def _lake_tiles(shape: tuple[int, int]) -> LakeTiles:
    return LakeTiles(shape)


class LakeTiles:
    """Gymnasium's pictures of the cells of lakes, for maps of one shape.

    Its FrozenLake-v1 draws them, in the version that is installed: they depend on the
    place of a cell, and the player's may depend on the last action.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns of the maps.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

        self._shape = shape
        rows, columns = shape
        # Draws maps of one letter.
        desc = ["S" * columns] * rows
        self._lake: Any = FrozenLakeEnv(desc=desc, render_mode="rgb_array")
        self._frame_shape: tuple[int, ...] = ()
        # By letter, row and column; and the player's, as they are needed.
        self._cells = np.stack([self._draw_empty(letter) for letter in _LETTERS])
        self._players: dict[tuple[int, int, int, int | None], Pictures] = {}

    def _draw(self, letter: bytes, cell: int, direction: int | None) -> Pictures:
        """Return the cells of a map of one letter, with the player on one of them."""
        lake = self._lake
        with _drawing:
            lake.desc = np.full(self._shape, letter)
            lake.s, lake.lastaction = cell, direction
            frame = lake.render()
        self._frame_shape = frame.shape
        rows, columns = self._shape
        height, width = frame.shape[0] // rows, frame.shape[1] // columns
        # Where the cells are not all of the frame, the rest is black.
        frame = frame[: rows * height, : columns * width]
        cells: Pictures = frame.reshape(rows, height, columns, width, 3)
        return cells.transpose(0, 2, 1, 3, 4)

    def _draw_empty(self, letter: bytes) -> Pictures:
        """Return the cells of a map of one letter, without the player."""
        cells = self._draw(letter, 0, None).copy()
        other = self._draw(letter, self._shape[0] * self._shape[1] - 1, None)
        cells[0, 0] = other[0, 0]
        return cells

    def paint(
        self, codes: Pictures, starts: NDArray[np.bool_], direction: int | None
    ) -> Pictures:
        """Return a lake as Gymnasium draws it, (height, width, 3).

        Parameters
        ----------
        codes : (H, W) uint8
            The cell codes of our lakes.
        starts : (H, W) bool
            The start cells.
        direction : int or None
            The last action.
        """
        letters = np.where(starts, _START, _LETTER_OF[codes])
        rows, columns = np.indices(self._shape)
        cells = self._cells[letters, rows, columns]
        row, column = np.argwhere(_HAS_PLAYER[codes])[0].tolist()
        letter = int(letters[row, column])
        key = letter, row, column, direction
        if key not in self._players:
            cell = row * self._shape[1] + column
            player = self._draw(_LETTERS[letter], cell, direction)[row, column]
            self._players[key] = player.copy()
        cells[row, column] = self._players[key]
        frame = np.zeros(self._frame_shape, np.uint8)
        picture = _join_cells(cells[np.newaxis])[0]
        frame[: picture.shape[0], : picture.shape[1]] = picture
        return frame
