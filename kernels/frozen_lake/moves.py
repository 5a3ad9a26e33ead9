"""The rules of FrozenLake: codes, tables, and a step of a batch.

Source: Gymnasium 1.4.0, `envs/toy_text/frozen_lake.py` (moves, slips, rewards, ends,
the order of random draws).

Codes of a map's tiles and of the grid that is observed::

    0 player  1 ice  2 hole  3 goal  4 player in a hole  5 player on the goal

A map itself holds 1, 2 and 3 only; the start is ice.  Directions are Gymnasium's:
0 left, 1 down, 2 right, 3 up.  An action is ``first_action`` + direction; the one below
``first_action`` is "no valid action": nothing moves, nothing is drawn, the reward is 0
and the probability 1, the step counts.

`roll_vec.envs.frozen_lake.env` has the rule of one lake.  `step_lakes` and
`step_random_lakes` play the same in a batch.
"""

import functools

import numpy as np

from .._jit import kernel
from ..outcomes import count_steps, store_flags
from ..rng.pcg64 import pcg_random_rows
from ..views import as_uint8, flat

PLAYER, ICE, HOLE, GOAL, PLAYER_IN_HOLE, PLAYER_ON_GOAL = range(6)
NUM_CODES = 6
LEFT, DOWN, RIGHT, UP = range(4)
REWARD_TILES = (GOAL, HOLE, ICE)

# Added to a tile where episodes end, if the player stands on it.
_PLAYER_ON = PLAYER_IN_HOLE - HOLE
assert PLAYER_ON_GOAL - GOAL == _PLAYER_ON
# A tile above this has the player on it.
assert max(ICE, HOLE, GOAL) == GOAL
# A heading is a direction, or one of these: a bit, which is set without a branch.
STAY = 4
# The code of a step without a valid action.
INVALID = 6
# By code of a grid, the tile below the player; and by tile, the player on it.
TILES_BELOW = np.array([ICE, ICE, HOLE, GOAL, HOLE, GOAL], np.uint8)
PLAYER_CODES = np.array([0, PLAYER, PLAYER_IN_HOLE, PLAYER_ON_GOAL], np.uint8)
assert max(LEFT, DOWN, RIGHT, UP) == STAY - 1


@functools.lru_cache(maxsize=1)
def make_neighbours(height, width):
    """Return the (H * W, 8) int64 cells that the headings lead to from each cell.

    Not to be written: for the same size it is the same array.

    Columns 0 to 3 are the directions: at the edge one leads to the cell itself.  So do
    columns 4 to 7, `STAY` with and without a direction.
    """
    cells = np.arange(height * width)
    rows, cols = np.divmod(cells, width)
    return np.stack(
        [
            rows * width + np.maximum(cols - 1, 0),
            np.minimum(rows + 1, height - 1) * width + cols,
            rows * width + np.minimum(cols + 1, width - 1),
            np.maximum(rows - 1, 0) * width + cols,
            *[cells] * 4,
        ],
        axis=1,
    )


def make_slip(is_slippery, success_rate):
    """Return the (2, 3) float64 table of slips; see `turn` for their order.

    Row 0: probabilities, the first and the last the same.  Row 1: cumulative sums.
    """
    fail_rate = (1.0 - success_rate) / 2.0
    chances = [fail_rate, success_rate, fail_rate] if is_slippery else [0.0, 1.0, 0.0]
    return np.array([chances, np.cumsum(chances)])


# ------------------------------------------------------------------ one lake


@kernel
def sample_slip(uniform, first, second, third):
    """Return the first of three cumulative probabilities above a uniform, or 0.

    As ``categorical_sample`` of Gymnasium: rounding may leave the last sum just below a
    uniform, and the argmax of no True is 0.  By counting: a branch would be
    mispredicted half the time.
    """
    # As integers: without the compiler a sum of numpy's booleans is a boolean.
    count = np.int64(first <= uniform)
    count += np.int64(second <= uniform) + np.int64(third <= uniform)
    return 0 if count == 3 else count


@kernel
def turn(direction, slip_index):
    """Return the direction of a slip: 0 is clockwise of one, 1 along, 2 the other."""
    return (direction + slip_index - 1) & 3


@kernel
def is_terminal(tile):
    """Return whether an episode ends on a tile."""
    return tile != ICE


@kernel
def player_code(tile):
    """Return the code of the player on a tile."""
    return tile + _PLAYER_ON if is_terminal(tile) else PLAYER


