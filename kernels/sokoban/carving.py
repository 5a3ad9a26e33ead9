"""What a Sokoban room is made of: its floor, its targets, the player's last moves.

Source of the rules: ROLL at 35bea6a2, `roll/agentic/env/sokoban/utils.py`.  Draws come
from one lane of two blocks of `twisters`, `random`'s and `numpy.random`'s.

Floor cells are numbered row by row; the number of floor cells stands for a wall ahead
of a cell, and one more than that for a wall behind it.
"""

import numpy as np

from .._jit import kernel
from ..rng.mersenne_twister import mt_randbelow, mt_randint, mt_random

P_CHANGE_DIRECTIONS = 0.35
_U = np.uint64

# The cells that a step of the walk opens, around where it stands (the middle)::
#
#   ...   .#.   ...   ...   ...
#   ###   .#.   ##.   ##.   .##
#   ...   .#.   .#.   ##.   .#.
_OPENED = (
    ((0, -1), (0, 1), (0, 0)),
    ((-1, 0), (1, 0), (0, 0)),
    ((0, -1), (1, 0), (0, 0)),
    ((0, -1), (1, -1), (1, 0)),
    ((0, 1), (1, 0), (0, 0)),
)
# Those beside the middle as one word, 12 bits a mask and 4 a cell: 1 + its row, then
# 1 + its column, two bits each.  The tuple would be a switch, guessed wrong mostly.
_OPENED_BITS = _U(
    sum(
        (1 + row | (1 + col) << 2) << (12 * mask + 4 * number)
        for mask, cells in enumerate(_OPENED)
        for number, (row, col) in enumerate(cells)
    )
)
_1, _2, _3, _4, _12 = (_U(n) for n in (1, 2, 3, 4, 12))

# Up, down, left, right: the order of the search's directions.
_ROW = (-1, 1, 0, 0)
_COL = (0, 0, -1, 1)


@kernel
def carve(grid, num_gen_steps, block, lane):
    """Walk at random and turn inner cells of an all-wall grid into floor.

    Parameters
    ----------
    grid : (H, W) uint8, written
        0 wall, 1 floor.
    num_gen_steps : int
    block : (625, 32) uint32, updated
    lane : int
    """
    height, width = grid.shape
    grid[:, :] = 0
    direction = mt_randbelow(block, lane, 4)
    row = 1 + mt_randbelow(block, lane, height - 1)
    col = 1 + mt_randbelow(block, lane, width - 1)
    for _ in range(num_gen_steps):
        if mt_random(block, lane) < P_CHANGE_DIRECTIONS:
            direction = mt_randbelow(block, lane, 4)
        # Down, right, up, left.
        down = np.int64(direction == 0) - np.int64(direction == 2)
        right = np.int64(direction == 1) - np.int64(direction == 3)
        row = max(min(row + down, height - 2), 1)
        col = max(min(col + right, width - 2), 1)
        opened = _OPENED_BITS >> (_12 * _U(mt_randbelow(block, lane, 5)))
        above, before = _U(row) - _1, _U(col) - _1
        grid[above + _1, before + _1] = 1
        for _ in range(3):
            grid[above + (opened & _3), before + ((opened >> _2) & _3)] = 1
            opened >>= _4
    grid[0, :] = 0
    grid[height - 1, :] = 0
    grid[:, 0] = 0
    grid[:, width - 1] = 0


@kernel
def number_floor(grid, space):
    """Give numbers to the floor cells, row by row, and link them; return how many.

    Parameters
    ----------
    grid : (H, W) uint8, read
        0 wall, 1 floor.
    space : RoomWorkspace
        ``numbers``, ``rows``, ``cols``, ``ahead``, ``behind`` and ``links`` are
        written; ``target_at`` and ``box_at`` are emptied.
    """
    height, width = grid.shape
    numbers, rows, cols = space.numbers, space.rows, space.cols
    target_at, box_at = space.target_at, space.box_at
    ahead_of, behind_of, links = space.ahead, space.behind, space.links
    count = 0
    for r in range(1, height - 1):
        for c in range(1, width - 1):
            # No branch: whether a cell is floor cannot be guessed.  With the masks as
            # one word it is 6 to 8 % of a room of 6x6.
            is_floor = grid[r, c] == 1
            numbers[r, c] = count if is_floor else -1
            rows[count] = r
            cols[count] = c
            count += is_floor
    for f in range(count):
        target_at[f] = 0
        box_at[f] = 0
        links[f] = 0
        for d in range(4):
            ahead = numbers[rows[f] + _ROW[d], cols[f] + _COL[d]]
            ahead_of[f, d] = ahead if ahead >= 0 else count
            behind_of[f, d ^ 1] = ahead if ahead >= 0 else count + 1
            links[f] |= _U(ahead if ahead >= 0 else 63) << _U(8 * d)
    # A wall ahead is as good as a box, and one behind as good as nothing.
    box_at[count] = 1
    box_at[count + 1] = 0
    return count


@kernel
def place(count, num_boxes, space, lane):
    """Draw the player's cell and one target a box; return the player's cell.

    Each draw is among the cells still free, counted row by row.  A box begins on its
    target: the search pulls it from there.

    Parameters
    ----------
    count, num_boxes : int
        Floor cells, more than ``num_boxes + 1``.
    space : RoomWorkspace
        ``target_at``, ``box_at``, ``distance`` and ``pulled`` are written, and
        ``numpys`` is updated.
    lane : int
    """
    rows, cols, block = space.rows, space.cols, space.numpys
    target_at, box_at, distance = space.target_at, space.box_at, space.distance
    player = mt_randint(block, lane, count)
    for k in range(num_boxes):
        left = mt_randint(block, lane, count - 1 - k)
        cell = 0
        while True:
            if cell != player and target_at[cell] == 0:
                if left == 0:
                    break
                left -= 1
            cell += 1
        target_at[cell] = k + 1
        box_at[cell] = k + 1
        space.pulled[k] = 0
        for f in range(count):
            distance[k, f] = abs(rows[f] - rows[cell]) + abs(cols[f] - cols[cell])
    return player


@kernel
def wander(player, displacement, space, lane):
    """Move the player up to three cells, never back; return the player's cell.

    Parameters
    ----------
    player : uint64
        Its cell.
    displacement : uint64
        Of the room, which decides how likely it is that the player moves at all.
    space : RoomWorkspace
        ``box_at`` has the boxes of the room; ``pythons`` is updated.
    lane : int
    """
    block = space.pythons
    if mt_random(block, lane) > (0.8 if displacement == 1 else 0.5):
        return player
    first = second = third = player
    for step in range(3):
        choices = 0
        for f in space.ahead[player]:
            if space.box_at[f] == 0 and f != first and f != second and f != third:
                choices += 1
        if choices == 0:
            break
        left = mt_randbelow(block, lane, choices)
        for f in space.ahead[player]:
            if space.box_at[f] == 0 and f != first and f != second and f != third:
                if left == 0:
                    player = f
                left -= 1
        if step == 0:
            second = player
        else:
            third = player
        if step == 2 or mt_random(block, lane) > 0.5:
            break
    return player
