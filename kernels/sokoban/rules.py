"""The rules of Sokoban: one step of one room, and the batch of them.

Source of the rules: gym-sokoban 0.0.6, `envs/sokoban_env.py`, push actions, as
ROLL's SokobanEnv plays them (35bea6a2); rewards are added in their order.

A grid holds all there is to know of a room::

    0 wall  1 floor  2 target  3 box on target  4 box  5 player  6 player on target

so targets are the codes 2, 3 and 6, and a room is solved when no 4 is left.  That is
what is counted, so rooms of one batch may have different numbers of boxes.  The border
of every grid is wall, which is why no index is checked: two cells ahead of a player is
still inside.

Actions are 1 up, 2 down, 3 left, 4 right; 0 is "no valid action": nothing moves,
the step counts.  Batch kernels take actions from ``first_action`` on instead, and add
the difference where they read one, without a pass of its own.
"""

import numpy as np

from .._jit import kernel

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)
NUM_CODES = 7
NO_ACTION, UP, DOWN, LEFT, RIGHT = range(5)

# Sets of codes, a bit each.
_OPEN = 1 << FLOOR | 1 << TARGET
_BOXES = 1 << BOX | 1 << BOX_ON_TARGET
_TARGETS = 1 << TARGET | 1 << BOX_ON_TARGET
# Rows down and columns to the right by action, plus 1, two bits each.
_DOWNWARD = 1 | 0 << 2 * UP | 2 << 2 * DOWN | 1 << 2 * LEFT | 1 << 2 * RIGHT
_RIGHTWARD = 1 | 1 << 2 * UP | 1 << 2 * DOWN | 0 << 2 * LEFT | 2 << 2 * RIGHT

PENALTY_STEP = -0.1
REWARD_BOX_ON_TARGET = 1.0
REWARD_FINISHED = 10.0


@kernel
def _delta(action, width):
    """Return how many cells further an action leads, 0 without a valid one."""
    down = ((_DOWNWARD >> (2 * action)) & 3) - 1
    right = ((_RIGHTWARD >> (2 * action)) & 3) - 1
    return width * down + right


@kernel
def _push(grids, i, player, delta):
    """Move the player of room i by a delta, if that is possible, with a box or without.

    Returns
    -------
    player : int64
        Cell of the player afterwards.
    gain : int64
        1 for a box pushed on its target, -1 off it, else 0.
    """
    # Sums and bits, no branches: where a random step goes cannot be guessed, and a
    # wrong guess costs as much as all of this.  What stays is written as it was.  An
    # unsigned index is not tested for being negative.
    here = np.int64(grids[i, np.uint64(player)])
    ahead = np.int64(grids[i, np.uint64(player + delta)])
    is_box = (_BOXES >> ahead) & 1
    # Behind a wall there may be no cell, but behind a box there is.
    far = np.uint64(player + delta + delta * is_box)
    beyond = np.int64(grids[i, far])
    moves = (_OPEN >> beyond) & 1
    pushes = is_box & moves
    on = pushes & (beyond == TARGET)
    off = pushes & (ahead == BOX_ON_TARGET)
    entered = PLAYER + ((_TARGETS >> ahead) & 1)
    grids[i, far] = beyond + pushes * (BOX - on - beyond)
    grids[i, np.uint64(player)] = here - moves * (PLAYER - FLOOR)
    player += delta * moves
    grids[i, np.uint64(player)] = here + moves * (entered - here)
    return player, on - off


@kernel
def _reward(gain, boxes_left):
    """Return the reward of a step: see `step_row`."""
    # A box pushed off its target takes away what one pushed on gives.
    reward = PENALTY_STEP + REWARD_BOX_ON_TARGET * gain
    return reward + REWARD_FINISHED * (boxes_left == 0)


@kernel
def step_row(grids, i, width, player, boxes_left, action):
    """Play one action in one room.

    Parameters
    ----------
    grids : (n, H * W) uint8, updated at row i
        The whole batch: a view of one grid would cost a reference count, which is
        as dear as the step.
    i : int
    width : int
    player : int
        Cell of the player, row * W + column.
    boxes_left : int
        Boxes that are not on targets.
    action : int
        0 to 4; the caller has validated it.

    Returns
    -------
    player : int64
        Cell of the player afterwards; another one if the action was effective.
    boxes_left : int64
    reward : float64
        -0.1, then +1 or -1 for a box pushed on or off its target, then +10 with no
        box left.
    """
    player, gain = _push(grids, i, np.int64(player), _delta(action, width))
    boxes_left = np.int64(boxes_left) - gain
    return player, boxes_left, _reward(gain, boxes_left)


