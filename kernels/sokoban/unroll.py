"""Unrolls of Sokoban: many steps of many rooms in one call.

Steps are the outer loop and rooms the inner one, see `kernels`.  `unroll_range` plays a
range of rooms together, as long as it has their next levels.  `unroll_rows` plays the
rooms that have stopped, each from its own time on.

A step takes two passes over the rooms: first all players move, then all grids are
copied.  A copy reads many cells at once, and would have to wait for single cells that
were written just before: in `unroll_rows` 13.5 ns a step in one pass, 11 in two.
"""

import numpy as np

from .._jit import kernel
from ..lockstep import (
    BLOCK,
    copy_range,
    enter_rows,
    leave_rows,
    list_ends,
    next_level,
)
from ..outcomes import (
    NEEDS_RESET,
    PLAYING,
    StepOutcome,
    UnrollProgress,
    is_due,
    reaches_limit,
)
from .rules import NO_ACTION, UP, RoomState, place_row, step_row, step_rows

_1 = np.uint64(1)


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


@kernel
def _begin_episodes(
    step, same_step, ends, levels, table, episodes, rooms, progress, masks
):
    """Begin the next episodes of some rooms in a step, or stop the rooms.

    Parameters
    ----------
    step : int
    same_step : bool
        False: the rooms that begin an episode skip the step.
    ends : (m,) int64, read
        The rooms.
    levels, table, episodes, rooms, progress
        See `unroll_range`.
    masks : tuple of (n,) bool, updated
        The rooms that have stopped, and those to skip; see `list_ends`.
    """
    num_levels, first_index, is_present = table
    first_seeds, numbers = episodes
    grids, players, boxes_left, elapsed_steps = rooms
    times, states = progress
    has_stopped, skip_mask = masks
    for j in range(ends.shape[0]):
        i = ends[j]
        _, level_index = next_level(
            i, num_levels, first_index, is_present, first_seeds, numbers
        )
        if level_index < 0:
            has_stopped[i], times[i], states[i] = True, step, NEEDS_RESET
        else:
            place_row(i, levels, level_index, grids, players, boxes_left)
            elapsed_steps[i] = 0
            numbers[i] += _1
            skip_mask[i] = not same_step


@kernel(allocates=True)
def unroll_range(
    start,
    stop,
    first_step,
    until,
    same_step,
    actions,
    first_action,
    width,
    max_steps,
    levels,
    table,
    episodes,
    rooms,
    progress,
    outcome,
    observations,
    next_observations,
):
    """Take the same steps in a range of rooms; a room without a next level stops.

    Parameters
    ----------
    start, stop : int
        The rooms to work on.
    first_step, until : int
        The first step and the one before which to stop, at most T.
    levels : (l, H * W) uint8, read
    table : tuple of the items of `LevelTable`, read
        Of ``levels``.
    episodes : tuple of the arrays of `EpisodeNumbers`, updated
    progress : tuple of the arrays of `UnrollProgress`, updated
        Before, the time of all rooms is ``first_step``, and none has just been reset.
    same_step, actions, first_action, width, max_steps, rooms, outcome
        See `unroll_rows`.
    observations, next_observations : (T, n, H * W) uint8, written
        See `unroll_rows`.

    Notes
    -----
    Results of a room after it has stopped are meaningless: `unroll_rows` writes them
    again.
    """
    grids, (times, states) = rooms[0], progress
    num_cells, cells = grids.shape[1], grids.reshape(-1)
    steps_of_cells = observations.reshape(observations.shape[0], -1)
    steps_of_next_cells = next_observations.reshape(observations.shape[0], -1)
    rewards, terminations, truncations, effective, valid, successes = outcome
    has_stopped, skip_mask = np.empty(stop, np.bool_), np.empty(stop, np.bool_)
    masks, ends = (has_stopped, skip_mask), np.empty(BLOCK, np.int64)
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
        first_cell, last_cell = begin * num_cells, end * num_cells
        count = enter_rows(states, has_stopped, skip_mask, ends, begin, end)
        for t in range(first_step, until):
            if not same_step:
                _begin_episodes(
                    t,
                    same_step,
                    ends[:count],
                    levels,
                    table,
                    episodes,
                    rooms,
                    progress,
                    masks,
                )
            results = (
                rewards[t],
                terminations[t],
                truncations[t],
                effective[t],
                valid[t],
                successes[t],
            )
            step_rows(
                begin,
                end,
                actions[t],
                skip_mask,
                first_action,
                width,
                max_steps,
                rooms,
                results,
            )
            copy_range(cells, steps_of_next_cells[t], first_cell, last_cell)
            count = list_ends(
                results[1], results[2], has_stopped, skip_mask, ends, begin, end
            )
            if same_step:
                _begin_episodes(
                    t,
                    same_step,
                    ends[:count],
                    levels,
                    table,
                    episodes,
                    rooms,
                    progress,
                    masks,
                )
                copy_range(cells, steps_of_cells[t], first_cell, last_cell)
        leave_rows(until, has_stopped, skip_mask, times, states, begin, end)
