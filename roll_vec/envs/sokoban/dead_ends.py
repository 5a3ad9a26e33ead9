"""The test for dead ends of Sokoban on arrays of rooms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.row_threads import for_row_ranges
from roll_vec.kernels.sokoban.bitboards import words_of
from roll_vec.kernels.sokoban.deadlocks import mark_deadlocks as mark_rows

# A room takes about 100 ns, and handing work to a thread 20 to 130 us.
_ROOMS_PER_THREAD = 1 << 11


def mark_deadlocks(grids: NDArray[np.uint8], num_threads: int = 1) -> NDArray[np.bool_]:
    """Return the rooms that surely have no solution; others may have none as well.

    Parameters
    ----------
    grids : (m, H, W) uint8
        Codes of `roll_vec.kernels.sokoban.rules`.
    num_threads : int

    Returns
    -------
    (m,) bool
        See `roll_vec.kernels.sokoban.deadlocks`.  No room of more than 1024 inner cells
        is looked at.
    """
    num_rooms, height, width = grids.shape
    cells, words = grids.reshape(num_rooms, -1), words_of(height, width)
    result = np.zeros(num_rooms, np.bool_)
    if words is not None:
        args = cells, height, width, words, result
        for_row_ranges(mark_rows, num_rooms, num_threads, _ROOMS_PER_THREAD, args=args)
    return result
