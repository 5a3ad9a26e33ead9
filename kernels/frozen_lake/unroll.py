"""Unrolls of FrozenLake with one map: many steps of many lakes in one call.

An episode begins with a draw, which a kernel can make, so no row waits for the caller::

    step t    reset the rows that ended    step_rows    write observations
                                           -> rewards[t], positions[t], ...
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
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
        observations.positions[t, start:stop] = positions[start:stop]


@kernel
def _reset(start, stop, needs_reset, start_chances, state):
    """Begin the next episodes of the rows that need it."""
    positions, elapsed_steps, rng_states = state
    for i in range(np.uint64(start), np.uint64(stop)):
        if needs_reset[i]:
            start_row(i, start_chances, positions, elapsed_steps, rng_states)


@kernel
def unroll_rows(
    start,
    stop,
    resets,
    same_step,
    actions,
    max_steps,
    start_chances,
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
        False: where an episode has ended all rows stop.
    same_step : bool
        True: an episode begins in the step in which the one before it ends.  False: it
        begins in a step of its own, whose results are zeros.
    actions : (T, n) int64, read
        As those of `rules.step_rows`; ignored in a step that begins an episode.
    max_steps : int
        See `rules.step_rows`.
    start_chances : (H * W,) float64, read
        Cumulative probabilities of the start cells.
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
    no_row = np.zeros(stop, np.bool_)
    times[start:stop] = actions.shape[0]
    for t in range(actions.shape[0]):
        if not resets and needs_reset[start:stop].any():
            for i in range(start, stop):
                times[i] = t if needs_reset[i] else times[i]
            return
        if not same_step:
            _reset(start, stop, needs_reset, start_chances, state)
        terminations, truncations = outcome.terminations[t], outcome.truncations[t]
        step_rows(
            start,
            stop,
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
        for i in range(np.uint64(start), np.uint64(stop)):
            needs_reset[i] = terminations[i] | truncations[i]
        if same_step:
            _observe(start, stop, maps, positions, next_observations, t)
            _reset(start, stop, needs_reset, start_chances, state)
            needs_reset[start:stop] = False
        _observe(start, stop, maps, positions, observations, t)
