"""Many steps of many lakes in one call.

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
place, and functions are called where an episode begins.
"""

# depends: _jit.py sha256:e75ec21cdcff0df5
# depends: _random.py sha256:8f95f6698dc965c0
# depends: frozen_lake.py sha256:a25d3a4322c945f0

import numpy as np

from ._jit import kernel
from ._random import pcg_random
from .frozen_lake import (
    AGENT,
    AGENT_IN_HOLE,
    AGENT_ON_GOAL,
    GOAL,
    HOLE,
    ICE,
    draw,
    step_row,
)

# What a row is about to do: play on, stop, begin the episode that it was moved on to.
PLAYING, ENDED, BEGUN = range(3)


@kernel
def _shown(tile):
    """Return the code of the player on a tile."""
    return AGENT if tile == ICE else (AGENT_IN_HOLE if tile == HOLE else AGENT_ON_GOAL)


@kernel
def _show(t, i, maps, m, position, places, boards):
    """Write what is seen of lake i after step t: its position, or its board."""
    if boards.shape[2] == 0:
        places[t, i] = position
        return
    for cell in range(maps.shape[1]):
        boards[t, i, cell] = maps[m, cell]
    boards[t, i, position] = _shown(maps[m, position])


@kernel
def unroll_rows(
    start,
    stop,
    rows,
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
    times,
    states,
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
    """Take the steps of some rows, each from its own time on.

    Parameters
    ----------
    start, stop : int
        The range of ``rows`` to work on.
    rows : (m,) int64, read
        The environments, each at most once.
    same_step : bool
        Where an episode ends the next one begins in the same step, and not in a step
        of its own, whose results are zeros.
    actions : (T, n) int64, read
        As those of `frozen_lake.step_rows`; ignored in a step that begins an episode.
    first_action, max_steps, maps, neighbours, slip, schedule
        See `frozen_lake.step_rows`.
    start_chances : (H * W,) or (0,) float64, read
        Cumulative probabilities of the start cells, with which the kernel itself
        begins an episode; none: the row stops.
    positions, elapsed_steps, streams : updated
        See `frozen_lake.step_rows`.
    times : (n,) int64, updated
        The step in which each row has something to do next; T once all is done.
    states : (n,) int64, updated
        `PLAYING`; `ENDED`: its next episode begins in that step, and where the kernel
        cannot begin it the row has stopped; `BEGUN`: it was begun since.
    rewards, probs : (T, n) float64, written
    terminations, truncations, effective, valid, successes : (T, n) bool, written
    places : (T, n) int64, written
        Positions after each step, the first ones where an episode began in it.
    boards : (T, n, H * W) uint8, written
        The boards instead, where there are any: (0, 0, 0) leads to positions.
    next_places, next_boards : as these, written
        After each step before an episode began in it.
    """
    # An unsigned index is not tested for being negative.
    per_row = np.uint64(1 if maps.shape[0] == positions.shape[0] else 0)
    shows_boards = boards.shape[2] > 0
    goes_on = start_chances.shape[0] > 0
    begin = actions.shape[0]
    for j in range(start, stop):
        begin = min(begin, times[rows[j]])
    for now in range(begin, actions.shape[0]):
        t = np.uint64(now)
        for j in range(np.uint64(start), np.uint64(stop)):
            i = np.uint64(rows[j])
            m = i * per_row
            if times[i] != now or (states[i] == ENDED and not goes_on):
                continue
            if states[i] != PLAYING:
                if states[i] == ENDED:
                    positions[i] = draw(start_chances, pcg_random(streams, i))
                    elapsed_steps[i] = 0
                if not same_step:
                    rewards[t, i] = 0.0
                    terminations[t, i] = False
                    truncations[t, i] = False
                    effective[t, i] = False
                    valid[t, i] = False
                    successes[t, i] = False
                    probs[t, i] = 0.0
                _show(t, i, maps, m, positions[i], places, boards)
                states[i] = PLAYING
                times[i] = now + 1
                continue
            direction = actions[t, i] - first_action
            before = positions[i]
            position, reward, terminated, prob = before, 0.0, False, 1.0
            if direction >= 0:
                position, reward, terminated, prob = step_row(
                    maps,
                    m,
                    neighbours,
                    before,
                    direction,
                    pcg_random(streams, i),
                    slip,
                    schedule,
                )
            elapsed_steps[i] += 1
            truncated = elapsed_steps[i] == max_steps
            rewards[t, i] = reward
            terminations[t, i] = terminated
            truncations[t, i] = truncated
            effective[t, i] = position != before
            valid[t, i] = direction >= 0
            successes[t, i] = direction >= 0 and maps[m, position] == GOAL
            probs[t, i] = prob
            positions[i] = position
            if shows_boards:
                for cell in range(maps.shape[1]):
                    next_boards[t, i, cell] = maps[m, cell]
                next_boards[t, i, position] = _shown(maps[m, position])
            else:
                next_places[t, i] = position
            # The first place or board of a new episode takes this one's place.
            if same_step and shows_boards:
                for cell in range(maps.shape[1]):
                    boards[t, i, cell] = next_boards[t, i, cell]
            elif same_step:
                places[t, i] = position
            times[i] = now + 1
            if terminated or truncated:
                states[i] = ENDED
                if same_step and goes_on:
                    positions[i] = draw(start_chances, pcg_random(streams, i))
                    elapsed_steps[i] = 0
                    states[i] = PLAYING
                    _show(t, i, maps, m, positions[i], places, boards)
                elif same_step:
                    times[i] = now
