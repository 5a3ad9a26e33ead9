"""Grids of cell codes as observations and as frames, in batches and one alone.

A new observation mode is an entry in `ARRAY_MODES`; options, spaces, steps and unrolls
read it there.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space
from numpy.typing import NDArray

from roll_vec.arrays.grid_family import ArrayMode
from roll_vec.kernels import grids as kernels
from roll_vec.kernels._jit import allow_overflow
from roll_vec.render.ansi import colour_grid
from roll_vec.render.mosaic import upscale
from roll_vec.row_threads import for_row_ranges
from roll_vec.spaces import UnicodeText

Grids = NDArray[np.uint8]

_NEWLINE = np.uint32(ord("\n"))
# The smallest part of observations that is left to another thread.  On two cores two
# threads write 2 MB of planes as fast as one, 2 MB of pictures 1.3 times as fast.
BYTES_PER_THREAD = 1 << 20


ARRAY_MODES = {
    "grid": ArrayMode("the code of each cell", lambda _, h, w, _s: (h, w), None, None),
    "planes": ArrayMode(
        "a plane for each code: 1 where it is",
        lambda c, h, w, _s: (c, h, w),
        1,
        kernels.write_planes,
    ),
    "tiny_rgb": ArrayMode(
        "a pixel for each cell",
        lambda _, h, w, _s: (h, w, 3),
        255,
        kernels.write_pixels,
        "pixels",
    ),
    "rgb": ArrayMode(
        "a square tile for each cell",
        lambda _, h, w, s: (s * h, s * w, 3),
        255,
        kernels.write_tiles,
        "tiles",
    ),
}
# The contents of an observation by mode.
OBS_MODES = {
    **{name: mode.meaning for name, mode in ARRAY_MODES.items()},
    "text": "the glyphs, a line for each row",
}


class GridObserver:
    """Turns the grids of one environment or batch into observations and frames.

    Parameters
    ----------
    options : GridEnv
        Gives the family, the shape of a grid, the glyphs and the observation mode.
        With a mode that only the game itself knows, grids are observed as codes.
    num_threads : int

    Attributes
    ----------
    shape : (int, int)
        Height and width of a grid.
    obs_mode : str
        One of `OBS_MODES`, or of the family's modes.
    space : gymnasium.spaces.Space
        Of a single observation.
    """

    def __init__(self, options: Any, num_threads: int = 1) -> None:
        self.options, self.num_threads = options, num_threads
        self.shape: tuple[int, int] = options.grid_shape
        modes = {**ARRAY_MODES, **options.FAMILY.more_modes}
        is_known = options.obs_mode in (*modes, "text")
        self.obs_mode = options.obs_mode if is_known else "grid"
        codes = range(options.FAMILY.num_codes)
        glyphs = [options.grid_lookup.get(code, "?") for code in codes]
        # numpy pads the shorter ones with the code point 0.
        self._code_points = np.array(glyphs).view(np.uint32).reshape(len(glyphs), -1)
        self._glyph_length, shortest = self._code_points.shape[1], min(map(len, glyphs))
        self._has_padding = shortest < self._glyph_length
        sizes = len(codes), *self.shape, options.FAMILY.tiles.shape[1]
        self._shapes = {name: mode.shape(*sizes) for name, mode in modes.items()}
        self.space: Space[Any]
        if not is_known:
            self.space = options.observation_space
        elif self.obs_mode == "text":
            min_length = self._text_length(shortest)
            max_length = self._text_length(self._glyph_length)
            self.space = UnicodeText(max_length, min_length=min_length)
        else:
            highest = modes[self.obs_mode].highest
            highest = len(codes) - 1 if highest is None else highest
            self.space = Box(0, highest, self._shapes[self.obs_mode], np.uint8)

    def _text_length(self, glyph_length: int) -> int:
        height, width = self.shape
        return height * (width * glyph_length + 1) - 1

    def observe(
        self, codes: NDArray[np.uint8], shape: tuple[int, ...], out: Any = None
    ) -> Any:
        """Return the observations of a batch, or of T steps of it.

        Parameters
        ----------
        codes : (n, ...) or (T * n, ...) uint8
            In the mode ``grid`` the result is a view of them.
        shape : (n,) or (T, n)
        out : array or None
            An earlier result to be written again; strings are always new.

        Returns
        -------
        (*shape, ...) uint8 array, or a tuple of n str, or of T such tuples
        """
        grids = codes.reshape(-1, *self.shape)
        if self.obs_mode == "text":
            texts = self._texts(grids)
            if len(shape) == 1:
                return texts
            num_steps, n = shape
            return tuple(texts[t * n : (t + 1) * n] for t in range(num_steps))
        observations = grids
        is_written = out is None or np.may_share_memory(out, codes)
        if self.obs_mode != "grid" or not is_written:
            if out is not None:
                out = out.reshape(len(grids), *out.shape[len(shape) :])
            observations = self._array(grids, self.obs_mode, out)
        return observations.reshape(*shape, *observations.shape[1:])

    def _array(self, grids: Grids, obs_mode: str, out: Any = None) -> Any:
        # Of the class: an unpickled table could be written, and kernels are compiled
        # anew for it.  Functions are never pickled.
        family = self.options.FAMILY
        mode = family.more_modes.get(obs_mode) or ARRAY_MODES[obs_mode]
        if out is None:
            out = np.empty((len(grids), *self._shapes[obs_mode]), np.uint8)
        if mode.write is None:
            np.copyto(out, grids)
        else:
            tables = () if mode.table is None else (getattr(family, mode.table),)
            self._write(mode.write, grids, *tables, out)
        return out

    @allow_overflow
    def _write(self, write: Any, grids: Grids, *arguments: Any) -> None:
        """Call a kernel on all grids, whose last argument is the array that it writes.

        It runs on several threads if there is much to write.
        """
        n, num_bytes = len(grids), arguments[-1].nbytes
        if num_bytes < 2 * BYTES_PER_THREAD or self.num_threads == 1:
            write(0, n, grids, *arguments)
            return
        rows = max(BYTES_PER_THREAD * n // num_bytes, 1)
        for_row_ranges(write, n, self.num_threads, rows, args=(grids, *arguments))

    def _texts(self, grids: Grids) -> tuple[str, ...]:
        length, table = self._text_length(self._glyph_length), self._code_points
        points = np.empty((len(grids), length), np.uint32)
        self._write(kernels.write_code_points, grids, table, _NEWLINE, points)
        strings = points.view(f"U{length}")[:, 0].tolist()
        if self._has_padding:
            strings = [text.replace("\0", "") for text in strings]
        return tuple(strings)

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
            frames = tuple(self._array(grids, "rgb"))
            if scale == 1:
                return frames
            return tuple(upscale(frame, scale) for frame in frames)
        if mode == "text":
            return self._texts(grids)
        lookup, colours = self.options.grid_lookup, self.options.FAMILY.colours
        coloured = not os.environ.get("NO_COLOR")
        return tuple(
            colour_grid(grid, lookup, colours, colour=coloured) for grid in grids
        )
