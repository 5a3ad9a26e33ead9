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
the step counts.
"""

# depends: _jit.py sha256:e75ec21cdcff0df5

import numpy as np

from ._jit import kernel

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
    # Sums and bits, no branches: where a random step goes cannot be guessed, and a
    # wrong guess costs as much as all of this.  What stays is written as it was.
    player, boxes_left = np.int64(player), np.int64(boxes_left)
    down = ((_DOWNWARD >> (2 * action)) & 3) - 1
    right = ((_RIGHTWARD >> (2 * action)) & 3) - 1
    delta = width * down + right
    here = np.int64(grids[i, player])
    ahead = np.int64(grids[i, player + delta])
    is_box = (_BOXES >> ahead) & 1
    # Behind a wall there may be no cell, but behind a box there is.
    far = player + delta + delta * is_box
    beyond = np.int64(grids[i, far])
    moves = (_OPEN >> beyond) & 1
    pushes = is_box & moves
    on = pushes & (beyond == TARGET)
    off = pushes & (ahead == BOX_ON_TARGET)
    entered = PLAYER + ((_TARGETS >> ahead) & 1)
    grids[i, far] = beyond + pushes * (BOX - on - beyond)
    grids[i, player] = here - moves * (PLAYER - FLOOR)
    player += delta * moves
    grids[i, player] = here + moves * (entered - here)
    boxes_left += off - on
    # A box pushed off its target takes away what one pushed on gives.
    reward = PENALTY_STEP + REWARD_BOX_ON_TARGET * (on - off)
    reward += REWARD_FINISHED * (boxes_left == 0)
    return player, boxes_left, reward


@kernel
def step_rows(
    start,
    stop,
    actions,
    skip_mask,
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
        0 to 4; ignored in skipped rows.
    skip_mask : (n,) bool, read
    width : int
    max_steps : int
        Steps after which an episode is truncated, also beside a success; 0: never.
    grids : (n, H * W) uint8, updated
    players, boxes_left, elapsed_steps : (n,) int32, updated
    rewards : (n,) float64, written
    terminations, truncations : (n,) bool, written
    effective, valid, successes : (n,) bool, written
        The player moved; the action was not 0; no box is left.
    """
    # An unsigned index is not tested for being negative: a fifth of the time.
    for i in range(np.uint64(start), np.uint64(stop)):
        if skip_mask[i]:
            rewards[i] = 0.0
            terminations[i] = False
            truncations[i] = False
            effective[i] = False
            valid[i] = False
            successes[i] = False
            continue
        before, action = players[i], actions[i]
        player, left, reward = step_row(grids, i, width, before, boxes_left[i], action)
        elapsed_steps[i] += 1
        rewards[i] = reward
        terminations[i] = left == 0
        truncations[i] = elapsed_steps[i] == max_steps
        effective[i] = player != before
        valid[i] = action != NO_ACTION
        successes[i] = left == 0
        players[i] = player
        boxes_left[i] = left


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
