"""Solve frozen lakes exactly: the fewest moves, or the best policy on slippery ice.

Step limits do not count: a chance is that of ever reaching a goal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.advantages import compare_moves
from roll_vec.envs.frozen_lake.maps import tiles_below
from roll_vec.errors import InvalidOptionError, SolverLimitError
from roll_vec.kernels.frozen_lake import moves, solver
from roll_vec.options import check_choice
from roll_vec.row_threads import SliceSizer, for_row_ranges

__all__ = ["measure_maps", "solve_positions"]

OBJECTIVES = ("moves",)

# On slippery ice, rows * columns**2 of a map: 161 x 161 cells take seconds and 70 MB
# in each thread.
MAX_LINKS = 1 << 22
# A map takes 1 us or more.
_MAPS_PER_THREAD = 64


class LakeSolution(NamedTuple):
    """The best play on slippery ice, from every cell.

    Attributes
    ----------
    policy : (H * W,) int64
        The action to take in each cell, in the environment's own numbering.
        Of all policies with the highest chances it has the fewest expected steps, and
        of those the lowest actions.  In holes, on goals and where no goal can be
        reached it has the first action.
    value : float
        The highest chance ever to reach a goal from the present cell.
    values : (H * W,) float64
        The same from each cell.
    first_action : int or None
        The action of the present cell; None: the goal is never reached from there, or
        the episode is over.
    """

    policy: NDArray[np.int64]
    value: float
    values: NDArray[np.float64]
    first_action: int | None


class LakeSolver:
    """Solves maps of one size with one table of slips.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    slip : (2, 3) float64
        See `roll_vec.kernels.frozen_lake.moves.make_slip`.
    num_threads : int

    Attributes
    ----------
    is_slippery : bool
        Whether a move may end elsewhere than it was meant to.
    """

    def __init__(
        self, shape: tuple[int, int], slip: NDArray[np.float64], num_threads: int = 1
    ) -> None:
        self.shape, self.slip, self.num_threads = shape, slip, num_threads
        self.neighbours = moves.make_neighbours(*shape)
        self.is_slippery = bool(slip[0, 1] < 1.0)

    def solve(self, maps: NDArray[np.uint8], saves_steps: bool = True) -> solver.Lakes:
        """Solve some maps, each (H * W,) uint8 tile codes in a row of ``maps``.

        Parameters
        ----------
        maps : (n, H * W) uint8
        saves_steps : bool
            False: the policies may take more steps than they need, for the same
            values in less time.

        Raises
        ------
        SolverLimitError
            The solution would take too much time and memory.
        """
        height, width = self.shape
        if self.is_slippery and height * width**2 > MAX_LINKS:
            message = (
                "solve: slippery lakes are solved up to rows * columns**2 = "
                f"{MAX_LINKS}, such as 161 x 161, got {height} x {width}"
            )
            raise SolverLimitError(message)
        num_maps, num_cells = maps.shape
        neighbours, distances = self.neighbours, np.empty(maps.shape, np.int32)
        results = distances, *np.empty((2, *maps.shape)), np.empty(maps.shape, np.int64)
        lakes = solver.Lakes(maps, neighbours, self.slip, *results)

        def measure(start: int, stop: int) -> None:
            frontier = np.empty(num_cells, np.int64)
            solver.measure_distances(start, stop, maps, neighbours, frontier, distances)

        def solve(start: int, stop: int) -> None:
            # The items of `SolverWorkspace`.
            workspace = (
                *np.empty((3, num_cells), np.int64),
                np.empty((num_cells, 2 * width + 1)),
                *np.empty((4, num_cells)),
                np.empty(num_cells, np.int64),
            )
            solver.solve_maps(start, stop, saves_steps, tuple(lakes), workspace)

        split = self.num_threads, _MAPS_PER_THREAD, SliceSizer("maps")
        for_row_ranges(solve if self.is_slippery else measure, num_maps, *split)
        if self.is_slippery:
            return lakes
        ahead = distances[:, neighbours[:, :4]]
        return lakes._replace(
            values=(distances >= 0).astype(np.float64),
            steps=np.maximum(distances, 0).astype(np.float64),
            policies=(ahead == distances[:, :, np.newaxis] - 1).argmax(axis=2),
        )


def tabulate_advantages(
    maps: NDArray[np.uint8], shape: tuple[int, int], slip: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the advantages of actions in the cells of some maps.

    Parameters
    ----------
    maps : (n, H * W) uint8
        Tile codes.
    shape : (int, int)
        H, W.
    slip : (2, 3) float64
        See `roll_vec.kernels.frozen_lake.moves.make_slip`.

    Returns
    -------
    (n, H * W, 5) float64
        In the chance to reach a goal on slippery ice, else in moves.  The last column
        is no valid action, that of index -1.  NaN for maps that are too large.
    """
    result = np.full((*maps.shape, 5), np.nan)
    lake_solver = LakeSolver(shape, slip)
    try:
        solutions = lake_solver.solve(maps, saves_steps=False)
    except SolverLimitError:
        return result
    directions = range(4)
    if lake_solver.is_slippery:
        values = solutions.values[:, :, np.newaxis]
        result[:] = -values
        for outcome in range(3):
            turns = [moves.turn(direction, outcome) for direction in directions]
            cells = lake_solver.neighbours[:, turns]
            result[:, :, :-1] += slip[0, outcome] * solutions.values[:, cells]
        result[:, :, -1] = 0.0
        # The last digits of values are not exact.
        result = np.minimum(result.round(12), 0.0)
    else:
        distances = np.where(solutions.distances < 0, np.inf, solutions.distances)
        cells = lake_solver.neighbours[:, [*directions, moves.STAY]]
        result = compare_moves(distances[:, :, np.newaxis], distances[:, cells])
    result[maps != moves.ICE] = 0.0
    return result + 0.0


