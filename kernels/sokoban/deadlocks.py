"""Dead ends: positions of Sokoban that can no longer be solved.

Three tests, none of which ever calls a position dead that has a solution:

- Dead cells: a box stands where no sequence of pushes, of this box alone, leads to a
  target.
- Frozen boxes: no box of a set can be the first one to move, for walls and boxes of
  this set block each of them along both axes, and one of them is beside the targets.
  A box is blocked along an axis if a neighbour there is a wall or a frozen box, or if
  both are dead cells: a push to either cannot be part of a solution.
- Both tests again with frozen boxes on targets as walls, until nothing changes.

Positions may be dead in other ways; `solver` finds all of them.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from .bitboards import fits, frozen_boxes, live_cells, read_board
from .rules import IS_BOX, IS_TARGET, WALL, WITHOUT_PIECES


class DeadlockWorkspace(NamedTuple):
    """Scratch memory of one thread for rooms of H x W cells; holds no results."""

    room: np.ndarray  # (1, H * W) uint8: codes without player and boxes
    distances: np.ndarray  # (H * W,) int32
    queue: np.ndarray  # (H * W,) int32
    boxes: np.ndarray  # (H * W,) int32
    is_frozen: np.ndarray  # (H * W,) uint8


def make_deadlock_workspace(height, width):
    """Return a `DeadlockWorkspace`."""
    cells = height * width
    return DeadlockWorkspace(
        np.zeros((1, cells), np.uint8),
        np.zeros(cells, np.int32),
        np.zeros(cells, np.int32),
        np.zeros(cells, np.int32),
        np.zeros(cells, np.uint8),
    )


@kernel
def offset_of(direction, width):
    """Return the difference of cell numbers: 0 up, 1 down, 2 left, 3 right."""
    step = np.int64(1) if direction >= 2 else np.int64(width)
    return step if direction & 1 else -step


@kernel
def measure_distances(rooms, i, width, queue, distances):
    """Write the pushes from each cell to the nearest target, or -1 from a dead cell.

    Other boxes are ignored, and so is the player's way from push to push.

    Parameters
    ----------
    rooms : (n, H * W) uint8, read
        Codes of `rules`.
    i : int
        The room.
    width : int
    queue : (H * W,) int32, written
    distances : (H * W,) int32, written
    """
    length = 0
    for cell in range(rooms.shape[1]):
        distances[cell] = -1
        if IS_TARGET[rooms[i, cell]]:
            distances[cell] = 0
            queue[length] = cell
            length += 1
    at = 0
    while at < length:
        cell = np.int64(queue[at])
        at += 1
        for d in range(4):
            # A box comes from there, the player from one cell further.
            source = cell + offset_of(d, width)
            if rooms[i, source] == WALL or distances[source] >= 0:
                continue
            if rooms[i, source + offset_of(d, width)] != WALL:
                distances[source] = distances[cell] + 1
                queue[length] = source
                length += 1


@kernel
def mark_frozen(rooms, i, width, distances, boxes, num_boxes, is_frozen):
    """Mark the largest set of boxes that are frozen.

    Parameters
    ----------
    rooms : (n, H * W) uint8, read
        Its walls alone count.
    i, width : int
    distances : (H * W,) int32, read
        See `measure_distances`.
    boxes : (H * W,) int32, read
        Cells of the boxes, in the first ``num_boxes`` items.
    num_boxes : int
    is_frozen : (H * W,) uint8, updated
        Zeros before; 1 on cells of frozen boxes afterwards.
    """
    for k in range(num_boxes):
        is_frozen[boxes[k]] = 1
    has_changed = True
    while has_changed:
        has_changed = False
        for k in range(num_boxes):
            cell = np.int64(boxes[k])
            if not is_frozen[cell]:
                continue
            for d in range(0, 4, 2):
                one = cell + offset_of(d, width)
                other = cell + offset_of(d + 1, width)
                is_passable = rooms[i, one] != WALL and rooms[i, other] != WALL
                if (
                    is_passable
                    and not is_frozen[one]
                    and not is_frozen[other]
                    and (distances[one] >= 0 or distances[other] >= 0)
                ):
                    is_frozen[cell] = 0
                    has_changed = True
                    break


@kernel
def _is_dead_bitboard(board):
    """Return whether a `Board` is a dead end."""
    floor, targets, boxes = board.floor, board.targets, board.boxes
    while True:
        live = live_cells(targets, floor, board)
        if boxes & ~live != 0:
            return True
        frozen = frozen_boxes(boxes, floor, live, board)
        if frozen & ~targets != 0:
            return True
        if frozen == 0:
            return False
        # These boxes stay on their targets: from now on they are walls.
        floor, targets, boxes = floor & ~frozen, targets & ~frozen, boxes & ~frozen


@kernel
def _is_dead_room(grids, i, width, workspace):
    """Return whether room i is a dead end, for rooms of any size."""
    room, distances, boxes = workspace.room, workspace.distances, workspace.boxes
    is_frozen, num_boxes = workspace.is_frozen, 0
    for cell in range(grids.shape[1]):
        code = grids[i, cell]
        room[0, cell] = WITHOUT_PIECES[code]
        if IS_BOX[code]:
            boxes[num_boxes] = cell
            num_boxes += 1
    while True:
        measure_distances(room, 0, width, workspace.queue, distances)
        is_frozen[:] = 0
        mark_frozen(room, 0, width, distances, boxes, num_boxes, is_frozen)
        num_left = 0
        for k in range(num_boxes):
            cell = np.int64(boxes[k])
            if distances[cell] < 0 or (
                is_frozen[cell] and not IS_TARGET[room[0, cell]]
            ):
                return True
            if is_frozen[cell]:
                room[0, cell] = WALL
            else:
                boxes[num_left] = cell
                num_left += 1
        if num_left == num_boxes:
            return False
        num_boxes = num_left


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
