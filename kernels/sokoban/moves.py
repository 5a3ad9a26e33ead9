"""Rules of Sokoban: one step of one room, and one step of a batch of rooms.

Source of the rules: gym-sokoban 0.0.6, `envs/sokoban_env.py`, push actions, as ROLL's
SokobanEnv plays them (35bea6a2); the parts of a reward are added in their order.

A grid is the whole state of a room, one code a cell::

    0 wall  1 floor  2 target  3 box on target  4 box  5 player  6 player on target

A room is solved when no 4 is left, so rooms of one batch may differ in their number of
boxes.  The border of every grid is wall.  Nothing stands on the border, so the cells
next to the player and next to a box are inside the grid, and no index is checked.

A step to the right looks at the cell ahead of the player and, behind a box, at the cell
beyond it (before and after, a dot is any code)::

    walk     5 1 .    1 5 .        push     5 4 2    1 5 3
    blocked  5 0 .    5 0 .        blocked  5 4 4    5 4 4

Actions are 1 up, 2 down, 3 left, 4 right; 0 is "no valid action": nothing moves, and
the step counts.

`roll_vec.envs.sokoban.env` has the rule of one room; `step_rooms` plays the same in a
batch.  The docstring of `kernels` explains the tricks: arrays beside a row number,
indices of uint64, tables, passes, `first_action`.
"""

import numpy as np

from .._jit import kernel
from ..outcomes import count_steps, store_flags
from ..views import as_int8, flat

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)
NUM_CODES = 7
NO_ACTION, UP, DOWN, LEFT, RIGHT = range(5)
# The player has the highest codes: ``code >= PLAYER`` finds it.
assert PLAYER < PLAYER_ON_TARGET == NUM_CODES - 1

PENALTY_STEP = -0.1
REWARD_BOX_ON_TARGET = 1.0
REWARD_FINISHED = 10.0


def _mark(*codes):
    """Return an array by code: 1 for these codes, 0 for the others."""
    return np.isin(range(NUM_CODES), codes).astype(np.int64)


# Look-up tables by code, in the place of branches, which a random player's steps make
# unpredictable: 4.6 ns a row of a batch; 7.9 with ``if``, and 9.1 with ``a if condition
# else b``, which the compiler turns into branches.
IS_BOX, IS_FREE = _mark(BOX, BOX_ON_TARGET), _mark(FLOOR, TARGET)
IS_TARGET = _mark(TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)
# A cell after the player or a box has come to it; and as the room is built.
_SAME = np.arange(NUM_CODES, dtype=np.uint8)
WITH_PLAYER, WITH_BOX, WITHOUT_PIECES = _SAME.copy(), _SAME.copy(), _SAME.copy()
WITHOUT_PIECES[[PLAYER, BOX]] = FLOOR
WITHOUT_PIECES[[PLAYER_ON_TARGET, BOX_ON_TARGET]] = TARGET
WITH_PLAYER[[FLOOR, TARGET]] = PLAYER, PLAYER_ON_TARGET
WITH_PLAYER[[BOX, BOX_ON_TARGET]] = PLAYER, PLAYER_ON_TARGET
WITH_BOX[[FLOOR, TARGET]] = BOX, BOX_ON_TARGET

# A step by the code ahead (of 8) and the code that a move needs free, in one word of
# bytes: both codes afterwards; whether the player moves; the change of the number of
# boxes on targets, plus 1.
IS_PUSH = np.outer(IS_BOX, IS_FREE)
STEPS = np.zeros((8, 8), np.uint32)


def _pack_steps():
    moves = np.where(IS_BOX[:, np.newaxis], IS_PUSH, IS_FREE[:, np.newaxis])
    parts = (
        np.where(moves, WITH_PLAYER[:, np.newaxis], _SAME[:, np.newaxis]),
        np.where(IS_PUSH, WITH_BOX, _SAME),
        moves,
        IS_PUSH * (IS_TARGET - IS_TARGET[:, np.newaxis]) + 1,
    )
    for number, part in enumerate(parts):
        STEPS[:NUM_CODES, :NUM_CODES] |= part.astype(np.uint32) << np.uint32(8 * number)
    return STEPS.reshape(-1)


STEPS = _pack_steps()
# What a player adds to the code of its cell.
_STANDS = PLAYER - FLOOR
assert _STANDS == PLAYER_ON_TARGET - TARGET


@kernel
def _offset(action, width):
    """Return how many cells further an action leads: 0 without a valid action."""
    down = np.int64(action == DOWN) - np.int64(action == UP)
    right = np.int64(action == RIGHT) - np.int64(action == LEFT)
    return width * down + right


