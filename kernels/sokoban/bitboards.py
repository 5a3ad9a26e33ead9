"""Rooms as bitboards: sets of cells, for the solver and for dead ends.

Each inner cell of a room, all but the border, has a bit in a set (`cell_sets`)::

    bit = (row - 1) * (W - 2) + (column - 1)

so the four neighbours of a whole set of cells are four shifts.  A shift to the side
takes the cells at the end of a row to the next row; `Board.not_first` and `not_last`
remove them.  Each room up to 10x10 fits into one word.

Directions are 0 up, 1 down, 2 left, 3 right; ``d ^ 1`` is the opposite of d.
"""

from typing import Any, NamedTuple

from .._jit import IS_COMPILED, kernel
from .cell_sets import lowest
from .moves import BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET, TARGET, WALL

if not IS_COMPILED:
    from .cell_sets import as_shift, cell_of, first_cell
else:
    from ._compiled_cell_sets import as_shift, cell_of, first_cell

_1 = as_shift(1)


class Board(NamedTuple):
    """A room; each field is a set of cells unless it says more."""

    width: Any  # the number of inner columns
    not_first: Any  # all cells but those of the first inner column
    not_last: Any  # all cells but those of the last one
    floor: Any  # all cells without a wall
    targets: Any
    boxes: Any
    player: Any  # one bit
    none: Any  # the empty set


@kernel
def read_board(grids, i, height, width, words):
    """Return room i of (n, H * W) uint8 as a `Board`; its border is wall."""
    bit = first_cell(words)
    none = bit ^ bit
    floor, targets, boxes, player = none, none, none, none
    not_first, not_last = none, none
    for row in range(1, height - 1):
        cell = row * width
        not_first |= bit
        last = bit
        for _ in range(width - 2):
            cell += 1
            code = grids[i, cell]
            if code != WALL:
                floor |= bit
            if code == TARGET or code == BOX_ON_TARGET or code == PLAYER_ON_TARGET:
                targets |= bit
            if code == BOX or code == BOX_ON_TARGET:
                boxes |= bit
            if code >= PLAYER:
                player = bit
            not_last |= bit
            last = bit
            bit <<= _1
        not_last ^= last
    inner = as_shift(width - 2)
    return Board(inner, ~not_first, not_last, floor, targets, boxes, player, none)


@kernel
def shift(cells, d, board):
    """Return the neighbours of some cells in direction d; also walls."""
    if d == 0:
        return cells >> board.width
    if d == 1:
        return cells << board.width
    if d == 2:
        return (cells >> _1) & board.not_last
    return (cells << _1) & board.not_first


@kernel
def spread(cells, board):
    """Return the neighbours of some cells in all directions; also walls."""
    sides = ((cells >> _1) & board.not_last) | ((cells << _1) & board.not_first)
    return (cells >> board.width) | (cells << board.width) | sides


@kernel
def flood(cells, free, board):
    """Return all cells that are reached from some cells within free ones."""
    while True:
        more = spread(cells, board) & free & ~cells
        if more == board.none:
            return cells
        cells |= more


@kernel
def pull_sources(cells, floor, board):
    """Return the cells from which a box can be pushed to one of some cells.

    Behind the box there must be floor for the player; other boxes are ignored.
    """
    sources = board.none
    for d in range(4):
        # The box comes from behind, the player from one cell further.
        behind = shift(cells, d ^ 1, board) & floor
        sources |= behind & shift(floor, d, board)
    return sources


@kernel
def live_cells(targets, floor, board, distances):
    """Return the cells from which a box alone can be pushed to one of some targets.

    Other boxes are ignored, and so is the player's way.  ``distances`` (C,) int64 or
    None gets the pushes from each of these cells to the nearest target.
    """
    live = layer = targets & floor
    distance = 0
    while layer != board.none:
        if distances is not None:
            remaining = layer
            while remaining != board.none:
                cell = lowest(remaining)
                remaining ^= cell
                distances[cell_of(cell)] = distance
        layer = pull_sources(layer, floor, board) & ~live
        live |= layer
        distance += 1
    return live


@kernel
def frozen_boxes(boxes, floor, live, board):
    """Return the boxes that can never be pushed again by play that solves the room.

    A box is blocked along an axis if one of its two neighbours there is a wall or a
    frozen box, or if both are cells from which no box comes to a target.  A set of
    boxes, each of which is blocked along both axes by walls and boxes of the set, is
    frozen: none of them can be the first to move.  The largest such set is returned.

    Parameters
    ----------
    boxes, floor, live : sets
        ``live``: cells from which a box may come to a target.
    board : Board
    """
    # A push to a dead cell never helps.
    live_left, live_right = shift(live, 3, board), shift(live, 2, board)
    live_up, live_down = shift(live, 1, board), shift(live, 0, board)
    frozen = boxes
    while True:
        # Outside the board and behind its edges there is wall.
        passable = floor & ~frozen
        free_x = shift(passable, 3, board) & shift(passable, 2, board)
        free_y = shift(passable, 1, board) & shift(passable, 0, board)
        movable = free_x & (live_left | live_right)
        movable |= free_y & (live_up | live_down)
        if frozen & movable == board.none:
            return frozen
        frozen &= ~movable


@kernel
def stuck_boxes(boxes, floor, live, board):
    """Return the boxes that cannot be pushed by play that solves the room.

    All boxes block the player and other boxes at first.  A box that the player can push
    to a live cell blocks nothing any more, and so on: boxes that still block at the end
    never move, because the first one to move would have been pushed just so.

    Parameters
    ----------
    boxes, floor, live
        See `frozen_boxes`.
    board : Board

    Returns
    -------
    stuck : uint64
        Each frozen box, and those whose sides the player never comes to.
    reached : uint64
        The cells where player and boxes may come to.
    """
    stuck, reached = boxes, board.player
    while True:
        free = floor & ~stuck
        reached = flood(reached, free, board)
        goals, movable = free & live, board.none
        for d in range(4):
            movable |= stuck & shift(reached, d, board) & shift(goals, d ^ 1, board)
        if movable == board.none:
            return stuck, reached
        stuck ^= movable