# The batch takes a step in passes, each a loop over all rows: with the moves apart, the
# compiler makes vectors of the rest, and nobody has to guess who is skipped: twice as
# fast as `step_row` row by row.


@kernel
def _aim_rows(start, stop, actions, skip_mask, first_action, width, deltas):
    """Write the deltas (n,) int32 of actions, 0 for rows to skip."""
    shift = UP - first_action
    for i in range(np.uint64(start), np.uint64(stop)):
        deltas[i] = _delta(NO_ACTION if skip_mask[i] else actions[i] + shift, width)


@kernel
def _push_rows(start, stop, deltas, grids, players, effective, gains):
    """Move the players of rows and their boxes; ``gains`` (n,) int32 is written."""
    for i in range(np.uint64(start), np.uint64(stop)):
        before = np.int64(players[i])
        player, gain = _push(grids, i, before, np.int64(deltas[i]))
        players[i] = player
        effective[i] = player != before
        gains[i] = gain


@kernel
def _end_rows(
    start,
    stop,
    actions,
    skip_mask,
    first_action,
    max_steps,
    gains,
    boxes_left,
    elapsed_steps,
    rewards,
    terminations,
    truncations,
    valid,
    successes,
):
    """Write what follows from the gains of `_push_rows`."""
    for i in range(np.uint64(start), np.uint64(stop)):
        plays, gain = not skip_mask[i], gains[i]
        boxes_left[i] -= gain
        solved = plays & (boxes_left[i] == 0)
        elapsed_steps[i] += plays
        rewards[i] = _reward(gain, boxes_left[i]) if plays else 0.0
        terminations[i] = solved
        truncations[i] = plays & (elapsed_steps[i] == max_steps)
        valid[i] = plays & (actions[i] >= first_action)
        successes[i] = solved


@kernel
def step_rows(
    start,
    stop,
    actions,
    skip_mask,
    first_action,
    width,
    max_steps,
    grids,
    players,
    boxes_left,
    elapsed_steps,
    rewards,
    terminations,
    truncations,
    effective,
    valid,
    successes,
):
    """Play one action a row; rows to skip stay as they are and give zeros.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    actions : (n,) int64, read
        ``first_action`` and the next three: up, down, left, right; one below
        ``first_action`` is "no valid action".  Ignored in skipped rows.
    skip_mask : (n,) bool, read
    first_action : int
        1 for ROLL's actions.
    width : int
    max_steps : int
        Steps after which an episode is truncated, also beside a success; 0: never.
    grids : (n, H * W) uint8, updated
    players, boxes_left, elapsed_steps : (n,) int32, updated
    rewards : (n,) float64, written
    terminations, truncations : (n,) bool, written
    effective, valid, successes : (n,) bool, written
        The player moved; the action was valid; no box is left.
    """
    deltas, gains = np.empty(stop, np.int32), np.empty(stop, np.int32)
    _aim_rows(start, stop, actions, skip_mask, first_action, width, deltas)
    _push_rows(start, stop, deltas, grids, players, effective, gains)
    _end_rows(
        start,
        stop,
        actions,
        skip_mask,
        first_action,
        max_steps,
        gains,
        boxes_left,
        elapsed_steps,
        rewards,
        terminations,
        truncations,
        valid,
        successes,
    )


@kernel
def place_rows(start, stop, rows, levels, picks, grids, players, boxes_left):
    """Set the rooms of some rows to given levels.

    Parameters
    ----------
    start, stop : int
        The range of ``rows`` to work on.
    rows : (m,) int64, read
        The environments, each at most once.
    levels : (l, H * W) uint8, read
    picks : (m,) int64, read
        Row ``rows[j]`` gets ``levels[picks[j]]``.
    grids : (n, H * W) uint8, written
    players : (n,) int32, written
    boxes_left : (n,) int32, written
    """
    for j in range(start, stop):
        i = rows[j]
        boxes_left[i] = 0
        for cell in range(grids.shape[1]):
            code = levels[picks[j], cell]
            grids[i, cell] = code
            if code == PLAYER or code == PLAYER_ON_TARGET:
                players[i] = cell
            elif code == BOX:
                boxes_left[i] += 1
