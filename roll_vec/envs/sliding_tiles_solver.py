"""Fewest moves that solve a board of sliding tiles."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import SolverLimitError
from roll_vec.kernels.sliding_tiles import find_solution, measure_pattern

# By size: the patterns of the tiles from 1 on.
_PATTERNS = {
    2: "aaa",
    3: "aaabbabb",
    4: "aaabaabbccbbccc",
    5: "aabbcaabbcddeecddeecffff",
}
# Some 10 seconds.  Boards of 5x5 get there after some 60 shuffles.
MAX_NODES = 200_000_000
# No board of 4x4 needs more than 80 moves, and none of 5x5 more than 208.
_MAX_MOVES = 256


@functools.lru_cache(maxsize=4)
def _load_tables(
    size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Return the patterns, weights and tables of `find_solution`."""
    num_cells, names = size * size, _PATTERNS[size]
    groups = [
        [tile for tile, each in enumerate(names, 1) if each == name]
        for name in sorted(set(names))
    ]
    length = max(map(len, groups))
    patterns, weights = np.zeros((2, num_cells), np.int64)
    tables = np.full((len(groups), num_cells**length), 255, np.uint8)
    # Two states for each placing: few tiles leave more than one area.
    queue = np.empty((2 * num_cells**length, 2), np.int64)
    for number, tiles in enumerate(groups):
        patterns[tiles] = number
        weights[tiles] = num_cells ** np.arange(len(tiles))
        areas = np.zeros(num_cells ** len(tiles), np.int64)
        measure_pattern(np.array(tiles), size, queue, areas, tables[number])
    return patterns, weights, tables


def solve_board(board: NDArray[np.uint8]) -> list[int]:
    """Return the fewest actions that solve a board.

    Parameters
    ----------
    board : (n, n) uint8
        A board that can be solved; 0 is the empty cell.

    Raises
    ------
    SolverLimitError
        After `MAX_NODES` moves of the search.
    """
    size = len(board)
    patterns, weights, tables = _load_tables(size)
    scratch = np.empty(2 * len(tables) + 3 * _MAX_MOVES, np.int64)
    actions = np.empty(_MAX_MOVES, np.int64)
    cells = board.ravel().astype(np.int64)
    arguments = patterns, weights, tables, MAX_NODES, scratch, actions
    num_moves = find_solution(cells, size, *arguments)
    if num_moves < 0:
        message = f"the search for a solution gave up after {MAX_NODES} moves"
        raise SolverLimitError(message)
    result: list[int] = actions[:num_moves].tolist()
    return result
