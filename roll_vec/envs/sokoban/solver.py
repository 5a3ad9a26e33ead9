"""Solutions of Sokoban rooms: fewest moves, fewest pushes, or none; dead ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidOptionError,
    SolverLimitError,
    list_env_ids,
)
from roll_vec.kernels.sokoban import moves, solver
from roll_vec.kernels.sokoban.cell_sets import words_of
from roll_vec.kernels.sokoban.deadlocks import mark_deadlocks as mark_rows
from roll_vec.options import check_choice, check_int
from roll_vec.row_threads import SliceSizer, ThreadScratch, for_row_ranges
from roll_vec.vector.attributes import OBJECTIVES

__all__ = ["measure_rooms", "solve_positions", "solve_rooms"]

STATUSES = ("solved", "unsolvable", "gave up")
# The length that `measure_rooms` returns for a room without a solution.
NO_SOLUTION = -1
# The same for a room whose search gave up.
GAVE_UP = -2

# A search that needs more states gives up.  One takes 20 to 45 bytes in rooms whose
# inner cells are at most 64, all up to 10x10 among them; in larger ones as many, and 3
# bits a cell.
MAX_STATES = 10_000_000
# A search that needs more memory than this gives up as well.
_MAX_BYTES = 1 << 31
# The states, and the directions of solutions, of a first workspace.  They grow by
# these factors, and the search of a room begins anew.
_FIRST_STATES, _STATES_GROWTH = 1 << 16, 4
_FIRST_DIRECTIONS, _DIRECTIONS_GROWTH = 1 << 16, 16
# A room of 6x6 takes some 2 us, and handing work to a thread 20 to 130.
_ROOMS_PER_THREAD = 64
# A test for dead ends takes about 100 ns.
_MARKS_PER_THREAD = 1 << 11

_scratch = ThreadScratch()


class RoomSolution(NamedTuple):
    """The result of a search for the solution of one room.

    Attributes
    ----------
    directions : (num_moves,) int8 or None
        0 up, 1 down, 2 left, 3 right, one for each move; None without a solution.
    num_pushes : int
        The moves that push a box; 0 without a solution.
    status : str
        ``solved``, ``unsolvable`` or ``gave up``.
    """

    directions: NDArray[np.int8] | None
    num_pushes: int
    status: str


class _Results(NamedTuple):
    """Arrays with an item for each room; see `solver.solve_rows`."""

    statuses: NDArray[np.int8]
    num_moves: NDArray[np.int32]
    num_pushes: NDArray[np.int32]
    ends: NDArray[np.int64]


def _search(
    grids: NDArray[np.uint8],
    objective: str,
    max_states: int,
    num_threads: int,
    add_paths: Callable[[int, NDArray[np.int64], NDArray[np.int8]], object],
) -> _Results:
    """Solve rooms; call ``add_paths`` for ranges of them, possibly on other threads.

    ``add_paths(start, ends, paths)`` gets the first row of a range, the ends of the
    directions of its rooms, and the directions, which are written over afterwards.
    """
    num_rooms, height, width = grids.shape
    flat = np.ascontiguousarray(grids).reshape(num_rooms, height * width)
    num_moves, num_pushes = np.zeros((2, num_rooms), np.int32)
    statuses, ends = np.zeros(num_rooms, np.int8), np.zeros(num_rooms, np.int64)
    results = _Results(statuses, num_moves, num_pushes, ends)
    number, words = OBJECTIVES.index(objective), words_of(height, width)
    if words is None:
        results.statuses[:] = solver.GAVE_UP
        return results

    rooms = flat, height, width, words, number, max_states

    def work(start: int, stop: int) -> None:
        first = height, width, _FIRST_STATES, _FIRST_DIRECTIONS
        key = first
        while start < stop:
            workspace = _scratch.get(solver.make_workspace, *key)
            row, reason = solver.solve_rows(
                start, stop, *rooms, workspace, tuple(results)
            )
            add_paths(start, results.ends[start:row], workspace.paths)
            is_first, start = row == start, row
            *_, num_states, num_directions = key
            if reason == solver.NEEDS_PATHS and is_first:
                key = (*key[:3], num_directions * _DIRECTIONS_GROWTH)
            elif reason == solver.NEEDS_SPACE:
                num_bytes = sum(array.nbytes for array in workspace)
                if num_bytes * _STATES_GROWTH <= _MAX_BYTES:
                    key = height, width, num_states * _STATES_GROWTH, num_directions
                else:
                    results.statuses[start] = solver.GAVE_UP
                    start += 1
            # The larger arrays take its place.
            workspace = None
        # Large ones are not kept.
        _scratch.get(solver.make_workspace, *first)

    slices = SliceSizer("rooms")
    for_row_ranges(work, num_rooms, num_threads, _ROOMS_PER_THREAD, slices)
    return results


def _check_rooms(grids: Any) -> NDArray[np.uint8]:
    """Return rooms that the search can read, (m, H, W) uint8."""
    accepted = "rooms as an array (m, H, W) of uint8, at least 3 rows and columns each"
    if not isinstance(grids, np.ndarray) or grids.dtype != np.uint8:
        raise InvalidOptionError.expected("grids", accepted, grids)
    if grids.ndim != 3 or min(grids.shape[1:]) < 3:
        shape = f"grids: expected {accepted}, got shape {grids.shape}"
        raise InvalidOptionError(shape)
    num_players = (grids >= moves.PLAYER).sum(axis=(1, 2))
    border = grids.copy()
    border[:, 1:-1, 1:-1] = moves.WALL
    faults = {
        "codes from 0 to 6": (grids >= moves.NUM_CODES).any(axis=(1, 2)),
        "exactly one player": num_players != 1,
        "wall all around": (border != moves.WALL).any(axis=(1, 2)),
    }
    for accepted, has_fault in faults.items():
        if has_fault.any():
            room = int(has_fault.argmax())
            name = f"grids[{room}]"
            raise InvalidOptionError.expected(name, accepted, grids[room].tolist())
    return grids


def solve_rooms(
    grids: NDArray[np.uint8],
    objective: str = "moves",
    *,
    max_states: int = MAX_STATES,
    num_threads: int = 1,
) -> list[RoomSolution]:
    """Return a best solution of each room, from any position.

    Parameters
    ----------
    grids : (m, H, W) uint8
        Codes of `roll_vec.kernels.sokoban.moves`; the border is wall, and each room has
        one player.
    objective : str
        ``moves``: no solution has fewer moves.  ``pushes``: no solution has fewer
        pushes; from push to push the player takes a shortest way, but another solution
        with as many pushes may have fewer moves.
    max_states : int
        The search of a room gives up when it needs more states, each of which is a set
        of positions; also when it needs more than 2 GiB, or with more than 1024 inner
        cells.
    num_threads : int
        The solutions do not depend on it.

    Raises
    ------
    InvalidOptionError

    Notes
    -----
    A solution leaves no box beside the targets, so that one of a solved room is empty.
    Of several best solutions the same one is returned at any time.
    """
    grids = _check_rooms(grids)
    check_choice("objective", objective, OBJECTIVES)
    max_states = check_int("max_states", max_states, 1)
    paths: list[NDArray[np.int8] | None] = [None] * len(grids)

    def add_paths(
        start: int, ends: NDArray[np.int64], directions: NDArray[np.int8]
    ) -> None:
        # One copy for all rooms; each solution is a view of its part.
        stops = ends.tolist()
        directions = directions[: max(stops, default=0)].copy()
        parts = map(slice, [0, *stops[:-1]], stops)
        paths[start : start + len(stops)] = map(directions.__getitem__, parts)

    results = _search(grids, objective, max_states, num_threads, add_paths)
    for row in np.flatnonzero(results.statuses != solver.SOLVED).tolist():
        paths[row] = None
    statuses = map(STATUSES.__getitem__, results.statuses.tolist())
    return list(map(RoomSolution, paths, results.num_pushes.tolist(), statuses))


def measure_rooms(
    grids: NDArray[np.uint8],
    *,
    max_states: int = MAX_STATES,
    num_threads: int = 1,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the fewest moves and the fewest pushes that solve each room.

    The two usually belong to two solutions.

    Parameters
    ----------
    grids, max_states, num_threads
        See `solve_rooms`.

    Returns
    -------
    num_moves, num_pushes : (m,) int32
        -1 (`NO_SOLUTION`) without a solution, -2 (`GAVE_UP`) if the search gave up.

    Raises
    ------
    InvalidOptionError
    """
    grids = _check_rooms(grids)
    max_states = check_int("max_states", max_states, 1)
    lengths = []
    for objective in OBJECTIVES:
        results = _search(grids, objective, max_states, num_threads, lambda *_: None)
        length = getattr(results, f"num_{objective}")
        length[results.statuses == solver.UNSOLVABLE] = NO_SOLUTION
        length[results.statuses == solver.GAVE_UP] = GAVE_UP
        lengths.append(length)
    return lengths[0], lengths[1]