def measure_maps(
    maps: NDArray[np.uint8],
    starts: NDArray[np.int64],
    *,
    is_slippery: bool = True,
    success_rate: float = 1.0 / 3.0,
    num_threads: int = 1,
) -> NDArray[np.float64]:
    """Return the highest chance ever to reach a goal of each map, from its start.

    Parameters
    ----------
    maps : (m, H, W) uint8
        Tile codes of `roll_vec.kernels.frozen_lake.moves`: 1 ice, 2 hole, 3 goal.
    starts : (m,) int64
        Start cells, row * W + column.
    is_slippery : bool
    success_rate : float
        Chance of moving in the direction chosen, if the ice is slippery.
    num_threads : int

    Returns
    -------
    (m,) float64
        Without slips 1 with a way to a goal, else 0.

    Raises
    ------
    SolverLimitError
        For slippery maps of more than rows * columns**2 = `MAX_LINKS`.
    """
    slip = moves.make_slip(is_slippery, success_rate)
    lake_solver = LakeSolver(maps.shape[1:], slip, num_threads)
    solutions = lake_solver.solve(maps.reshape(len(maps), -1), saves_steps=False)
    values: NDArray[np.float64] = solutions.values[np.arange(len(maps)), starts]
    return values


def solve_positions(
    engine: Any, env_ids: NDArray[np.int64], objective: str
) -> list[Any]:
    """Return the best play of each of some environments from its present cell.

    Equal maps are solved once.

    Parameters
    ----------
    engine : ArrayEngine
    env_ids : (m,) int64
    objective : str
        ``moves``.

    Returns
    -------
    list of m
        `LakeSolution` on slippery ice.  Without slips the fewest moves to a goal, (k,)
        int64, or None where there is no way.

    Raises
    ------
    InvalidOptionError, SolverLimitError
    """
    if objective == "pushes":
        accepted = "'moves': nothing is pushed on a frozen lake"
        raise InvalidOptionError.expected("objective", accepted, objective)
    check_choice("objective", objective, OBJECTIVES)
    options, variables = engine.options, engine.named_variables()
    lake_solver = LakeSolver(options.grid_shape, options.slip, engine.num_threads)
    positions, first_action = variables["position"][env_ids], engine.first_action
    indices = np.zeros(len(positions), np.int64)
    if "grid" in variables:
        maps = tiles_below(variables["grid"][env_ids]).reshape(len(env_ids), -1)
        maps, indices = np.unique(maps, axis=0, return_inverse=True)
    else:
        maps = options.board.reshape(1, -1)
    solutions = lake_solver.solve(np.ascontiguousarray(maps))
    indices, policies = indices.reshape(-1), solutions.policies + first_action
    if not lake_solver.is_slippery:
        return _walk(lake_solver, solutions, indices, positions, first_action)
    for array in (policies, solutions.values):
        # Environments with the same map share them.
        array.flags.writeable = False
    values, actions = solutions.values[indices, positions], policies[indices, positions]
    has_action = (values > 0.0) & (maps[indices, positions] == moves.ICE)
    return [
        LakeSolution(
            policies[k], value, solutions.values[k], action if has_one else None
        )
        for k, value, action, has_one in zip(
            indices.tolist(),
            values.tolist(),
            actions.tolist(),
            has_action.tolist(),
            strict=True,
        )
    ]


def _walk(
    lake_solver: LakeSolver,
    solutions: solver.Lakes,
    indices: NDArray[np.int64],
    positions: NDArray[np.int64],
    first_action: int,
) -> list[NDArray[np.int64] | None]:
    """Return the moves of policies on maps without slips, None without a way."""
    num_moves = solutions.distances[indices, positions]
    moves = np.empty((len(positions), max(num_moves.max(initial=0), 0)), np.int64)
    for step in range(moves.shape[1]):
        directions = solutions.policies[indices, positions]
        moves[:, step] = directions + first_action
        positions = lake_solver.neighbours[positions, directions]
    return [
        None if count < 0 else row[:count].copy()
        for row, count in zip(moves, num_moves.tolist(), strict=True)
    ]
