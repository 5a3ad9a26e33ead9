"""Many steps of many rooms in one call; `unroll_lakes` draws the order."""

import numpy as np

from .._jit import kernel
from ..outcomes import NEEDS_RESET, PLAYING
from .rules import NO_ACTION, UP, step_row


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
    grids,
    players,
    boxes_left,
    elapsed_steps,
    times,
    states,
    rewards,
    terminations,
    truncations,
    effective,
    valid,
    successes,
    seen,
    seen_next,
):
    """Take the steps of some rows, each from its own time on; it stops at an end.

    Parameters
    ----------
    start, stop : int
        The range of ``rows`` to work on.
    rows : (m,) int64, read
        The environments, each at most once.
    until : int
        The step before which to stop, at most T.
    same_step : bool
        Where an episode ends the next one begins in the same step, and not in a step
        of its own, whose results are zeros.
    actions : (T, n) int64, read
        As those of `sokoban.step_rows`; ignored in a step that begins an episode.
    first_action, width, max_steps : int
        See `sokoban.step_rows`.
    grids, players, boxes_left, elapsed_steps : updated
        See `sokoban.step_rows`.
    times, states : (n,) int64, updated
        See `unroll_lakes.unroll_rows`.
    rewards : (T, n) float64, written
    terminations, truncations, effective, valid, successes : (T, n) bool, written
    seen : (T, n, H * W) uint8, written
        Grids after each step, the first one of an episode that began in it.
    seen_next : (T, n, H * W) uint8, written
        Grids after each step before an episode began in it.
    """
    begin, shift = until, UP - first_action
    for j in range(start, stop):
        begin = min(begin, times[rows[j]])
    for now in range(begin, until):
        t = np.uint64(now)
        for j in range(np.uint64(start), np.uint64(stop)):
            i = np.uint64(rows[j])
            if times[i] != now or states[i] == NEEDS_RESET:
                continue
            plays, ended = states[i] == PLAYING, False
            if plays:
                before, action = players[i], actions[t, i] + shift
                player, left, reward = step_row(
                    grids, i, width, before, boxes_left[i], action
                )
                elapsed_steps[i] += 1
                truncated = elapsed_steps[i] == max_steps
                ended = truncated or left == 0
                rewards[t, i] = reward
                terminations[t, i] = left == 0
                truncations[t, i] = truncated
                effective[t, i] = player != before
                valid[t, i] = action != NO_ACTION
                successes[t, i] = left == 0
                players[i] = player
                boxes_left[i] = left
            elif not same_step:
                rewards[t, i] = 0.0
                terminations[t, i] = False
                truncations[t, i] = False
                effective[t, i] = False
                valid[t, i] = False
                successes[t, i] = False
            states[i] = NEEDS_RESET if ended else PLAYING
            times[i] = now if ended and same_step else now + 1
            if plays or not same_step:
                for cell in range(grids.shape[1]):
                    seen_next[t, i, cell] = grids[i, cell]
            if same_step and not ended:
                for cell in range(grids.shape[1]):
                    seen[t, i, cell] = grids[i, cell]