def count_moves(grids: NDArray[np.uint8], num_threads: int) -> NDArray[np.float64]:
    """Return the fewest moves that solve each room, (m,) float64.

    Infinite without a solution, NaN if the search gave up; see `solve_rooms`.
    """
    counts = np.full(len(grids), np.inf)
    # Dead ends that show at once take a tenth of the time of a search.
    rows = np.flatnonzero(~mark_deadlocks(grids, num_threads))
    if len(rows):
        limits = MAX_STATES, num_threads
        results = _search(grids[rows], "moves", *limits, lambda *_: None)
        counts[rows] = results.num_moves
        counts[rows[results.statuses == solver.UNSOLVABLE]] = np.inf
        counts[rows[results.statuses == solver.GAVE_UP]] = np.nan
    return counts


def mark_deadlocks(grids: NDArray[np.uint8], num_threads: int = 1) -> NDArray[np.bool_]:
    """Return the rooms that surely have no solution; others may have none as well.

    Parameters
    ----------
    grids : (m, H, W) uint8
        Codes of `roll_vec.kernels.sokoban.moves`.
    num_threads : int

    Returns
    -------
    (m,) bool
        See `roll_vec.kernels.sokoban.deadlocks`.  No room of more than 1024 inner cells
        is looked at.
    """
    num_rooms, height, width = grids.shape
    cells = grids.reshape(num_rooms, height * width)
    words = words_of(height, width)
    result = np.zeros(num_rooms, np.bool_)
    if words is not None:
        args = cells, height, width, words, result
        for_row_ranges(mark_rows, num_rooms, num_threads, _MARKS_PER_THREAD, args=args)
    return result


