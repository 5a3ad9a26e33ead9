"""Times of the Sokoban solver room by room, ``python -m benchmarks.solver_times``.

For generated rooms, and for the levels of each file or folder that is named: how many
are solved, and the distribution of the times of one room, on one thread.  The least of
three times of a room counts: other load on the machine can only add time.  Then the
share of dead ends that `roll_vec.kernels.sokoban.deadlocks` recognises, in positions of
random play, and the time that it takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.solver import generate
from roll_vec.envs.sokoban import load_levels
from roll_vec.envs.sokoban.solver import NO_SOLUTION, measure_rooms
from roll_vec.envs.sokoban.solver import solve_rooms as solve
from roll_vec.kernels.sokoban import deadlocks, rules
from roll_vec.vector.levels import OBJECTIVES

_ROW = "{:<34} {:<9} {:>14} {:>10} {:>10} {:>10}"
TIMES, ROUNDS = 3, 20


def solver_row(title: str, grids: NDArray[np.uint8], objective: str) -> str:
    """Return a line with the times of the solver in milliseconds."""
    solve(grids[:1], objective)
    times, num_solved = np.empty(len(grids)), 0
    for number in range(len(grids)):
        room, seconds = grids[number : number + 1], []
        for _ in range(TIMES):
            start = time.perf_counter()
            (solution,) = solve(room, objective)
            seconds.append(time.perf_counter() - start)
        times[number] = min(seconds)
        num_solved += solution.status == "solved"
    figures = [np.median(times), np.quantile(times, 0.99), times.max()]
    return _ROW.format(
        title,
        objective,
        f"{num_solved:,} of {len(grids):,}",
        *(f"{1e3 * figure:.3f}" for figure in figures),
    )


def play_randomly(grids: NDArray[np.uint8], num_steps: int) -> NDArray[np.uint8]:
    """Return the positions of rooms after random moves, (m, H * W) uint8."""
    rng = np.random.default_rng(0)
    width, cells = grids.shape[2], grids.reshape(len(grids), -1).copy()
    for row in range(len(cells)):
        player = int(np.flatnonzero(cells[row] >= rules.PLAYER)[0])
        for action in rng.integers(rules.UP, rules.RIGHT + 1, num_steps).tolist():
            player = rules.step_row(cells, row, width, player, 0, action)[0]
    return cells


def dead_end_row(title: str, grids: NDArray[np.uint8], num_steps: int) -> str:
    """Return a line with the share of dead ends that are recognised.

    Raises
    ------
    AssertionError
        If a position is called dead that has a solution.
    """
    cells = play_randomly(grids, num_steps)
    _, height, width = grids.shape
    workspace = tuple(deadlocks.make_deadlock_workspace(height, width))
    marks, best = np.zeros(len(cells), np.bool_), np.inf
    for _ in range(ROUNDS):
        start = time.perf_counter()
        deadlocks.mark_deadlocks(0, len(cells), cells, height, width, workspace, marks)
        best = min(best, time.perf_counter() - start)
    lengths, _ = measure_rooms(cells.reshape(grids.shape))
    is_dead = lengths == NO_SOLUTION
    assert not (marks & ~is_dead).any()
    return (
        f"{title}: {len(cells):,} positions, {is_dead.sum():,} dead ends, "
        f"{marks.sum() / is_dead.sum():.1%} recognised, no false alarm, "
        f"{1e9 * best / len(cells):.0f} ns a position"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("levels", nargs="*", help="files or folders of levels")
    parser.add_argument("--rooms", type=int, default=10_000, help="rooms of each kind")
    options = parser.parse_args(arguments)
    boxes = {n: f"6x6, {n} box{'es' * (n > 1)}" for n in (1, 2, 3)}
    rooms = {title: generate(6, n, options.rooms) for n, title in boxes.items()}
    rooms |= {path: load_levels(path).grids for path in options.levels}
    print(_ROW.format("rooms", "fewest", "solved", "median ms", "99 % ms", "most ms"))
    for title, grids in rooms.items():
        for objective in OBJECTIVES:
            print(solver_row(title[-34:], grids, objective))
    for title, grids in rooms.items():
        print(dead_end_row(title, grids, 5 * grids.shape[1]))


if __name__ == "__main__":
    main()
