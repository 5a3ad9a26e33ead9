"""The rules of FrozenLake: a step of one lake, and a step of a batch.

Source: Gymnasium 1.4.0, `envs/toy_text/frozen_lake.py` (moves, slips, rewards, ends,
the order of random draws).

Codes of a map's tiles and of the grid that is observed::

    0 player  1 ice  2 hole  3 goal  4 player in a hole  5 player on the goal

A map itself holds 1, 2 and 3 only; the start is ice.  Directions are Gymnasium's:
0 left, 1 down, 2 right, 3 up.  An action is ``first_action`` + direction; the one below
``first_action`` is "no valid action": nothing moves, nothing is drawn, the reward is 0
and the probability 1, the step counts.
"""

import functools
from typing import NamedTuple

import numpy as np

from .._jit import kernel
from ..outcomes import reaches_limit
from ..rng.pcg64 import pcg_random, pcg_random_rows, pcg_seed
from ..unroll import copy_range, make_level_kernels, make_unroll
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
assert max(LEFT, DOWN, RIGHT, UP) == STAY - 1


class LakeOptions(NamedTuple):
    """What all lakes of a batch share; steps read it."""

    neighbours: np.ndarray  # (H * W, 8) int64, see `make_neighbours`
    slip: np.ndarray  # (2, 3) float64, see `make_slip`
    reward_schedule: np.ndarray  # (3,) float64, for entering each of `REWARD_TILES`


class LakeState(NamedTuple):
    """The variables of a batch of lakes; steps update the positions."""

    maps: np.ndarray  # (n, H * W) uint8, a map a row; or (1, H * W), one for all rows
    starts: np.ndarray  # (n,) int64, the start cells; with one map not written
    positions: np.ndarray  # (n,) int64, row * W + column


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
def categorical_sample(cumulative, uniform):
    """Return the first index whose cumulative probability exceeds ``uniform``, or 0.

    As Gymnasium's function of this name: rounding may leave the last sum just below a
    uniform, and the argmax of no True is 0.
    """
    for i in range(cumulative.shape[0]):
        if cumulative[i] > uniform:
            return i
    return 0