def solve_positions(
    engine: Any, env_ids: NDArray[np.int64], objective: str
) -> list[NDArray[np.int64] | None]:
    """Return the actions that solve the rooms of some environments from here.

    Parameters
    ----------
    engine : ArrayEngine
    env_ids : (m,) int64
    objective : str
        See `solve_rooms`.

    Returns
    -------
    list of (num_moves,) int64 or None
        None without a solution.

    Raises
    ------
    InvalidOptionError, SolverLimitError
    """
    limits = {"max_states": MAX_STATES, "num_threads": engine.num_threads}
    solutions = solve_rooms(engine.grids(env_ids), objective, **limits)
    rows = [j for j, result in enumerate(solutions) if result.status == "gave up"]
    if rows:
        is_batch = engine.num_envs > 1
        where = f" of environments {list_env_ids(env_ids[rows])}" if is_batch else ""
        message = (
            f"solve: the search for a solution{where} gave up after {MAX_STATES} "
            f"states or {_MAX_BYTES >> 30} GiB; solve_rooms of "
            "roll_vec.envs.sokoban.solver takes another number of states"
        )
        raise SolverLimitError(message)
    first_action = np.int64(engine.first_action)
    return [
        None if result.directions is None else result.directions + first_action
        for result in solutions
    ]