@kernel
def _draw_headings(
    start,
    stop,
    at,
    actions,
    skip_mask,
    first_action,
    slip,
    rng_states,
    valid,
    codes,
    uniforms,
):
    """Draw the slips of rows, and write where they head.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    at : uint64
        Where the items of row 0 are in arrays of T * n.
    actions : (T * n,) int64, read
    skip_mask : (n,) bool, read
    first_action : int
    slip : (2, 3) float64, read
    rng_states : (6, n) uint64, updated
    valid : (T * n,) bool, written
        Which rows have a valid action.
    codes : (T * n,) uint8, written
        Directions; `STAY` of the other rows.
    uniforms : (T * n,) float64, written
        What was drawn; without a meaning in other rows.
    """
    first, second, third = slip[1, 0], slip[1, 1], slip[1, 2]
    for i in range(np.uint64(start), np.uint64(stop)):
        valid[at + i] = (not skip_mask[i]) & (actions[at + i] >= first_action)
    pcg_random_rows(start, stop, at, valid, rng_states, uniforms)
    for i in range(np.uint64(start), np.uint64(stop)):
        k = at + i
        slip_index = sample_slip(uniforms[k], first, second, third)
        direction = turn(actions[k] - first_action, slip_index)
        codes[k] = direction if valid[k] else STAY


@kernel
def _move_rows(start, stop, at, board, neighbours, position, codes):
    """Move the players of rows on one map; ``codes`` are headings, then tiles.

    The code of a tile has the player on it, if the player stood on a terminal tile
    before: Gymnasium's terminal states lead to themselves.
    """
    # Look-ups: a function of its own, or LLVM would not vectorise all other passes, and
    # a step would take 3.2 ns a row instead of 2.8.
    for i in range(np.uint64(start), np.uint64(stop)):
        here = np.uint64(position[i])
        stays = is_terminal(board[here])
        there = np.uint64(neighbours[here, np.uint64(codes[at + i] | stays * STAY)])
        position[i] = there
        codes[at + i] = board[there] + stays * _PLAYER_ON


@kernel
def _move_players(start, stop, at, grids, size, neighbours, position, codes, has_moved):
    """Move the players of rows on their grids; see `_move_rows`.

    ``grids`` are (n * H * W,) uint8, updated; ``has_moved`` is (T * n,) bool, written.
    """
    for i in range(np.uint64(start), np.uint64(stop)):
        before, first = np.uint64(position[i]), i * size
        code = grids[first + before]
        heading = np.uint64(codes[at + i] | (code != PLAYER) * STAY)
        cell = np.uint64(neighbours[before, heading])
        tile = grids[first + cell]
        # What stays is written as it is: branches would be mispredicted.
        grids[first + before] = ICE
        below = TILES_BELOW[tile]
        grids[first + cell] = PLAYER_CODES[below]
        position[i] = cell
        has_moved[at + i] = cell != before
        codes[at + i] = ICE if tile == PLAYER else tile


@kernel
def _finish_steps(start, stop, at, skip_mask, is_valid, codes, won, success):
    """Write `INVALID` to ``codes`` of rows without a valid action, and who has won.

    ``codes`` is (T * n,) uint8, updated; ``is_valid`` (T * n,) bool, read; ``won``
    (T * n,) bool, written; ``success`` (n,) bool, updated.
    """
    for i in range(np.uint64(start), np.uint64(stop)):
        codes[at + i] = codes[at + i] if is_valid[at + i] else np.uint8(INVALID)
    for i in range(np.uint64(start), np.uint64(stop)):
        code = codes[at + i]
        won[at + i] = (code == GOAL) | (code == PLAYER_ON_GOAL)
    store_flags(start, stop, at, won, skip_mask, success)


