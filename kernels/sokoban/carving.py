"""Stages of room generation around the search: floor, targets, last player moves.

Source of the rules: ROLL at 35bea6a2, `roll/agentic/env/sokoban/utils.py`.  Draws come
from one lane of two arrays of `mersenne_twisters`: ``python_states`` for those of
`random`, ``numpy_states`` for those of `numpy.random`.

Floor cells are numbered row by row.  With F of them, the number F stands for a wall.
"""

import numpy as np

from .._jit import kernel
from .mersenne_twisters import (
    COUNTS,
    FIRST_WORDS,
    LANES,
    PLANS,
    ROW,
    mt_randbelow,
    mt_randint,
    mt_random,
    mt_temper,
)

P_CHANGE_DIRECTIONS = 0.35
_U, _W = np.uint64, np.uint32
# `mt_random` is a number of 53 bits over 2**53.  Its upper 27 bits, of one output, say
# whether it is below P_CHANGE_DIRECTIONS, but for this one value of them.
_EDGE = _W(int(P_CHANGE_DIRECTIONS * 2**27))
# Fields of a plan, see `plan_walk`.
_4_BITS, _5_BITS = _W(0x3FFE), _W(0xFFFC000)
_4_VALUE, _4_COUNT, _5_VALUE, _5_COUNT = (_W(n) for n in (1, 3, 14, 17))
_EDGE_BIT = 31
_ONE_MORE = _W((1 << _4_COUNT) + (1 << _5_COUNT))

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
def _choose(mask, word, other):
    """Return a word where the mask is all ones, the other where it is 0."""
    return _W(other ^ _W(_W(word ^ other) & mask))


@kernel
def plan_walk(states):
    """Write to ``PLANS`` what a step of the walk draws from each first output on.

    A step has three draws: does it turn, then where to, and which mask it lays.  How
    many outputs they draw depends on the outputs.  Looked up draw by draw a step takes
    24 ns, as half of the branches on them are mispredicted.  Planned in vectors for all
    lanes it takes 9, and 2 for its plans.  A plan has these fields::

        bit 0          `mt_random` of this output and the next makes a turn
        bits 1 - 2     `mt_randbelow` of 4
        bits 3 - 13    the outputs that it draws
        bits 14 - 16   `mt_randbelow` of 5
        bits 17 - 27   the outputs that it draws
        bit 31         bit 0 depends on the next output

    `mt_randbelow` uses three bits of an output for both, and rejects what is too big.
    Counts that need the last of the first words, or later ones, lead behind it.

    Parameters
    ----------
    states : (w,) uint32, updated
        As `mt_seed` leaves them, with `FIRST_WORDS`.
    """
    for lane in range(LANES):
        states[PLANS + _U(FIRST_WORDS - 1) * ROW + _U(lane)] = _ONE_MORE
    for back in range(2, FIRST_WORDS + 1):
        row = _U(FIRST_WORDS - back) * ROW
        for lane in range(LANES):
            p = row + _U(lane)
            output, later = mt_temper(states[p]), states[PLANS + p + ROW]
            high, bits = _W(output >> _W(5)), _W(output >> _W(29))
            # Differences of numbers below 2**31: the upper bit is the sign.
            turns = _W(_W(high - _EDGE) >> _W(31))
            is_edge = _W(_W(_W(high ^ _EDGE) - _W(1)) >> _W(31))
            below_4 = _W(_W(0) - _W(_W(bits - _W(4)) >> _W(31)))
            below_5 = _W(_W(0) - _W(_W(bits - _W(5)) >> _W(31)))
            four = _choose(below_4, _W(bits << _4_VALUE), _W(later & _4_BITS))
            five = _choose(below_5, _W(bits << _5_VALUE), _W(later & _5_BITS))
            plan = _W(_W(_W(four | five) + _ONE_MORE) | turns)
            states[PLANS + p] = _W(plan | _W(is_edge << _W(_EDGE_BIT)))


@kernel
def _draw_step(states, lane, drawn, direction):
    """Draw a step of the walk; return direction, mask, and the outputs drawn then.

    Parameters
    ----------
    states : (w,) uint32, updated in one lane
    lane, drawn : uint64
        ``drawn`` is the number of outputs drawn before.
    direction : int
        Of the step before.
    """
    p, stop = PLANS + drawn * ROW + lane, PLANS + _U(FIRST_WORDS) * ROW
    if p + ROW + ROW < stop and states[p] >> _U(_EDGE_BIT) == 0:
        plan, turn = _U(states[p]), _U(states[p + ROW + ROW])
        p += ROW + ROW
        new_direction = direction
        if plan & _U(1):
            new_direction = np.int64((turn >> _U(_4_VALUE)) & _U(3))
            p += ((turn >> _U(_4_COUNT)) & _U(0x7FF)) * ROW
        if p < stop:
            plan = _U(states[p])
            p += ((plan >> _U(_5_COUNT)) & _U(0x7FF)) * ROW
            if p < stop:
                mask = np.int64((plan >> _U(_5_VALUE)) & _U(7))
                return new_direction, mask, (p - PLANS) // ROW
    states[COUNTS + lane] = drawn
    if mt_random(states, lane) < P_CHANGE_DIRECTIONS:
        direction = mt_randbelow(states, lane, 4)
    mask = mt_randbelow(states, lane, 5)
    return direction, mask, _U(states[COUNTS + lane])


@kernel
def carve_floor(grid, num_gen_steps, python_states, lane):
    """Walk at random and turn inner cells of an all-wall grid into floor.

    Parameters
    ----------
    grid : (H, W) uint8, written
        0 wall, 1 floor.
    num_gen_steps : int
    python_states : (w,) uint32, updated
        As `plan_walk` leaves them.
    lane : int
    """
    height, width = grid.shape
    grid[:, :] = 0
    direction = mt_randbelow(python_states, lane, 4)
    row = 1 + mt_randbelow(python_states, lane, height - 1)
    col = 1 + mt_randbelow(python_states, lane, width - 1)
    drawn = _U(python_states[COUNTS + _U(lane)])
    for _ in range(num_gen_steps):
        direction, mask, drawn = _draw_step(python_states, _U(lane), drawn, direction)
        row = max(min(row + _WALK_ROWS[direction], height - 2), 1)
        col = max(min(col + _WALK_COLS[direction], width - 2), 1)
        top_row, left_col = _U(row - 1), _U(col - 1)
        for k in range(4):
            grid[top_row + _MASK_ROWS[mask, k], left_col + _MASK_COLS[mask, k]] = 1
    python_states[COUNTS + _U(lane)] = drawn
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
