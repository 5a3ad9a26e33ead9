"""Tasks of the solvers, that of Sokoban beside a breadth-first search in plain Python.

The search is what environments without a solver run in each reset: states are the
player's cell and a frozenset of the boxes' cells, in a dict that leads back.
"""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks import Figure, Latency, Rate
from roll_vec.arrays.engine import ArrayEngine
from roll_vec.arrays.row_threads import SliceSizer
from roll_vec.envs.frozen_lake.maps import generate_maps, tiles_below
from roll_vec.envs.frozen_lake.solver import measure_maps
from roll_vec.envs.sokoban import Sokoban
from roll_vec.envs.sokoban.rooms import draw_rooms
from roll_vec.envs.sokoban.solver import NO_SOLUTION, measure_rooms, solve_rooms
from roll_vec.kernels.sokoban import cell_sets, deadlocks
from roll_vec.kernels.sokoban.moves import IS_BOX, IS_TARGET, PLAYER, RIGHT, UP, WALL

Cell = tuple[int, int]
State = tuple[Cell, frozenset[Cell]]

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


def generate(size: int, num_boxes: int, count: int) -> NDArray[np.uint8]:
    """Return rooms of the seeds from 0 on, (count, size, size) uint8."""
    options = Sokoban(dim_room=(size, size), num_boxes=num_boxes)
    return draw_rooms(options, np.arange(count, dtype=np.uint64))[0]


def plain_search(grid: NDArray[np.uint8]) -> list[int] | None:
    """Return the fewest moves that solve a room: 0 up, 1 down, 2 left, 3 right."""
    cells = {
        (row, column): code
        for row, codes in enumerate(grid.tolist())
        for column, code in enumerate(codes)
        if code != WALL
    }
    targets = {cell for cell, code in cells.items() if IS_TARGET[code]}
    boxes = frozenset(cell for cell, code in cells.items() if IS_BOX[code])
    player = next(cell for cell, code in cells.items() if code >= PLAYER)
    start = (player, boxes)
    came_from: dict[State, tuple[State, int] | None] = {start: None}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        player, boxes = state
        if boxes <= targets:
            moves: list[int] = []
            while (step := came_from[state]) is not None:
                state, move = step
                moves.append(move)
            return moves[::-1]
        for move, (down, right) in enumerate(MOVES):
            ahead = player[0] + down, player[1] + right
            if ahead not in cells:
                continue
            following = ahead, boxes
            if ahead in boxes:
                beyond = ahead[0] + down, ahead[1] + right
                if beyond not in cells or beyond in boxes:
                    continue
                following = ahead, boxes - {ahead} | {beyond}
            if following not in came_from:
                came_from[following] = state, move
                queue.append(following)
    return None


def _settings(count: int, size: int, num_boxes: int) -> dict[str, object]:
    boxes = f"{num_boxes} box{'es' * (num_boxes > 1)}"
    return {"batch": count, "levels": f"{size}x{size}, {boxes}"}


def solutions(
    num_boxes: int, size: int = 6, count: int = 2000, objective: str = "moves"
) -> Rate:
    """Solve rooms in one call, on one thread."""
    grids = generate(size, num_boxes, count)

    def work() -> int:
        return len(solve_rooms(grids, objective))

    return Rate(work, "rooms/s", _settings(count, size, num_boxes))


def plain_solutions(num_boxes: int, size: int = 6, count: int = 2000) -> Rate:
    """Solve the same rooms by the plain search; each answer is as long as ours."""
    grids = generate(size, num_boxes, count)
    lengths = [
        None if solution.directions is None else len(solution.directions)
        for solution in solve_rooms(grids)
    ]
    numbers = itertools.cycle(range(count))

    def work() -> int:
        number = next(numbers)
        moves = plain_search(grids[number])
        assert (None if moves is None else len(moves)) == lengths[number]
        return 1

    return Rate(work, "rooms/s", _settings(1, size, num_boxes))


def times(
    statistic: str, num_boxes: int, size: int, count: int, objective: str = "moves"
) -> Latency:
    """Solve one room after the other; a statistic of the times of all of them."""
    rooms = itertools.cycle(np.split(generate(size, num_boxes, count), count))

    def work() -> int:
        return len(solve_rooms(next(rooms), objective))

    return Latency(work, "ms", _settings(1, size, num_boxes), statistic)


def lakes(side: int, count: int = 200) -> Latency:
    """Compute the value of one random map after the other; the median."""
    slices, seeds = SliceSizer("maps"), np.arange(count, dtype=np.uint64)
    grids, starts = generate_maps(side, 0.8, 1, slices, seeds)
    maps = tiles_below(grids)
    rows = itertools.cycle(range(count))

    def work() -> int:
        row = next(rows)
        at = slice(row, row + 1)
        return len(measure_maps(maps[at], starts[at]))

    return Latency(work, "ms", {"batch": 1, "levels": f"{side}x{side}, p=0.8"})


def dead_ends(num_boxes: int, size: int = 6, count: int = 2000) -> Figure:
    """Return the share of dead ends that `deadlocks` recognises, in random play.

    Raises
    ------
    AssertionError
        If a position is called dead that has a solution.
    """
    rng = np.random.default_rng(0)
    options = Sokoban(levels=generate(size, num_boxes, count), action_start=1)
    engine = ArrayEngine(options, count, None, 1)
    engine.reset(np.arange(count), range(count))
    plays = np.zeros(count, np.bool_)
    for actions in rng.integers(UP, RIGHT + 1, (5 * size, count)):
        engine.step(actions, plays)
    grids = engine.named_variables()["grid"]
    cells = grids.reshape(count, -1)
    lengths, _ = measure_rooms(grids)
    is_dead = lengths == NO_SOLUTION
    words = cell_sets.words_of(size, size)
    marks = np.zeros(count, np.bool_)

    def measure(_: float) -> float:
        deadlocks.mark_deadlocks(0, count, cells, size, size, words, marks)
        assert not (marks & ~is_dead).any()
        return 100 * float(marks.sum() / is_dead.sum())

    return Figure(measure, "%", _settings(count, size, num_boxes))
