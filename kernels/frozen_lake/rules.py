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

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from ..lockstep import copy_range, next_level
from ..outcomes import StepOutcome, reaches_limit
from ..rng.pcg64 import pcg_random, pcg_random_rows, pcg_seed

_1 = np.uint64(1)

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


class LakeParameters(NamedTuple):
    """The maps and rules of a batch of lakes; steps read them."""

    first_action: int  # 0 for Gymnasium's actions, 1 for ROLL's
    maps: np.ndarray  # (n, H * W) uint8, a map a row; or (1, H * W), one for all rows
    neighbours: np.ndarray  # (H * W, 8) int64, see `make_neighbours`
    slip: np.ndarray  # (2, 3) float64, see `make_slip`
    reward_schedule: np.ndarray  # (3,) float64, for entering each of `REWARD_TILES`


class LakeState(NamedTuple):
    """The state of a batch of lakes; steps update it."""

    positions: np.ndarray  # (n,) int64, row * W + column
    elapsed_steps: np.ndarray  # (n,) int32, steps of the episode
    rng_states: np.ndarray  # (6, n) uint64, see `..rng.pcg64`


def make_neighbours(height, width):
    """Return the (H * W, 8) int64 cells that the headings lead to from each cell.

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


@kernel
def step_row(
    m,
    position,
    action,
    uniform,
    first_action,
    maps,
    neighbours,
    slip,
    reward_schedule,
):
    """Take one step on one lake.

    Parameters
    ----------
    m : int
        Number of the lake's map.
    position : int
    action : int
    uniform : float
        The draw in [0, 1) that decides the slip.  Every step with a valid action uses
        one up, also on a terminal tile; without a valid action it has no meaning.
    first_action, maps, neighbours, slip, reward_schedule
        The items of `LakeParameters`.

    Returns
    -------
    position : int64
    reward : float64
    terminated, success : bool
        Without a valid action both are False, also on a terminal tile.
    prob : float64
        Probability of the slip; 1 without a valid action and on a terminal tile.
    """
    valid = action >= first_action
    slip_index = sample_slip(uniform, slip[1, 0], slip[1, 1], slip[1, 2])
    heading = turn(action - first_action, slip_index) if valid else STAY
    position, code = _move(maps, m, neighbours, position, heading)
    reward, terminated, success, prob = _compute_outcome(
        code,
        valid,
        slip[0, slip_index],
        reward_schedule[0],
        reward_schedule[1],
        reward_schedule[2],
    )
    return position, reward, terminated, success, prob


# ------------------------------------------------------------------ a batch


@kernel
def _move_rows(start, stop, maps, neighbours, codes, positions, effective):
    """Move the players of rows; ``codes`` (n,) uint8 are headings, then of `_move`."""
    per_row = np.uint64(1 if maps.shape[0] == positions.shape[0] else 0)
    for i in range(np.uint64(start), np.uint64(stop)):
        before = positions[i]
        position, code = _move(maps, i * per_row, neighbours, before, codes[i])
        positions[i] = position
        effective[i] = position != before
        codes[i] = code


@kernel
def step_rows(start, stop, actions, skip_mask, max_steps, lakes, state, outcome, probs):
    """Take one step a row; rows to skip stay as they are and give zeros.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    actions : (n,) int64, read
        From ``first_action - 1`` to ``first_action + 3``; ignored in skipped rows.
    skip_mask : (n,) bool, read
    max_steps : int
        Steps after which an episode is truncated, also if it terminates; 0: never.
    lakes : tuple of the items of `LakeParameters`, read
    state : tuple of the arrays of `LakeState`, updated
    outcome : tuple of the arrays of `StepOutcome`, written
    probs : (n,) float64, written
        Probability of the slip; 1 without a valid action and on a terminal tile.
    """
    first_action, maps, neighbours, slip, reward_schedule = LakeParameters(*lakes)
    positions, elapsed_steps, rng_states = LakeState(*state)
    rewards, terminations, truncations, effective, valid, successes = StepOutcome(
        *outcome
    )
    first, second, third = slip[1, 0], slip[1, 1], slip[1, 2]
    aside, along = slip[0, 0], slip[0, 1]
    at_goal, in_hole = reward_schedule[0], reward_schedule[1]
    on_ice = reward_schedule[2]
    # Passes leave their results where the last one writes.
    uniforms, codes = rewards, successes.view(np.uint8)
    # Passes without branches, see `kernels`: the draws, the table look-ups and the
    # results.  LLVM vectorises all but the look-ups: more than twice as fast as
    # `step_row` row by row.  The look-ups are a function of their own, or LLVM would
    # not vectorise all others: 3.2 ns a row instead of 2.8.
    for i in range(np.uint64(start), np.uint64(stop)):
        plays = not skip_mask[i]
        elapsed_steps[i] += plays
        truncations[i] = plays & reaches_limit(elapsed_steps[i], max_steps)
        valid[i] = plays & (actions[i] >= first_action)
    pcg_random_rows(start, stop, valid, rng_states, uniforms)
    for i in range(np.uint64(start), np.uint64(stop)):
        slip_index = sample_slip(uniforms[i], first, second, third)
        direction = turn(actions[i] - first_action, slip_index)
        codes[i] = direction if valid[i] else STAY
        probs[i] = along if slip_index == 1 else aside
    _move_rows(start, stop, maps, neighbours, codes, positions, effective)
    for i in range(np.uint64(start), np.uint64(stop)):
        reward, terminated, success, prob = _compute_outcome(
            codes[i], valid[i], probs[i], at_goal, in_hole, on_ice
        )
        rewards[i] = reward
        terminations[i] = terminated
        successes[i] = success
        probs[i] = 0.0 if skip_mask[i] else prob


@kernel
def seed_rows(rows, seeds, rng_states):
    """Seed the generators of some rows.

    Parameters
    ----------
    rows : (m,) int64, read
    seeds : (m,) uint64, read
    rng_states : (6, n) uint64, written at ``rows``
    """
    for j in range(rows.shape[0]):
        pcg_seed(rng_states, rows[j], seeds[j])


@kernel
def start_row(i, cumulative, positions, elapsed_steps, rng_states):
    """Begin an episode of row i: draw its start cell with one uniform."""
    positions[i] = categorical_sample(cumulative, pcg_random(rng_states, i))
    elapsed_steps[i] = 0


@kernel
def start_rows(start, stop, rows, cumulative, state):
    """Begin episodes of some rows; see `start_row`.

    Parameters
    ----------
    start, stop : int
        The range of ``rows`` to work on.
    rows : (m,) int64, read
        Each at most once.
    cumulative : (H * W,) float64, read
        Cumulative probabilities of the cells.
    state : tuple of the arrays of `LakeState`, updated
    """
    positions, elapsed_steps, rng_states = state
    for j in range(start, stop):
        start_row(rows[j], cumulative, positions, elapsed_steps, rng_states)


@kernel
def place_row(
    i, level_maps, level_starts, level_index, seed, maps, starts, positions, rng_states
):
    """Begin an episode of row i on a map of its own; its elapsed steps stay."""
    for cell in range(maps.shape[1]):
        maps[i, cell] = level_maps[level_index, cell]
    positions[i] = starts[i] = level_starts[level_index]
    pcg_seed(rng_states, i, seed)
    # Gymnasium's reset uses up one draw for the start cell.
    pcg_random(rng_states, i)


@kernel
def place_rows(
    rows, level_maps, level_starts, level_indices, seeds, maps, starts, state
):
    """Begin episodes of some rows on maps of their own; their elapsed steps stay.

    Parameters
    ----------
    rows : (m,) int64, read
        The rows, each at most once.
    level_maps : (l, H * W) uint8, read
    level_starts : (l,) int64, read
    level_indices : (m,) int64, read
        Row ``rows[j]`` gets the map ``level_maps[level_indices[j]]``.
    seeds : (m,) uint64, read
        Seeds of the episodes' slips.
    maps : (n, H * W) uint8, updated
    starts : (n,) int64, updated
        The start cells.
    state : tuple of the arrays of `LakeState`, updated
    """
    positions, _, rng_states = state
    for j in range(rows.shape[0]):
        place_row(
            rows[j],
            level_maps,
            level_starts,
            level_indices[j],
            seeds[j],
            maps,
            starts,
            positions,
            rng_states,
        )


@kernel(allocates=True)
def begin_rows(
    start,
    stop,
    rows,
    levels,
    table,
    first_number,
    episodes,
    level_numbers,
    maps,
    starts,
    state,
):
    """Begin the next episodes of some rows with maps that are all in memory.

    Parameters
    ----------
    start, stop : int
        The range of ``rows`` to work on.
    rows : (m,) int64, read
        The rows, each at most once.
    levels : tuple, read
        Maps (l, H * W) uint8, and their start cells (l,) int64.
    table : tuple of the items of `LevelTable`, read
        Of ``levels``, which are all present.
    first_number : int
        Number of the level 0 of the table; -1: no numbers are written.
    episodes : tuple of the arrays of `EpisodeNumbers`, updated
    level_numbers : (n,) int64, updated
        Numbers of the levels that are played.
    maps : (n, H * W) uint8, updated
    starts : (n,) int64, updated
        The start cells.
    state : tuple of the arrays of `LakeState`, updated
    """
    level_maps, level_starts = levels
    num_levels, first_index, is_present = table
    first_seeds, numbers = episodes
    positions, elapsed_steps, rng_states = state
    seeds, level_indices = np.empty(stop, np.uint64), np.empty(stop, np.int64)
    for j in range(np.uint64(start), np.uint64(stop)):
        i = np.uint64(rows[j])
        seed, level_index = next_level(
            i, num_levels, first_index, is_present, first_seeds, numbers
        )
        seeds[j], level_indices[j] = seed, level_index
        elapsed_steps[i] = 0
        numbers[i] += _1
        if first_number >= 0:
            level_numbers[i] = first_number + level_index - first_index
    for j in range(np.uint64(start), np.uint64(stop)):
        place_row(
            np.uint64(rows[j]),
            level_maps,
            level_starts,
            np.uint64(level_indices[j]),
            seeds[j],
            maps,
            starts,
            positions,
            rng_states,
        )


@kernel
def write_grids(start, stop, maps, positions, out):
    """Write the grid of each lake: its map with the player on it.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    maps : (n, H * W) or (1, H * W) uint8, read
    positions : (n,) int64, read
    out : (n, H * W) uint8, written
    """
    num_cells = maps.shape[1]
    if maps.shape[0] == positions.shape[0]:
        copy_range(
            maps.reshape(-1), out.reshape(-1), start * num_cells, stop * num_cells
        )
    else:
        for i in range(start, stop):
            for cell in range(num_cells):
                out[i, cell] = maps[0, cell]
    for i in range(np.uint64(start), np.uint64(stop)):
        cell = np.uint64(positions[i])
        out[i, cell] = player_code(out[i, cell])


@kernel
def write_action_masks(start, stop, rows, maps, neighbours, slip, positions, out):
    """Write the actions that may move the player of some lakes.

    Parameters
    ----------
    start, stop : int
        The range of ``rows`` to work on.
    rows : (m,) int64, read
        The lakes.
    maps : (n, H * W) or (1, H * W) uint8, read
    neighbours, slip
        The items of `LakeParameters`.
    positions : (n,) int64, read
    out : (m, 4) int8, written
        1 in the column of a direction if an outcome with a chance above 0 leads to
        another cell, else 0; all 0 on a terminal tile.
    """
    per_row = 1 if maps.shape[0] == positions.shape[0] else 0
    for j in range(start, stop):
        i = rows[j]
        stays = is_terminal(maps[i * per_row, positions[i]])
        for direction in range(4):
            out[j, direction] = 0
            for outcome in range(3):
                ahead = neighbours[positions[i], turn(direction, outcome)]
                if slip[0, outcome] > 0.0 and ahead != positions[i] and not stays:
                    out[j, direction] = 1
