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

from .._jit import kernel
from .bitboards import live_cells, read_board, stuck_boxes


@kernel
def _is_dead(board):
    """Return whether a `Board` is a dead end."""
    floor, targets, boxes, none = board.floor, board.targets, board.boxes, board.none
    while True:
        live = live_cells(targets, floor, board, None)
        if boxes & ~live != none:
            return True
        stuck, floor = stuck_boxes(boxes, floor, live, board)
        if stuck & ~targets != none:
            return True
        if stuck == none or boxes == stuck:
            return False
        targets, boxes = targets & floor, boxes & ~stuck


@kernel
def mark_deadlocks(start, stop, cells, height, width, words, out):
    """Say of each room whether it is a dead end by one of the tests above.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    cells : (n, H * W) uint8, read
        Codes of `moves`; the border is wall.
    height, width : int
    words : tuple
        `cell_sets.words_of` them.
    out : (n,) bool, written
        True: the room has no solution.  False: it may have one.
    """
    for i in range(start, stop):
        board = read_board(cells, i, height, width, words)
        out[i] = _is_dead(board)
