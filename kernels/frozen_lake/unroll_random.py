"""Unrolls of FrozenLake with a map each: many steps of many lakes in one call.

Steps are the outer loop and rows the inner one: `kernels` has the drawing and the
reason.  `unroll_range` plays a range of lakes together, as long as it has their next
maps.  `unroll_rows` plays the lakes that have stopped, each from its own time on.  It
writes grids in its loop, not by a function, which would count a reference of each
array: 20 ns a step in all.
"""

import numpy as np

from .._jit import kernel
from ..lockstep import (
    BLOCK,
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
from ..rng.pcg64 import pcg_random
from .rules import (
    LakeParameters,
    LakeState,
    place_row,
    player_code,
    step_row,
    step_rows,
    write_grids,
)

_1 = np.uint64(1)


@kernel
def unroll_rows(
    start,
    stop,
    rows,
    until,
    same_step,
    actions,
    max_steps,
    lakes,
    state,
    progress,
    outcome,
    probs,
    observations,
    next_observations,
):
    """Take the steps of some rows, each from its own time on; a row stops at an end.

    Parameters
    ----------
    start, stop : int
        The range of ``rows`` to work on.
    rows : (m,) int64, read
        The environments, each at most once.
    until : int
        The step before which to stop, at most T.
    same_step : bool
        True: an episode begins in the step in which the one before it ends.  False: it
        begins in a step of its own, whose results are zeros.
    actions : (T, n) int64, read
        As those of `rules.step_rows`; ignored in a step that begins an episode.
    max_steps : int
    lakes, state : tuples
        See `rules.step_rows`; a map a row.
    progress : tuple of the arrays of `UnrollProgress`, updated
    outcome : tuple of the arrays of `StepOutcome`, (T, n) each, written
    probs : (T, n) float64, written
    observations : (T, n, H * W) uint8, written
        With ``same_step``: grids after each step; the first grid of an episode where
        it began in that step.
    next_observations : (T, n, H * W) uint8, written
        Grids after each step, before an episode began in it.
    """
    first_action, maps, neighbours, slip, reward_schedule = LakeParameters(*lakes)
    positions, elapsed_steps, rng_states = LakeState(*state)
    rewards, terminations, truncations, effective, valid, successes = StepOutcome(
        *outcome
    )
    times, states = UnrollProgress(*progress)
    first_step = until
    for j in range(start, stop):
        first_step = min(first_step, times[rows[j]])
    for step in range(first_step, until):
        t = np.uint64(step)
        for j in range(np.uint64(start), np.uint64(stop)):
            i = np.uint64(rows[j])
            if not is_due(times[i], states[i], step):
                continue
            plays, ends = states[i] == PLAYING, False
            if plays:
                before, action = positions[i], actions[t, i]
                is_valid = action >= first_action
                position, reward, terminated, success, prob = step_row(
                    i,
                    before,
                    action,
                    pcg_random(rng_states, i) if is_valid else 0.0,
                    first_action,
                    maps,
                    neighbours,
                    slip,
                    reward_schedule,
                )
                elapsed_steps[i] += 1
                truncated = reaches_limit(elapsed_steps[i], max_steps)
                ends = terminated or truncated
                rewards[t, i] = reward
                terminations[t, i] = terminated
                truncations[t, i] = truncated
                effective[t, i] = position != before
                valid[t, i] = is_valid
                successes[t, i] = success
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
            states[i] = NEEDS_RESET if ends else PLAYING
            times[i] = step if ends and same_step else step + 1
            code = player_code(maps[i, positions[i]])
            if plays or not same_step:
                for cell in range(maps.shape[1]):
                    next_observations[t, i, cell] = maps[i, cell]
                next_observations[t, i, positions[i]] = code
            if same_step and not ends:
                for cell in range(maps.shape[1]):
                    observations[t, i, cell] = maps[i, cell]
                observations[t, i, positions[i]] = code


@kernel
def _begin_episodes(
    step, same_step, ends, levels, table, episodes, maps, starts, state, progress, masks
):
    """Begin the next episodes of some lakes in a step, or stop the lakes.

    Parameters
    ----------
    step : int
    same_step : bool
        False: the lakes that begin an episode skip the step.
    ends : (m,) int64, read
        The lakes.
    maps : (n, H * W) uint8, updated
    levels, table, episodes, starts, state, progress
        See `unroll_range`.
    masks : tuple of (n,) bool, updated
        The lakes that have stopped, and those to skip; see `list_ends`.
    """
    level_maps, level_starts = levels
    num_levels, first_index, is_present = table
    first_seeds, numbers = episodes
    positions, elapsed_steps, rng_states = state
    times, states = progress
    has_stopped, skip_mask = masks
    for j in range(ends.shape[0]):
        i = ends[j]
        seed, level_index = next_level(
            i, num_levels, first_index, is_present, first_seeds, numbers
        )
        if level_index < 0:
            has_stopped[i], times[i], states[i] = True, step, NEEDS_RESET
        else:
            place_row(
                i,
                level_maps,
                level_starts,
                level_index,
                seed,
                maps,
                starts,
                positions,
                rng_states,
            )
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
    max_steps,
    levels,
    table,
    episodes,
    lakes,
    starts,
    state,
    progress,
    outcome,
    observations,
    next_observations,
):
    """Take the same steps in a range of lakes; a lake without a next map stops.

    Parameters
    ----------
    start, stop : int
        The lakes to work on.
    first_step, until : int
        The first step and the one before which to stop, at most T.
    levels : tuple, read
        Maps (l, H * W) uint8, and their start cells (l,) int64.
    table : tuple of the items of `LevelTable`, read
        Of ``levels``.
    episodes : tuple of the arrays of `EpisodeNumbers`, updated
    lakes : tuple of the items of `LakeParameters`
        The maps are updated where episodes begin.
    starts : (n,) int64, updated
        The start cells of the maps.
    progress : tuple of the arrays of `UnrollProgress`, updated
        Before, the time of all lakes is ``first_step``, and none has just been reset.
    same_step, actions, max_steps, state, outcome
        See `unroll_rows`.
    observations, next_observations : (T, n, H * W) uint8, written
        See `unroll_rows`.

    Notes
    -----
    Results of a lake after it has stopped are meaningless: `unroll_rows` writes them
    again.
    """
    maps, positions, (times, states) = lakes[1], state[0], progress
    rewards, terminations, truncations, effective, valid, successes = outcome
    # No info has them: a step that wrote T rows of them would only fill the cache.
    probs = np.empty(stop)
    has_stopped, skip_mask = np.empty(stop, np.bool_), np.empty(stop, np.bool_)
    masks, ends = (has_stopped, skip_mask), np.empty(BLOCK, np.int64)
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
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
                    maps,
                    starts,
                    state,
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
                max_steps,
                lakes,
                state,
                results,
                probs,
            )
            write_grids(begin, end, maps, positions, next_observations[t])
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
                    maps,
                    starts,
                    state,
                    progress,
                    masks,
                )
                write_grids(begin, end, maps, positions, observations[t])
        leave_rows(until, has_stopped, skip_mask, times, states, begin, end)
