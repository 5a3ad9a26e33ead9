"""Grids of codes as observations and as frames, in batches and for one alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from gymnasium.spaces import Box, Space
from numpy.typing import NDArray

from roll_vec.kernels import grids as kernels
from roll_vec.render.mosaic import upscale
from roll_vec.spaces import UnicodeText
from roll_vec.stacked.row_threads import for_row_ranges

__all__ = ["GridObserver"]

Grids = NDArray[np.uint8]
Family = Literal["sokoban", "frozen_lake"]

# Below these sizes a second thread costs more than it saves.
_CELLS_PER_THREAD = 1 << 19
_NEWLINE = np.uint32(ord("\n"))


class GridObserver:
    """How one family's grids are shown.

    Parameters
    ----------
    family : "sokoban" or "frozen_lake"
        Whose tiles and colours.
    shape : (H, W)
    num_codes : int
    lookup : dict from code to characters
        ROLL's ``grid_lookup``; ``"?"`` for a code it lacks.
    obs_mode : str
        ``grid``, ``planes``, ``tiny_rgb``, ``rgb`` or ``text``.
    num_threads : int

    Attributes
    ----------
    space : gymnasium.spaces.Space
        Of a single observation.
    """

    def __init__(
        self,
        family: Family,
        shape: tuple[int, int],
        num_codes: int,
        lookup: Mapping[int, str],
        obs_mode: str,
        num_threads: int = 1,
    ) -> None:
        self.family, self.shape, self.num_codes = family, shape, num_codes
        self.lookup, self.obs_mode, self.num_threads = lookup, obs_mode, num_threads
        strings = [lookup.get(code, "?") for code in range(num_codes)]
        self._pad = max(map(len, strings))
        self._padded = len(set(map(len, strings))) > 1
        self._code_points = np.array(
            [[ord(c) for c in text.ljust(self._pad, "\0")] for text in strings],
            np.uint32,
        )
        height, width = shape
        self.space: Space[Any]
        if obs_mode == "text":
            shortest, longest = min(map(len, strings)), self._pad
            self.space = UnicodeText(
                height * (width * longest + 1) - 1,
                min_length=height * (width * shortest + 1) - 1,
                alphabet="".join(dict.fromkeys("".join([*strings, "\n"]))),
            )
        else:
            highest = {"grid": num_codes - 1, "planes": 1}.get(obs_mode, 255)
            self.space = Box(0, highest, self._array_shape(obs_mode), np.uint8)

    def _array_shape(self, mode: str) -> tuple[int, ...]:
        height, width = self.shape
        size = self._tiles().shape[1] if mode == "rgb" else 1
        return {
            "grid": (height, width),
            "planes": (self.num_codes, height, width),
            "tiny_rgb": (height, width, 3),
            "rgb": (size * height, size * width, 3),
        }[mode]

    def _tiles(self) -> NDArray[np.uint8]:
        from roll_vec.render import tiles

        return {
            "sokoban": tiles.SOKOBAN_TILES,
            "frozen_lake": tiles.FROZEN_LAKE_TILES,
        }[self.family]

    def _colours(self) -> NDArray[np.uint8]:
        from roll_vec.render import tiles

        return {
            "sokoban": tiles.SOKOBAN_TINY,
            "frozen_lake": tiles.FROZEN_LAKE_TINY,
        }[self.family]

    def observe(self, grids: Grids, out: Any = None) -> Any:
        """Return the observations of a batch of grids.

        Parameters
        ----------
        grids : (n, H, W) uint8
        out : array or None
            An earlier result to be written again; strings are always new.

        Returns
        -------
        (n, ...) uint8 array, or a tuple of n str
        """
        return self._show(grids, self.obs_mode, out)

    def _show(self, grids: Grids, mode: str, out: Any = None) -> Any:
        if mode == "text":
            return self._texts(grids)
        if mode == "grid":
            if out is None:
                return grids.copy()
            np.copyto(out, grids)
            return out
        if out is None:
            out = np.empty((len(grids), *self._array_shape(mode)), np.uint8)
        if mode == "planes":
            self._run(grids, lambda a, b: kernels.write_planes(a, b, grids, out))
        elif mode == "tiny_rgb":
            table = self._colours()
            self._run(grids, lambda a, b: kernels.write_pixels(a, b, grids, table, out))
        else:
            table = self._tiles()
            self._run(grids, lambda a, b: kernels.write_tiles(a, b, grids, table, out))
        return out

    def _texts(self, grids: Grids) -> tuple[str, ...]:
        height, width = self.shape
        length = height * (width * self._pad + 1) - 1
        points = np.empty((len(grids), length), np.uint32)
        table = self._code_points
        self._run(
            grids,
            lambda a, b: kernels.write_code_points(
                a, b, grids, table, _NEWLINE, points
            ),
        )
        texts = points.view(
            f"<U{length}" if sys.byteorder == "little" else f">U{length}"
        )
        strings = texts[:, 0].tolist()
        if self._padded:
            strings = [text.replace("\0", "") for text in strings]
        return tuple(strings)

    def _run(self, grids: Grids, work: Any) -> None:
        cells = self.shape[0] * self.shape[1]
        rows_per_thread = max(1, _CELLS_PER_THREAD // cells)
        for_row_ranges(work, len(grids), self.num_threads, rows_per_thread)

    def observe_one(self, grid: Grids) -> Any:
        """Return the observation of one (H, W) grid: an own array, or a str."""
        return self.observe(grid[np.newaxis])[0]

    def frames(self, grids: Grids, mode: str, scale: int = 1) -> tuple[Any, ...]:
        """Return a frame of each grid.

        Parameters
        ----------
        grids : (n, H, W) uint8
        mode : str
            ``rgb_array``, or ``text`` (the characters alone), or ``ansi`` (coloured,
            unless the variable NO_COLOR is set).
        scale : int
            Every pixel of ``rgb_array`` becomes a square of this side.
        """
        if mode == "rgb_array":
            frames = tuple(self._show(grids, "rgb"))
            if scale == 1:
                return frames
            return tuple(upscale(frame, scale) for frame in frames)
        if mode == "text":
            return self._texts(grids)
        from roll_vec.render import ansi

        colours = {
            "sokoban": ansi.SOKOBAN_COLOURS,
            "frozen_lake": ansi.FROZEN_LAKE_COLOURS,
        }[self.family]
        coloured = not os.environ.get("NO_COLOR")
        return tuple(
            ansi.colour_board(grid, self.lookup, colours, colour=coloured)
            for grid in grids
        )