@kernel
def _push(cells, first, player, offset):
    """Move the player of a room by an offset, and a box with it, if both can move.

    Parameters
    ----------
    cells : (n * H * W,) uint8, updated
        The rooms of a batch, one after the other.
    first : uint64
        The first cell of the room.
    player, offset : int64
        Its cell, row * W + column, and how many cells further it is meant to go.

    Returns
    -------
    player : int64
        Cell of the player afterwards.
    target_delta : int64
        Change of the number of boxes on targets: -1, 0 or 1.
    """
    # All cells are read before one is written: they may be the same, and a read that
    # may have to wait for a write makes the processor guess.
    here, there = first + np.uint64(player), first + np.uint64(player + offset)
    ahead = cells[there]
    # Behind a box there is a cell.  Behind a wall there may be none, so without a box
    # the cell beyond is the cell ahead: the player moves if it is free.
    far = first + np.uint64(player + offset + offset * IS_BOX[ahead])
    code = cells[here]
    step = np.int64(STEPS[np.uint64(ahead) * np.uint64(8) + np.uint64(cells[far])])
    moves = (step >> 16) & 1
    cells[here] = code - np.uint8(_STANDS * moves)
    # In this order: without a box, the cell beyond is the cell ahead.
    cells[far] = (step >> 8) & 255
    cells[there] = step & 255
    return player + offset * moves, (step >> 24) - 1


@kernel
def step_rooms(start, stop, at, actions, skip_mask, rules, state, results, infos):
    """Play one action a room; rooms to skip stay as they are and give zeros.

    It does what the rule ``step`` of `roll_vec.envs.sokoban.env.Sokoban` does, for
    many rooms: 5.4 ns a room, where the rule takes 16.

    Parameters
    ----------
    start, stop : int
        The rooms to work on.
    at : int
        Room i has the action and the results of row ``at + i``.
    actions : (T * n,) int64, read
        ``first_action`` and the next three: up, down, left, right; one below
        ``first_action`` is "no valid action".  Ignored in rooms to skip.
    skip_mask : (n,) bool, read
    rules : (int, int, float, bool)
        The first action: 1 for ROLL's; the steps after which an episode is truncated,
        also beside a success, 0: never; and two that Sokoban has no use for.
    state : tuple, updated
        See `roll_vec.kernels.families`: the variables of `Sokoban`, and ``width``.
    results : tuple of (T * n,) arrays, written
        Rewards, terminations, truncations.
    infos : named tuple of (T * n,) bool, written
    """
    variables, options, _, elapsed_steps = state
    first_action, max_steps = rules[0], rules[1]
    cells, players, boxes_left = (
        flat(variables.grid),
        variables.player,
        variables.boxes_left,
    )
    size = np.uint64(variables.grid.shape[1] * variables.grid.shape[2])
    width = np.int64(options.width)
    has_moved, valid = infos.action_is_effective, infos.action_is_valid
    rewards, terminations, truncations = results
    at = np.uint64(at)
    # All players move, then all results are written: 5.4 ns a row in two passes, 6.7 in
    # one, see `kernels`.
    # The first pass leaves its results where the second one writes.
    target_deltas, shift = as_int8(terminations), UP - first_action
    for i in range(np.uint64(start), np.uint64(stop)):
        action = NO_ACTION if skip_mask[i] else actions[at + i] + shift
        before = np.int64(players[i])
        offset = _offset(action, width)
        player, target_delta = _push(cells, i * size, before, offset)
        players[i] = player
        has_moved[at + i] = player != before
        target_deltas[at + i] = target_delta
    for i in range(np.uint64(start), np.uint64(stop)):
        k = at + i
        plays, target_delta = not skip_mask[i], target_deltas[k]
        boxes_left[i] -= target_delta
        solved = plays & (boxes_left[i] == 0)
        reward = PENALTY_STEP + REWARD_BOX_ON_TARGET * target_delta
        reward += REWARD_FINISHED * solved
        rewards[k] = reward if plays else 0.0
        terminations[k] = solved
        valid[k] = plays & (actions[k] >= first_action)
    count_steps(start, stop, at, skip_mask, elapsed_steps, max_steps, truncations)
    won = infos.success
    for i in range(np.uint64(start), np.uint64(stop)):
        won[at + i] = terminations[at + i]
    was_effective, was_valid = variables.action_is_effective, variables.action_is_valid
    store_flags(start, stop, at, has_moved, skip_mask, was_effective)
    store_flags(start, stop, at, valid, skip_mask, was_valid)
    store_flags(start, stop, at, won, skip_mask, variables.success)


@kernel
def write_features(start, stop, grids, out):
    """Write four planes: 1 where the player, a wall, a box, a target is, else 0.

    These are PufferLib's, in its order.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    grids : (n, H, W) uint8, C order, read
    out : (n, 4, H, W) uint8, C order, written
    """
    # Comparisons, of many cells at once: a table would be read cell by cell.
    size = np.uint64(grids.shape[1] * grids.shape[2])
    codes, planes = flat(grids), flat(out)
    for i in range(np.uint64(start), np.uint64(stop)):
        begin, at = i * size, np.uint64(4) * i * size
        for cell in range(size):
            planes[at + cell] = codes[begin + cell] >= PLAYER
        for cell in range(size):
            planes[at + size + cell] = codes[begin + cell] == WALL
        for cell in range(size):
            code, boxes = codes[begin + cell], at + np.uint64(2) * size
            planes[boxes + cell] = (code == BOX) | (code == BOX_ON_TARGET)
        for cell in range(size):
            code, targets = codes[begin + cell], at + np.uint64(3) * size
            planes[targets + cell] = (
                (code == TARGET) | (code == BOX_ON_TARGET) | (code == PLAYER_ON_TARGET)
            )
