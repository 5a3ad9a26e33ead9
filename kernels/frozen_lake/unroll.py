"""Unrolls of FrozenLake with one map: many steps of many lakes in one call.

An episode begins with a draw, which a kernel can make, so no row waits for the caller::

    step t    reset the rows that ended    step_rows    write observations
                                           -> rewards[t], positions[t], ...
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from ..lockstep import BLOCK, copy_range, list_ends
from ..outcomes import StepOutcome
from .rules import LakeParameters, LakeState, start_row, step_rows, write_grids


class LakeObservations(NamedTuple):
    """Observations of T steps, written: positions or else grids, one of them empty."""

    positions: np.ndarray  # (T, n) int64, or (T, 0)
    grids: np.ndarray  # (T, n, H * W) uint8, or (T, 0, 0)


@kernel
def _observe(start, stop, maps, positions, observations, t):
    """Write the observations of step t."""
    if observations.grids.shape[1] > 0:
        write_grids(start, stop, maps, positions, observations.grids[t])
    else:
        copy_range(positions, observations.positions[t], start, stop)


@kernel
def _begin_episodes(ends, start_chances, state):
    """Begin the next episodes of some lakes."""
    positions, elapsed_steps, rng_states = state
    for j in range(ends.shape[0]):
        start_row(ends[j], start_chances, positions, elapsed_steps, rng_states)


@kernel(allocates=True)
def unroll_rows(
    start,
    stop,
    resets,
    same_step,
    actions,
    max_steps,
    start_chances,
    reset_prob,
    lakes,
    state,
    needs_reset,
    times,
    outcome,
    probs,
    observations,
    next_observations,
):
    """Take T steps in some rows, or stop where one would have to be reset.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    resets : bool
        False: where an episode has ended the rows of its block stop.
    same_step : bool
        True: an episode begins in the step in which the one before it ends.  False: it
        begins in a step of its own, whose results are zeros.
    actions : (T, n) int64, read
        As those of `rules.step_rows`; ignored in a step that begins an episode.
    max_steps : int
        See `rules.step_rows`.
    start_chances : (H * W,) float64, read
        Cumulative probabilities of the start cells.
    reset_prob : float
        Written into ``probs`` where an episode begins in a step of its own.
    lakes, state : tuples
        See `rules.step_rows`.
    needs_reset : (n,) bool, updated
        The rows whose episode has ended and whose next one has not begun.
    times : (n,) int64, written
        The step before which the rows stopped, if it was for this one; else T.
    outcome : tuple of the arrays of `StepOutcome`, (T, n) each, written
    probs : (T, n) float64, written
    observations : tuple of the arrays of `LakeObservations`, written
        After each step, the first one of an episode that began in it.
    next_observations : the same, written
        With ``same_step`` after each step before an episode began in it.
    """
    maps, positions = LakeParameters(*lakes).maps, LakeState(*state).positions
    outcome = StepOutcome(*outcome)
    observations = LakeObservations(*observations)
    next_observations = LakeObservations(*next_observations)
    no_row, ends = np.zeros(stop, np.bool_), np.empty(BLOCK, np.int64)
    times[start:stop] = actions.shape[0]
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
        count = list_ends(needs_reset, no_row, no_row, needs_reset, ends, begin, end)
        for t in range(actions.shape[0]):
            if not resets and count > 0:
                for j in range(count):
                    times[ends[j]] = t
                break
            if not same_step:
                _begin_episodes(ends[:count], start_chances, state)
            terminations, truncations = outcome.terminations[t], outcome.truncations[t]
            step_rows(
                begin,
                end,
                actions[t],
                no_row if same_step else needs_reset,
                max_steps,
                lakes,
                state,
                (
                    outcome.rewards[t],
                    terminations,
                    truncations,
                    outcome.effective[t],
                    outcome.valid[t],
                    outcome.successes[t],
                ),
                probs[t],
            )
            if not same_step:
                for j in range(count):
                    probs[t, ends[j]] = reset_prob
            count = list_ends(
                terminations, truncations, no_row, needs_reset, ends, begin, end
            )
            if same_step:
                _observe(begin, end, maps, positions, next_observations, t)
                _begin_episodes(ends[:count], start_chances, state)
                needs_reset[begin:end] = False
            _observe(begin, end, maps, positions, observations, t)
