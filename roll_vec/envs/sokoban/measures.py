"""The difficulty of Sokoban rooms, and the return of their solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.sokoban.solver import measure_rooms, solve_rooms
from roll_vec.kernels.sokoban import rules as kernels


def measure_levels(
    options: Any, num_threads: int, levels: tuple[NDArray[Any], ...]
) -> tuple[NDArray[Any], ...]:
    """Return the measures of rooms, for `roll_vec.arrays.bands.Measure`.

    They are the two of `measure_rooms`, (m,) int32 each, and with
    ``oracle_return_info`` that of `return_of_solutions`.
    """
    (grids,) = levels
    lengths = measure_rooms(grids, num_threads=num_threads)
    if not options.oracle_return_info:
        return lengths
    return *lengths, return_of_solutions(grids, num_threads)


def return_of_solutions(
    grids: NDArray[np.uint8], num_threads: int = 1
) -> NDArray[np.float64]:
    """Return the sum of rewards of the solution of `solve_rooms` with fewest moves.

    The rewards are added in the order of the steps.

    Parameters
    ----------
    grids : (m, H, W) uint8
    num_threads : int

    Returns
    -------
    (m,) float64
        NaN without a solution, and if the solver gave up.
    """
    solutions = solve_rooms(grids, num_threads=num_threads)
    returns = np.full(len(grids), np.nan)
    rows = [j for j, result in enumerate(solutions) if result.directions is not None]
    paths = [result.directions for result in solutions if result.directions is not None]
    if rows:
        rooms = grids[rows].reshape(len(rows), -1)
        sums = np.zeros(len(rows))
        ends = np.cumsum([len(path) for path in paths])
        directions = np.concatenate(paths)
        kernels.sum_rewards(grids.shape[2], rooms, directions, ends, sums)
        returns[rows] = sums
    return returns