@kernel
def sample_slip(uniform, first, second, third):
    """Return `categorical_sample` of three cumulative probabilities.

    By counting: a branch would be mispredicted half the time.
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
def _move(maps, m, neighbours, position, heading):
    """Return the cell that a heading leads to, and the code of its tile.

    The code has the player on it, if the player stood on a terminal tile before:
    Gymnasium's terminal states lead to themselves.
    """
    here = np.uint64(position)
    stays = is_terminal(maps[m, here])
    there = np.uint64(neighbours[here, np.uint64(heading | stays * STAY)])
    return np.int64(there), maps[m, there] + stays * _PLAYER_ON


@kernel
def _compute_outcome(code, valid, prob, at_goal, in_hole, on_ice):
    """Return the results of a step from the code of `_move`.

    Parameters
    ----------
    code : int
    valid : bool
    prob, at_goal, in_hole, on_ice : float64
        Probability of the slip; the three rewards.

    Returns
    -------
    reward : float64
    terminated, success : bool
    prob : float64
    """
    entered = valid & (code <= GOAL)
    reward = in_hole if code == HOLE else on_ice
    reward = at_goal if code == GOAL else reward
    return (
        reward if entered else 0.0,
        valid & is_terminal(code),
        valid & ((code == GOAL) | (code == PLAYER_ON_GOAL)),
        prob if entered else 1.0,
    )


# ------------------------------------------------------------------ a batch


@kernel
def _move_rows(start, stop, at, maps, neighbours, codes, positions, effective):
    """Move the players of rows; ``codes`` are headings, then those of `_move`."""
    per_row = np.uint64(1 if maps.shape[0] == positions.shape[0] else 0)
    for i in range(np.uint64(start), np.uint64(stop)):
        before = positions[i]
        heading = codes[at + i]
        position, code = _move(maps, i * per_row, neighbours, before, heading)
        positions[i] = position
        effective[at + i] = position != before
        codes[at + i] = code


@kernel
def step_rows(start, stop, at, actions, skip_mask, rules, state, results, infos):
    """Take one step a row; rows to skip stay as they are and give zeros.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    at : int
        See `..unroll`: row i has the action and the results of row ``at + i``.
    actions : (T * n,) int64, read
        From ``first_action - 1`` to ``first_action + 3``; ignored in skipped rows.
    skip_mask : (n,) bool, read
    rules : (int, int)
        The first action: 0 for Gymnasium's, 1 for ROLL's; the steps after which an
        episode is truncated, also if it terminates, 0: never.
    state : tuple, updated
        Of `..unroll`; the variables are the arrays of `LakeState`, the options begin
        with those of `LakeOptions`.
    results : tuple of (T * n,) arrays, written
        Rewards, terminations, truncations.
    infos : tuple of (T * n,) arrays, written
        bool: whether the player moved, whether the action was one of the game, and
        success; float64: the probability of the slip, 1 without a valid action and on a
        terminal tile.  The last may be (n,), where it is no info: a step that wrote T
        rows of it would only fill the cache.
    """
    first_action, max_steps = rules
    (maps, _, positions), (neighbours, slip, schedule), rng_states, elapsed_steps = (
        state
    )
    rewards, terminations, truncations = results
    effective, valid, successes, probs = infos
    first, second, third = slip[1, 0], slip[1, 1], slip[1, 2]
    aside, along = slip[0, 0], slip[0, 1]
    at_goal, in_hole, on_ice = schedule[0], schedule[1], schedule[2]
    at = np.uint64(at)
    has_probs = np.uint64(probs.shape[0] == rewards.shape[0])
    prob_at = at * has_probs
    # Passes leave their results where the last one writes.
    uniforms, codes = rewards, as_uint8(successes)
    # Passes without branches, see `kernels`: the draws, the table look-ups and the
    # results.  LLVM vectorises all but the look-ups: more than twice as fast as
    # `step_row` row by row.  The look-ups are a function of their own, or LLVM would
    # not vectorise all others: 3.2 ns a row instead of 2.8.
    for i in range(np.uint64(start), np.uint64(stop)):
        plays = not skip_mask[i]
        elapsed_steps[i] += plays
        truncations[at + i] = plays & reaches_limit(elapsed_steps[i], max_steps)
        valid[at + i] = plays & (actions[at + i] >= first_action)
    pcg_random_rows(start, stop, at, valid, rng_states, uniforms)
    for i in range(np.uint64(start), np.uint64(stop)):
        slip_index = sample_slip(uniforms[at + i], first, second, third)
        direction = turn(actions[at + i] - first_action, slip_index)
        codes[at + i] = direction if valid[at + i] else STAY
        probs[prob_at + i] = along if slip_index == 1 else aside
    _move_rows(start, stop, at, maps, neighbours, codes, positions, effective)
    for i in range(np.uint64(start), np.uint64(stop)):
        k = at + i
        prob = probs[prob_at + i]
        reward, terminated, success, prob = _compute_outcome(
            codes[k], valid[k], prob, at_goal, in_hole, on_ice
        )
        rewards[k] = reward
        terminations[k] = terminated
        successes[k] = success
        probs[prob_at + i] = 0.0 if skip_mask[i] else prob


@kernel
def play_row(i, at, actions, skip_mask, rules, state, results, infos):
    """Take one step on lake i alone, which is not to skip; see `step_rows`.

    A lake with a map of its own, or the only lake.  It takes 18 ns within a loop over
    rows, five passes over one row 170.
    """
    first_action, max_steps = rules
    (maps, _, positions), (neighbours, slip, schedule), rng_states, elapsed_steps = (
        state
    )
    rewards, terminations, truncations = results
    effective, valid, successes, probs = infos
    k, before = at + i, positions[i]
    is_valid = actions[k] >= first_action
    uniform = pcg_random(rng_states, i) if is_valid else 0.0
    slip_index = sample_slip(uniform, slip[1, 0], slip[1, 1], slip[1, 2])
    heading = turn(actions[k] - first_action, slip_index) if is_valid else STAY
    position, code = _move(maps, i, neighbours, before, heading)
    rewards[k], terminations[k], successes[k], prob = _compute_outcome(
        code, is_valid, slip[0, slip_index], schedule[0], schedule[1], schedule[2]
    )
    positions[i] = position
    elapsed_steps[i] += 1
    truncations[k] = reaches_limit(elapsed_steps[i], max_steps)
    effective[k], valid[k] = position != before, is_valid
    if probs.shape[0] == rewards.shape[0]:
        probs[k] = prob


@kernel
def start_next(i, episodes, state):
    """Begin an episode of row i on the one map: draw its start cell with one uniform.

    ``episodes`` are the cumulative probabilities of the cells, (H * W,) float64.
    """
    (_, _, positions), _, rng_states, elapsed_steps = state
    positions[i] = categorical_sample(episodes[0], pcg_random(rng_states, i))
    elapsed_steps[i] = 0
    return True


@kernel
def place_row(i, levels, level_index, seed, state):
    """Begin an episode of row i on a map of its own.

    ``levels`` are maps (l, H * W) uint8, and their start cells (l,) int64; ``seed`` is
    that of the episode's slips.
    """
    (maps, starts, positions), _, rng_states, _ = state
    level_maps, level_starts = levels
    for cell in range(maps.shape[1]):
        maps[i, cell] = level_maps[level_index, cell]
    positions[i] = starts[i] = level_starts[level_index]
    pcg_seed(rng_states, i, seed)
    # Gymnasium's reset uses up one draw for the start cell.
    pcg_random(rng_states, i)


@kernel
def observe_rows(start, stop, at, state, out):
    """Write the observation of each lake: its map with the player on it, or a position.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    at : int
        See `..unroll`.
    state : tuple, read
    out : tuple of one array, written at ``at + i``
        (T * n, H * W) uint8; or (T * n,) int64, for positions.
    """
    _observe(start, stop, at, state[0][0], state[0][2], out[0])


@kernel
def _observe(start, stop, at, maps, positions, out):
    num_cells, at = maps.shape[1], np.uint64(at)
    if out.ndim == 1:
        copy_range(positions, out, start, stop, at)
    else:
        if maps.shape[0] == positions.shape[0]:
            first, last = start * num_cells, stop * num_cells
            copy_range(flat(maps), flat(out), first, last, at * np.uint64(num_cells))
        else:
            for i in range(np.uint64(start), np.uint64(stop)):
                for cell in range(num_cells):
                    out[at + i, cell] = maps[0, cell]
        for i in range(np.uint64(start), np.uint64(stop)):
            cell = np.uint64(positions[i])
            out[at + i, cell] = player_code(out[at + i, cell])


@kernel
def write_reset_infos(k, infos):
    """Write the probability of a reset, 1, and no other info."""
    infos[3][k] = 1.0


@kernel
def _write_masks(start, stop, rows, variables, options, masks):
    """Write the actions that may move the player; see `..unroll`.

    They have an outcome with a chance above 0 that leads to another cell; none has on a
    terminal tile.
    """
    (maps, _, positions), (neighbours, slip, _) = variables, options
    per_row = 1 if maps.shape[0] == positions.shape[0] else 0
    for j in range(start, stop):
        i = rows[j]
        stays = is_terminal(maps[i * per_row, positions[i]])
        for direction in range(4):
            masks[j, direction] = 0
            for outcome in range(3):
                ahead = neighbours[positions[i], turn(direction, outcome)]
                if slip[0, outcome] > 0.0 and ahead != positions[i] and not stays:
                    masks[j, direction] = 1


LAKE = make_unroll(
    step_rows,
    observe_rows,
    start_next,
    "lake",
    _write_masks,
    write_reset_infos,
    play_row=play_row,
)
_begin_next, _place_rows = make_level_kernels(place_row, "random_lake")
RANDOM_LAKE = make_unroll(
    step_rows,
    observe_rows,
    _begin_next,
    "random_lake",
    _write_masks,
    place_rows=_place_rows,
    play_row=play_row,
)
