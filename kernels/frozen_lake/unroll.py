"""Many steps of lakes of one map in one call, where an episode begins with a draw.

Nothing here waits for anybody, so the passes of `frozen_lake.step_rows` follow each
other step by step::

    step t    begin the rows that ended   draw, turn, move, end   show
                                          -> rewards[t], places[t], ...
"""

import numpy as np

from .._jit import kernel
from ..rng.pcg64 import pcg_random
from .rules import draw, step_rows, write_grids


@kernel
def _show(start, stop, maps, positions, places, boards):
    """Write what is seen of lakes: their positions, or boards where there are any."""
    if boards.shape[1] > 0:
        write_grids(start, stop, maps, positions, boards)
    else:
        places[start:stop] = positions[start:stop]


@kernel
def _begin(start, stop, ended, start_chances, positions, elapsed_steps, streams):
    """Begin the next episodes of the rows that ended, as `frozen_lake.start_rows`."""
    for i in range(np.uint64(start), np.uint64(stop)):
        if ended[i]:
            positions[i] = draw(start_chances, pcg_random(streams, i))
            elapsed_steps[i] = 0


@kernel
def unroll_rows(
    start,
    stop,
    begins,
    same_step,
    actions,
    first_action,
    max_steps,
    maps,
    neighbours,
    slip,
    schedule,
    start_chances,
    positions,
    elapsed_steps,
    streams,
    ended,
    times,
    rewards,
    terminations,
    truncations,
    effective,
    valid,
    successes,
    probs,
    places,
    boards,
    next_places,
    next_boards,
):
    """Take T steps in some rows, or stop where one is to be stepped that has ended.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    begins : bool
        False: no episode begins; where one has ended all rows stop.
    same_step : bool
        Where an episode ends the next one begins in the same step, and not in a step
        of its own, whose results are zeros.
    actions : (T, n) int64, read
        As those of `frozen_lake.step_rows`; ignored in a step that begins an episode.
    first_action, max_steps, maps, neighbours, slip, schedule
        See `frozen_lake.step_rows`.
    start_chances : (H * W,) float64, read
        Cumulative probabilities of the start cells.
    positions, elapsed_steps, streams : updated
        See `frozen_lake.step_rows`.
    ended : (n,) bool, updated
        The rows whose episode has ended and whose next one has not begun.
    times : (n,) int64, written
        T, or the step before which the rows stopped where it was for this one.
    rewards, probs : (T, n) float64, written
    terminations, truncations, effective, valid, successes : (T, n) bool, written
    places : (T, n) int64, written
        Positions after each step, the first ones where an episode began in it.
    boards : (T, n, H * W) uint8, written
        The boards instead, where there are any: (T, 0, 0) leads to positions.
    next_places, next_boards : as these, written
        With ``same_step`` after each step before an episode began in it.
    """
    nobody = np.zeros(stop, np.bool_)
    times[start:stop] = actions.shape[0]
    for t in range(actions.shape[0]):
        if not begins and ended[start:stop].any():
            for i in range(start, stop):
                times[i] = t if ended[i] else times[i]
            return
        if not same_step:
            _begin(start, stop, ended, start_chances, positions, elapsed_steps, streams)
        step_rows(
            start,
            stop,
            actions[t],
            nobody if same_step else ended,
            first_action,
            max_steps,
            maps,
            neighbours,
            slip,
            schedule,
            positions,
            elapsed_steps,
            streams,
            rewards[t],
            terminations[t],
            truncations[t],
            effective[t],
            valid[t],
            successes[t],
            probs[t],
        )
        terminated, truncated = terminations[t], truncations[t]
        for i in range(np.uint64(start), np.uint64(stop)):
            ended[i] = terminated[i] | truncated[i]
        if same_step:
            _show(start, stop, maps, positions, next_places[t], next_boards[t])
            _begin(start, stop, ended, start_chances, positions, elapsed_steps, streams)
            ended[start:stop] = False
        _show(start, stop, maps, positions, places[t], boards[t])