@kernel
def step_lakes(start, stop, at, actions, skip_mask, rules, state, results, infos):
    """Take one step a lake, on one map; lakes to skip stay and give zeros.

    It does what the rule ``step`` of `roll_vec.envs.frozen_lake.env.FrozenLake` does,
    for many lakes: 2.8 ns a lake, where the rule takes 18.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    at : int
        Row i has the action and the results of row ``at + i``.
    actions : (T * n,) int64, read
        From ``first_action - 1`` to ``first_action + 3``; ignored in rows to skip.
    skip_mask : (n,) bool, read
    rules : (int, int, float, bool)
        The first action: 0 for Gymnasium's, 1 for ROLL's; the steps after which an
        episode is truncated, also if it terminates, 0: never; and two that lakes have
        no use for.
    state : tuple, updated
        See `roll_vec.kernels.families`: the variables ``position``, ``prob`` and
        ``success``; the options ``board`` (H, W) uint8, ``neighbours`` and ``slip`` as
        `make_neighbours` and `make_slip` return them, ``rewards`` (3,) float64 for
        goal, hole and ice.
    results : tuple of (T * n,) arrays, written
        Rewards, terminations, truncations.
    infos : named tuple of (T * n,) arrays, written
        ``prob`` and ``success``.
    """
    variables, options, rng_states, elapsed_steps = state
    first_action, max_steps = rules[0], rules[1]
    prob, probs = variables.prob, infos.prob
    rewards, terminations, truncations = results
    schedule, slip = options.rewards, options.slip
    at_goal, in_hole, on_ice = schedule[0], schedule[1], schedule[2]
    aside, along, first, second = slip[0, 0], slip[0, 1], slip[1, 0], slip[1, 1]
    at = np.uint64(at)
    # Passes without branches, see `kernels`: the draws, the table look-ups and the
    # results.  LLVM vectorises all but the look-ups.  They leave their results where
    # the last one writes.
    valid, codes, uniforms = truncations, as_uint8(terminations), rewards
    more = first_action, slip, rng_states, valid, codes, uniforms
    _draw_headings(start, stop, at, actions, skip_mask, *more)
    board, table, position = flat(options.board), options.neighbours, variables.position
    _move_rows(start, stop, at, board, table, position, codes)
    won, success = infos.success, variables.success
    _finish_steps(start, stop, at, skip_mask, valid, codes, won, success)
    for i in range(np.uint64(start), np.uint64(stop)):
        k, skips = at + i, skip_mask[i]
        # The second slip, where the first of the sums above the uniform is the second.
        is_along = (first <= uniforms[k]) & (uniforms[k] < second)
        chance = along if is_along else aside
        chance = chance if codes[k] <= GOAL else 1.0
        # The variable of a row to skip stays as it is.
        prob[i] = prob[i] if skips else chance
        probs[k] = 0.0 if skips else chance
    for i in range(np.uint64(start), np.uint64(stop)):
        code = codes[at + i]
        reward = in_hole if code == HOLE else on_ice
        reward = at_goal if code == GOAL else reward
        rewards[at + i] = reward if code <= GOAL else 0.0
    for i in range(np.uint64(start), np.uint64(stop)):
        code = codes[at + i]
        terminations[at + i] = (code != ICE) & (code != INVALID)
    count_steps(start, stop, at, skip_mask, elapsed_steps, max_steps, truncations)


@kernel
def step_random_lakes(
    start, stop, at, actions, skip_mask, rules, state, results, infos
):
    """Take one step a lake, each on a map of its own; see `step_lakes`.

    Variables are ``grid``, (n, H, W) uint8, with the player, ``position``, and those of
    `roll_vec.envs.frozen_lake.env.RandomFrozenLake` which are infos.
    """
    variables, options, rng_states, elapsed_steps = state
    first_action, max_steps = rules[0], rules[1]
    rewards, terminations, truncations = results
    at = np.uint64(at)
    has_moved, valid = infos.action_is_effective, infos.action_is_valid
    codes, slip = as_uint8(terminations), options.slip
    more = first_action, slip, rng_states, valid, codes, rewards
    _draw_headings(start, stop, at, actions, skip_mask, *more)
    grids, size = flat(variables.grid), np.uint64(options.neighbours.shape[0])
    table, position = options.neighbours, variables.position
    _move_players(start, stop, at, grids, size, table, position, codes, has_moved)
    was_effective, was_valid = variables.action_is_effective, variables.action_is_valid
    store_flags(start, stop, at, has_moved, skip_mask, was_effective)
    store_flags(start, stop, at, valid, skip_mask, was_valid)
    won, success = infos.success, variables.success
    _finish_steps(start, stop, at, skip_mask, valid, codes, won, success)
    for i in range(np.uint64(start), np.uint64(stop)):
        rewards[at + i] = codes[at + i] == GOAL
    for i in range(np.uint64(start), np.uint64(stop)):
        code = codes[at + i]
        terminations[at + i] = (code != ICE) & (code != INVALID)
    count_steps(start, stop, at, skip_mask, elapsed_steps, max_steps, truncations)
