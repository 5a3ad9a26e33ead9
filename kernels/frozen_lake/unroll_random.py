"""Unrolls of FrozenLake with a map each: many steps of many lakes in one call.

A kernel cannot reset such a lake, so a row stops where its episode ends.  Steps are the
outer loop and rows the inner one: `kernels` has the drawing and the reason.  Blocks of
rows that stay in the first-level cache gained nothing.  Grids are written in the loop,
not by a function, which would count a reference of each array: 20 ns a step in all.
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
from ..rng.pcg64 import pcg_random
from .rules import LakeParameters, LakeState, player_code, step_row


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
