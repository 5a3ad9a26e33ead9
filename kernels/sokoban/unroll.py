"""Unrolls of Sokoban: many steps of many rooms in one call.

Steps are the outer loop and rooms the inner one, see `kernels`.  A step takes two
passes over the rooms: first all players move, then all grids are copied.  A copy reads
many cells at once, and would have to wait for single cells that were written just
before: 13.5 ns a step in one pass, 11 in two.
"""

import numpy as np

from .._jit import kernel
from ..outcomes import (
    NEEDS_RESET,
    PLAYING,
    StepOutcome,
    UnrollProgress,
    is_due,
    reaches_limit,
)
from .rules import NO_ACTION, UP, RoomState, step_row


@kernel
def unroll_rows(
    start,
    stop,
    rows,
    until,
    same_step,
    actions,
    first_action,
    width,
    max_steps,
    rooms,
    progress,
    outcome,
    observations,
    next_observations,
):
    """Take the steps of some rooms, each from its own time on, until its episode ends.

    Parameters
    ----------
    start, stop : int
        The range of ``rows`` to work on.
    rows : (m,) int64, read
        The rooms, each at most once.
    until : int
        The step before which to stop, at most T.
    same_step : bool
        True: an episode begins in the step in which the one before it ends.  False: it
        begins in a step of its own, whose results are zeros.
    actions : (T, n) int64, read
        As those of `rules.step_rows`; ignored in a step that begins an episode.
    first_action, width, max_steps : int
        See `rules.step_rows`.
    rooms : tuple of the arrays of `RoomState`, updated
    progress : tuple of the arrays of `UnrollProgress`, updated
    outcome : tuple of the arrays of `StepOutcome`, (T, n) each, written
    observations : (T, n, H * W) uint8, written
        With ``same_step``: grids after each step; the first grid of an episode where
        it began in that step.
    next_observations : (T, n, H * W) uint8, written
        Grids after each step, before an episode began in it.
    """
    rooms, progress = RoomState(*rooms), UnrollProgress(*progress)
    outcome = StepOutcome(*outcome)
    grids, players, boxes_left = rooms.grids, rooms.players, rooms.boxes_left
    elapsed_steps, times, states = rooms.elapsed_steps, progress.times, progress.states
    rewards, terminations = outcome.rewards, outcome.terminations
    truncations, effective = outcome.truncations, outcome.effective
    valid, successes = outcome.valid, outcome.successes
    first_step, shift = until, UP - first_action
    for j in range(start, stop):
        first_step = min(first_step, times[rows[j]])
    for step in range(first_step, until):
        t = np.uint64(step)
        for j in range(np.uint64(start), np.uint64(stop)):
            i = np.uint64(rows[j])
            if not is_due(times[i], states[i], step):
                continue
            if states[i] == PLAYING:
                before, action = players[i], actions[t, i] + shift
                players[i], boxes_left[i], reward, solved = step_row(
                    grids, i, width, before, boxes_left[i], action
                )
                elapsed_steps[i] += 1
                rewards[t, i] = reward
                terminations[t, i] = solved
                truncations[t, i] = reaches_limit(elapsed_steps[i], max_steps)
                effective[t, i] = players[i] != before
                valid[t, i] = action != NO_ACTION
                successes[t, i] = solved
            elif not same_step:
                rewards[t, i] = 0.0
                terminations[t, i] = False
                truncations[t, i] = False
                effective[t, i] = False
                valid[t, i] = False
                successes[t, i] = False
        for j in range(np.uint64(start), np.uint64(stop)):
            i = np.uint64(rows[j])
            if not is_due(times[i], states[i], step):
                continue
            plays = states[i] == PLAYING
            ends = plays and (terminations[t, i] or truncations[t, i])
            if plays or not same_step:
                for cell in range(grids.shape[1]):
                    next_observations[t, i, cell] = grids[i, cell]
            if same_step and not ends:
                for cell in range(grids.shape[1]):
                    observations[t, i, cell] = grids[i, cell]
            states[i] = NEEDS_RESET if ends else PLAYING
            times[i] = step if ends and same_step else step + 1
