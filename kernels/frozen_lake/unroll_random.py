"""Many steps of many lakes in one call, each of which has a map of its own.

Steps are outside and rows inside, as if `frozen_lake.step_rows` were called T times::

             row 0   1   2  ...  n-1
    step 0    ------------------->     rewards[0], boards[0], ... written side by side
    step 1    ---------->  x           x: its episode ends, and the next one is not the
      :                                kernel's to begin.  The row stops; a later call
    step T-1                           goes on with it from its own time.

The other way round, a row through all of its steps, every result is a column, whose
cells share a cache set where n is a power of two: 3 to 8 times slower at n = 4096.
Rows in blocks that stay in the first cache gained nothing over all of them.

What the loop passes arrays to is inlined only where it is called on every path; else
each array costs a reference count, 20 ns a step in all.  So boards are written in
place.
"""

import numpy as np

from .._jit import kernel
from ..outcomes import NEEDS_RESET, PLAYING
from ..rng.pcg64 import pcg_random
from .rules import (
    AGENT,
    AGENT_IN_HOLE,
    AGENT_ON_GOAL,
    GOAL,
    HOLE,
    ICE,
    step_row,
)


@kernel
def _shown(tile):
    """Return the code of the player on a tile."""
    return AGENT if tile == ICE else (AGENT_IN_HOLE if tile == HOLE else AGENT_ON_GOAL)


@kernel
def unroll_rows(
    start,
    stop,
    rows,
    until,
    same_step,
    actions,
    first_action,
    max_steps,
    maps,
    neighbours,
    slip,
    schedule,
    positions,
    elapsed_steps,
    streams,
    times,
    states,
    rewards,
    terminations,
    truncations,
    effective,
    valid,
    successes,
    probs,
    boards,
    next_boards,
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
        As those of `frozen_lake.step_rows`; ignored in a step that begins an episode.
    maps : (n, H * W) uint8, read
    first_action, max_steps, neighbours, slip, schedule
        See `frozen_lake.step_rows`.
    positions, elapsed_steps, streams : updated
        See `frozen_lake.step_rows`.
    times : (n,) int64, updated
        The step in which each row has something to do next.
    states : (n,) int64, updated
        `PLAYING`, `NEEDS_RESET` or `JUST_RESET`, see `outcomes`.
    rewards, probs : (T, n) float64, written
    terminations, truncations, effective, valid, successes : (T, n) bool, written
    boards : (T, n, H * W) uint8, written
        Boards after each step, the first one of an episode that began in it.
    next_boards : (T, n, H * W) uint8, written
        Boards after each step before an episode began in it.
    """
    # An unsigned index is not tested for being negative.
    begin = until
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
                direction = actions[t, i] - first_action
                before = positions[i]
                position, reward, terminated, prob = before, 0.0, False, 1.0
                if direction >= 0:
                    position, reward, terminated, prob = step_row(
                        maps,
                        i,
                        neighbours,
                        before,
                        direction,
                        pcg_random(streams, i),
                        slip,
                        schedule,
                    )
                elapsed_steps[i] += 1
                truncated = elapsed_steps[i] == max_steps
                ended = terminated or truncated
                rewards[t, i] = reward
                terminations[t, i] = terminated
                truncations[t, i] = truncated
                effective[t, i] = position != before
                valid[t, i] = direction >= 0
                successes[t, i] = direction >= 0 and maps[i, position] == GOAL
                probs[t, i] = prob
                positions[i] = position
            elif not same_step:
                rewards[t, i] = 0.0
                terminations[t, i] = False
                truncations[t, i] = False
                effective[t, i] = False
                valid[t, i] = False
                successes[t, i] = False
                probs[t, i] = 0.0
            states[i] = NEEDS_RESET if ended else PLAYING
            times[i] = now if ended and same_step else now + 1
            shown = _shown(maps[i, positions[i]])
            if plays or not same_step:
                for cell in range(maps.shape[1]):
                    next_boards[t, i, cell] = maps[i, cell]
                next_boards[t, i, positions[i]] = shown
            if same_step and not ended:
                for cell in range(maps.shape[1]):
                    boards[t, i, cell] = maps[i, cell]
                boards[t, i, positions[i]] = shown
