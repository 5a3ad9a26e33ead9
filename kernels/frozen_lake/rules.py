"""The rules of FrozenLake: one step of one lake, and the batch of them.

Source: Gymnasium 1.4.0, `envs/toy_text/frozen_lake.py` (moves, slips, rewards, ends,
the order of random draws).

Codes of a map's tiles and of the grid shown::

    0 player  1 ice  2 hole  3 goal  4 player in a hole  5 player on the goal

A map itself holds 1, 2 and 3 only; the start is ice.  Directions are Gymnasium's:
0 left, 1 down, 2 right, 3 up.
"""

import numpy as np

from .._jit import kernel
from ..rng.pcg64 import pcg_random, pcg_random_rows, pcg_seed

AGENT, ICE, HOLE, GOAL, AGENT_IN_HOLE, AGENT_ON_GOAL = range(6)
NUM_CODES = 6
LEFT, DOWN, RIGHT, UP = range(4)
# Added to a direction, or to the tile that it led to.
STAYS, ENTERED_BEFORE = 4, 2


def make_neighbours(height, width):
    """Return the (H * W, 8) int64 cells that are entered from each cell.

    Columns 0 to 3 are the directions: at the edge one leads to the cell itself, as do
    columns 4 to 7, those of the directions of who does not move (`STAYS`).
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


@kernel
def draw(cumulative, uniform):
    """Return the first index whose cumulative probability exceeds ``uniform``, or 0.

    Gymnasium's `categorical_sample`: rounding may leave the last sum just below a
    draw, and its argmax of nothing is 0.
    """
    for i in range(cumulative.shape[0]):
        if cumulative[i] > uniform:
            return i
    return 0


@kernel
def slip_outcome(uniform, first, second, third):
    """Return which of three cumulative probabilities is the first above ``uniform``.

    Counted, not searched for: a branch on it would be guessed wrong half the time.  As
    in `draw`, 0 if none is.
    """
    # As integers: without the compiler a sum of numpy's truths is a truth.
    outcome = np.int64(first <= uniform)
    outcome += np.int64(second <= uniform) + np.int64(third <= uniform)
    return 0 if outcome == 3 else outcome


@kernel
def step_row(maps, m, neighbours, position, direction, uniform, slip, schedule):
    """Take one step on one lake.

    Parameters
    ----------
    maps : (k, H * W) uint8, read
    m : int
        Number of the lake's map; a view of it would cost a reference count.
    neighbours : (H * W, 8) int64, read
        See `make_neighbours`.
    position : int
        Row * W + column.
    direction : int
        0 to 3.
    uniform : float
        The draw in [0, 1) that decides the slip; every step uses one up.
    slip : (2, 3) float64, read
        See `make_slip`.
    schedule : (3,) float64, read
        Rewards for entering the goal, a hole, ice.

    Returns
    -------
    position : int64
    reward : float64
    terminated : bool
    prob : float64
        Probability of the outcome that was drawn.
    """
    if maps[m, position] != ICE:
        # Gymnasium's terminal states lead to themselves.
        return np.int64(position), 0.0, True, 1.0
    outcome = slip_outcome(uniform, slip[1, 0], slip[1, 1], slip[1, 2])
    position = neighbours[position, (direction + outcome - 1) & 3]
    tile = maps[m, position]
    # The codes of goal, hole and ice descend by one.
    return position, schedule[GOAL - tile], tile != ICE, slip[0, outcome]


# The batch takes a step in passes, each a loop over all rows.  A branch on who is
# skipped would be guessed wrong in every ninth row; without it, and with the draws, the
# table look-ups and the results apart, the compiler makes vectors of all but the
# look-ups: more than twice as fast as `step_row` row by row.  An unsigned index is not
# tested for being negative.


@kernel
def _turn_rows(start, stop, actions, first_action, slip, valid, headings, probs):
    """Write where rows head for, and the probability of it.

    ``probs`` holds a uniform a row before; ``headings`` (n,) uint8 gets a column of
    `make_neighbours`.
    """
    first, second, third = slip[1, 0], slip[1, 1], slip[1, 2]
    aside, along = slip[0, 0], slip[0, 1]
    for i in range(np.uint64(start), np.uint64(stop)):
        outcome = slip_outcome(probs[i], first, second, third)
        turned = (actions[i] - first_action + outcome - 1) & 3
        headings[i] = turned if valid[i] else STAYS
        probs[i] = along if outcome == 1 else aside


@kernel
def _move_rows(start, stop, maps, neighbours, positions, effective, codes):
    """Move rows to where they head for.

    ``codes`` (n,) uint8 holds the headings before, and the tiles entered after: those
    of rows that had ended are `ENTERED_BEFORE` higher.
    """
    per_row = np.uint64(1 if maps.shape[0] == positions.shape[0] else 0)
    for i in range(np.uint64(start), np.uint64(stop)):
        before = np.uint64(positions[i])
        # Gymnasium's terminal states lead to themselves.
        ended = maps[i * per_row, before] != ICE
        position = np.uint64(neighbours[before, codes[i] | ended * STAYS])
        positions[i] = position
        effective[i] = position != before
        codes[i] = maps[i * per_row, position] + ended * ENTERED_BEFORE


@kernel
def _end_rows(
    start,
    stop,
    skip_mask,
    max_steps,
    schedule,
    tiles,
    elapsed_steps,
    rewards,
    terminations,
    truncations,
    valid,
    successes,
    probs,
):
    """Write what follows from the tiles of `_move_rows`."""
    at_goal, in_hole, on_ice = schedule[0], schedule[1], schedule[2]
    for i in range(np.uint64(start), np.uint64(stop)):
        plays, acts, tile = not skip_mask[i], valid[i], tiles[i]
        entered = acts & (tile <= GOAL)
        elapsed_steps[i] += plays
        truncations[i] = plays & (elapsed_steps[i] == max_steps)
        terminations[i] = acts & (tile != ICE)
        successes[i] = acts & ((tile == GOAL) | (tile == GOAL + ENTERED_BEFORE))
        reward = in_hole if tile == HOLE else on_ice
        reward = at_goal if tile == GOAL else reward
        rewards[i] = reward if entered else 0.0
        sure = 1.0 if plays else 0.0
        probs[i] = probs[i] if entered else sure


@kernel
def step_rows(
    start,
    stop,
    actions,
    skip_mask,
    first_action,
    max_steps,
    maps,
    neighbours,
    slip,
    schedule,
    positions,
    elapsed_steps,
    streams,
    rewards,
    terminations,
    truncations,
    effective,
    valid,
    successes,
    probs,
):
    """Take one step a row; rows to skip stay as they are and give zeros.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    actions : (n,) int64, read
        ``first_action`` + direction; one below ``first_action`` is "no valid
        action": nothing moves, nothing is drawn, the reward is 0 and the probability
        1, the step counts.
    skip_mask : (n,) bool, read
    first_action : int
        0 for Gymnasium's actions, 1 for ROLL's.
    max_steps : int
        Steps after which an episode is truncated, also beside an end; 0: never.
    maps : (n, H * W) or (1, H * W) uint8, read
        One map a row, or one for all.
    neighbours, slip, schedule : see `step_row`
    positions : (n,) int64, updated
    elapsed_steps : (n,) int32, updated
    streams : (6, n) uint64, updated
        PCG64 streams of `_random`.
    rewards, probs : (n,) float64, written
    terminations, truncations : (n,) bool, written
    effective, valid, successes : (n,) bool, written
        The player moved; the action was valid; the player stands on the goal.
    """
    codes = np.empty(stop, np.uint8)
    for i in range(np.uint64(start), np.uint64(stop)):
        valid[i] = (not skip_mask[i]) & (actions[i] >= first_action)
    pcg_random_rows(start, stop, valid, streams, probs)
    _turn_rows(start, stop, actions, first_action, slip, valid, codes, probs)
    _move_rows(start, stop, maps, neighbours, positions, effective, codes)
    _end_rows(
        start,
        stop,
        skip_mask,
        max_steps,
        schedule,
        codes,
        elapsed_steps,
        rewards,
        terminations,
        truncations,
        valid,
        successes,
        probs,
    )


@kernel
def seed_rows(rows, seeds, streams):
    """Seed the PCG64 streams of some rows.

    Parameters
    ----------
    rows : (m,) int64, read
    seeds : (m,) uint64, read
    streams : (6, n) uint64, written at ``rows``
    """
    for j in range(rows.shape[0]):
        pcg_seed(streams, rows[j], seeds[j])


@kernel
def start_rows(rows, cumulative, streams, positions, elapsed_steps):
    """Draw the start cells of some rows, one uniform a row.

    Parameters
    ----------
    rows : (m,) int64, read
    cumulative : (H * W,) float64, read
        Cumulative probabilities of the cells.
    streams : (6, n) uint64, updated
    positions : (n,) int64, written
    elapsed_steps : (n,) int32, set to 0
    """
    for j in range(rows.shape[0]):
        i = rows[j]
        positions[i] = draw(cumulative, pcg_random(streams, i))
        elapsed_steps[i] = 0


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
    per_row = 1 if maps.shape[0] == positions.shape[0] else 0
    for i in range(start, stop):
        for cell in range(maps.shape[1]):
            out[i, cell] = maps[i * per_row, cell]
        tile = out[i, positions[i]]
        out[i, positions[i]] = (
            AGENT if tile == ICE else (AGENT_IN_HOLE if tile == HOLE else AGENT_ON_GOAL)
        )


def make_slip(is_slippery, success_rate):
    """Return the (2, 3) float64 table of slips.

    Row 0: the probabilities of going clockwise of the direction, along it and
    counter-clockwise of it; the first and the last are the same.  Row 1: their
    cumulative sums.
    """
    fail_rate = (1.0 - success_rate) / 2.0
    chances = [fail_rate, success_rate, fail_rate] if is_slippery else [0.0, 1.0, 0.0]
    return np.array([chances, np.cumsum(chances)])
