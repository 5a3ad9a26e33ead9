"""Rooms of any size as arrays, for the solver and for dead ends.

The same questions as in `bitboards`, with loops over cells.  A cell is row * W +
column; the border is wall, so no index is checked.  Directions are 0 up, 1 down,
2 left, 3 right.
"""

import numpy as np

from .._jit import kernel
from .rules import IS_TARGET, WALL


@kernel
def offset_of(direction, width):
    """Return the difference of cell numbers: 0 up, 1 down, 2 left, 3 right."""
    step = np.int64(1) if direction >= 2 else np.int64(width)
    return step if direction & 1 else -step


@kernel
def walk(rooms, i, is_box, player, width, steps, queue):
    """Write the steps of the player to each cell, or -1; return how many it reaches.

    Parameters
    ----------
    rooms : (n, H * W) uint8, read
        Its walls alone count.
    i : int
        The room.
    is_box : (H * W,) uint8, read
        Not 0 where a box blocks the way.
    player, width : int
    steps : (H * W,) int32, written
    queue : (H * W,) int32, written
        The cells that the player reaches, in the order of their steps.
    """
    steps[:] = -1
    steps[player], queue[0] = 0, player
    at, length = 0, 1
    while at < length:
        cell = np.int64(queue[at])
        at += 1
        for d in range(4):
            to = cell + offset_of(d, width)
            if rooms[i, to] != WALL and not is_box[to] and steps[to] < 0:
                steps[to] = steps[cell] + 1
                queue[length] = to
                length += 1
    return length


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
def mark_stuck(
    rooms, i, width, player, distances, boxes, num_boxes, steps, queue, is_stuck
):
    """Mark the boxes that cannot be pushed by play that solves the room.

    See `bitboards.stuck_boxes`.

    Parameters
    ----------
    rooms, i, width, distances, boxes, num_boxes
        See `mark_frozen`.
    player : int
        Cell of the player.
    steps, queue : (H * W,) int32, written
        ``steps`` is -1 where neither player nor boxes may come to.
    is_stuck : (H * W,) uint8, updated
        Zeros before; 1 on cells of stuck boxes afterwards.
    """
    for k in range(num_boxes):
        is_stuck[boxes[k]] = 1
    has_changed = True
    while has_changed:
        has_changed = False
        walk(rooms, i, is_stuck, player, width, steps, queue)
        for k in range(num_boxes):
            cell = np.int64(boxes[k])
            for d in range(4):
                ahead = cell + offset_of(d, width)
                if (
                    is_stuck[cell]
                    and steps[cell - offset_of(d, width)] >= 0
                    and distances[ahead] >= 0
                    and not is_stuck[ahead]
                ):
                    is_stuck[cell] = 0
                    has_changed = True
