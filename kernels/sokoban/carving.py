"""Stages of room generation around the search: floor, targets, last player moves.

Source of the rules: ROLL at 35bea6a2, `roll/agentic/env/sokoban/utils.py`.  Draws come
from one lane of two arrays of `mersenne_twister`: ``python_states`` for those of
`random`, ``numpy_states`` for those of `numpy.random`.

Floor cells are numbered row by row.  With F of them, the number F stands for a wall.
"""

import numpy as np

from .._jit import kernel
from ..rng.mersenne_twister import mt_randbelow, mt_randint, mt_random

P_CHANGE_DIRECTIONS = 0.35
_U = np.uint64

# ROLL's masks: the cells that a step of the walk turns into floor, around its position
# (the middle)::
#
#   ...   .#.   ...   ...   ...
#   ###   .#.   ##.   ##.   .##
#   ...   .#.   .#.   ##.   .#.
#
# By mask: rows and columns of the cells, counted from the upper left of the mask.  The
# middle comes again where a mask has fewer than four cells.
_MASK_ROWS = np.array(
    [[1, 1, 1, 1], [0, 1, 2, 1], [1, 2, 1, 1], [1, 2, 2, 1], [1, 2, 1, 1]], np.uint64
)
_MASK_COLS = np.array(
    [[0, 2, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [2, 1, 1, 1]], np.uint64
)

# Rows down and columns to the right by direction: of the walk (down, right, up, left),
# and of the search and the player (up, down, left, right).
_WALK_ROWS, _WALK_COLS = np.array([1, 0, -1, 0]), np.array([0, 1, 0, -1])
_MOVE_ROWS, _MOVE_COLS = np.array([-1, 1, 0, 0]), np.array([0, 0, -1, 1])


@kernel
def carve_floor(grid, num_gen_steps, python_states, lane):
    """Walk at random and turn inner cells of an all-wall grid into floor.

    Parameters
    ----------
    grid : (H, W) uint8, written
        0 wall, 1 floor.
    num_gen_steps : int
    python_states : (w,) uint32, updated
    lane : int
    """
    height, width = grid.shape
    grid[:, :] = 0
    direction = mt_randbelow(python_states, lane, 4)
    row = 1 + mt_randbelow(python_states, lane, height - 1)
    col = 1 + mt_randbelow(python_states, lane, width - 1)
    for _ in range(num_gen_steps):
        if mt_random(python_states, lane) < P_CHANGE_DIRECTIONS:
            direction = mt_randbelow(python_states, lane, 4)
        row = max(min(row + _WALK_ROWS[direction], height - 2), 1)
        col = max(min(col + _WALK_COLS[direction], width - 2), 1)
        mask = mt_randbelow(python_states, lane, 5)
        top_row, left_col = _U(row - 1), _U(col - 1)
        for k in range(4):
            grid[top_row + _MASK_ROWS[mask, k], left_col + _MASK_COLS[mask, k]] = 1
    grid[0, :] = 0
    grid[height - 1, :] = 0
    grid[:, 0] = 0
    grid[:, width - 1] = 0


@kernel
def index_floor_cells(grid, workspace):
    """Give numbers to the floor cells, row by row, and link them; return how many.

    Parameters
    ----------
    grid : (H, W) uint8, read
        0 wall, 1 floor.
    workspace : RoomWorkspace
        ``floor_index``, ``cell_rows``, ``cell_cols``, ``cells_ahead`` and
        ``neighbours`` are written; ``target_at`` and ``box_at`` are emptied.
    """
    height, width = grid.shape
    floor_index = workspace.floor_index
    cell_rows, cell_cols = workspace.cell_rows, workspace.cell_cols
    cells_ahead, neighbours = workspace.cells_ahead, workspace.neighbours
    target_at, box_at = workspace.target_at, workspace.box_at
    num_cells = 0
    for row in range(1, height - 1):
        for col in range(1, width - 1):
            # Branch-free: a branch on a random cell is mispredicted.  This and the
            # tables of the masks save 6 to 8 % of a room of 6x6.
            is_floor = grid[row, col] == 1
            floor_index[row, col] = num_cells if is_floor else -1
            cell_rows[num_cells] = row
            cell_cols[num_cells] = col
            num_cells += is_floor
    for cell in range(num_cells):
        target_at[cell] = 0
        box_at[cell] = 0
        neighbours[cell] = 0
        for direction in range(4):
            ahead = floor_index[
                cell_rows[cell] + _MOVE_ROWS[direction],
                cell_cols[cell] + _MOVE_COLS[direction],
            ]
            cells_ahead[cell, direction] = ahead if ahead >= 0 else num_cells
            byte = _U(ahead if ahead >= 0 else 63)
            neighbours[cell] |= byte << _U(8 * direction)
    # A wall stops the player as a box does.
    box_at[num_cells] = 1
    return num_cells


@kernel
def place_targets(num_cells, num_boxes, workspace, lane):
    """Draw the player's cell and one target a box; return the player's cell.

    Each draw is among the cells that are still free, counted row by row.  A box starts
    on its target: the search pulls it from there.

    Parameters
    ----------
    num_cells, num_boxes : int
        Floor cells, more than ``num_boxes + 1``; boxes.
    workspace : RoomWorkspace
        ``target_at``, ``box_at`` and ``distance`` are written, and ``numpy_states`` is
        updated.
    lane : int
    """
    cell_rows, cell_cols = workspace.cell_rows, workspace.cell_cols
    target_at, box_at = workspace.target_at, workspace.box_at
    distance, numpy_states = workspace.distance, workspace.numpy_states
    player = mt_randint(numpy_states, lane, num_cells)
    for box in range(num_boxes):
        skips = mt_randint(numpy_states, lane, num_cells - 1 - box)
        target = 0
        while True:
            if target != player and target_at[target] == 0:
                if skips == 0:
                    break
                skips -= 1
            target += 1
        target_at[target] = box + 1
        box_at[target] = box + 1
        for cell in range(num_cells):
            rows = abs(cell_rows[cell] - cell_rows[target])
            cols = abs(cell_cols[cell] - cell_cols[target])
            distance[box, cell] = rows + cols
    return player


@kernel
def random_player_moves(player, displacement, workspace, lane):
    """Move the player up to three cells, never back; return the player's cell.

    Parameters
    ----------
    player : uint64
        Its cell.
    displacement : uint64
        Of the room; it decides how likely the player is to move at all.
    workspace : RoomWorkspace
        ``box_at`` has the boxes of the room; ``python_states`` is updated.
    lane : int
    """
    python_states, box_at = workspace.python_states, workspace.box_at
    if mt_random(python_states, lane) > (0.8 if displacement == 1 else 0.5):
        return player
    # The cells where the player has been.
    first = second = third = player
    for move in range(3):
        choices = 0
        for cell in workspace.cells_ahead[player]:
            if box_at[cell] == 0 and cell != first and cell != second and cell != third:
                choices += 1
        if choices == 0:
            break
        skips = mt_randbelow(python_states, lane, choices)
        for cell in workspace.cells_ahead[player]:
            if box_at[cell] == 0 and cell != first and cell != second and cell != third:
                if skips == 0:
                    player = cell
                skips -= 1
        if move == 0:
            second = player
        else:
            third = player
        if move == 2 or mt_random(python_states, lane) > 0.5:
            break
    return player
