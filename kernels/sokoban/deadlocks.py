"""Dead ends: positions of Sokoban that can no longer be solved.

Two tests, neither of which ever calls a position dead that has a solution:

- Dead cells: a box stands where no sequence of pushes, of this box alone, leads to a
  target.
- Stuck boxes (`bitboards.stuck_boxes`): a box beside the targets can never be pushed,
  for walls, other stuck boxes and dead cells are around it, or the player does not come
  to its sides.

Stuck boxes on targets are walls from then on, so is the floor where nothing comes to,
and the tests start again, until nothing changes.  Positions may be dead in other ways;
`solver` finds all of them.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from .bitboards import fits, live_cells, read_board, stuck_boxes
from .room_arrays import mark_stuck, measure_distances
from .rules import IS_BOX, PLAYER, TARGET, WALL, WITHOUT_PIECES


class DeadlockWorkspace(NamedTuple):
    """Scratch memory of one thread for rooms of H x W cells; holds no results."""

    room: np.ndarray  # (1, H * W) uint8: codes without player and boxes
    distances: np.ndarray  # (H * W,) int32
    queue: np.ndarray  # (H * W,) int32
    boxes: np.ndarray  # (H * W,) int32
    steps: np.ndarray  # (H * W,) int32
    is_stuck: np.ndarray  # (H * W,) uint8


def make_deadlock_workspace(height, width):
    """Return a `DeadlockWorkspace`."""
    cells = height * width
    return DeadlockWorkspace(
        np.zeros((1, cells), np.uint8),
        np.zeros(cells, np.int32),
        np.zeros(cells, np.int32),
        np.zeros(cells, np.int32),
        np.zeros(cells, np.int32),
        np.zeros(cells, np.uint8),
    )


@kernel
def _is_dead_bitboard(board):
    """Return whether a `Board` is a dead end."""
    floor, targets, boxes = board.floor, board.targets, board.boxes
    while True:
        live = live_cells(targets, floor, board)
        if boxes & ~live != 0:
            return True
        stuck, floor = stuck_boxes(boxes, floor, live, board)
        if stuck & ~targets != 0:
            return True
        if stuck == 0 or boxes == stuck:
            return False
        targets, boxes = targets & floor, boxes & ~stuck


@kernel
def _is_dead_room(grids, i, width, workspace):
    """Return whether room i is a dead end, for rooms of any size."""
    room, distances, boxes = workspace.room, workspace.distances, workspace.boxes
    steps, queue, is_stuck = workspace.steps, workspace.queue, workspace.is_stuck
    num_boxes, player = 0, np.int64(0)
    for cell in range(grids.shape[1]):
        code = grids[i, cell]
        room[0, cell] = WITHOUT_PIECES[code]
        if code >= PLAYER:
            player = np.int64(cell)
        if IS_BOX[code]:
            boxes[num_boxes] = cell
            num_boxes += 1
    while True:
        measure_distances(room, 0, width, queue, distances)
        is_stuck[:] = 0
        mark_stuck(
            room, 0, width, player, distances, boxes, num_boxes, steps, queue, is_stuck
        )
        num_left = 0
        for k in range(num_boxes):
            cell = np.int64(boxes[k])
            if distances[cell] < 0 or (is_stuck[cell] and room[0, cell] != TARGET):
                return True
            if not is_stuck[cell]:
                boxes[num_left] = cell
                num_left += 1
        if num_left == num_boxes or num_left == 0:
            return False
        num_boxes = num_left
        for cell in range(grids.shape[1]):
            if steps[cell] < 0:
                room[0, cell] = WALL


@kernel
def mark_deadlocks(start, stop, cells, height, width, workspace, out):
    """Say of each room whether it is a dead end by one of the tests above.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    cells : (n, H * W) uint8, read
        Codes of `rules`; the border is wall.
    height, width : int
    workspace : tuple of the arrays of `DeadlockWorkspace`, updated
        Each thread has its own.
    out : (n,) bool, written
        True: the room has no solution.  False: it may have one.
    """
    workspace = DeadlockWorkspace(*workspace)
    if fits(height, width):
        for i in range(start, stop):
            board = read_board(cells, i, height, width)
            out[i] = _is_dead_bitboard(board)
    else:
        for i in range(start, stop):
            out[i] = _is_dead_room(cells, i, width, workspace)
