"""Helpers of the tests of unrolls: lakes, their single steps, unrolls in rounds."""

import numpy as np

from roll_vec.kernels.frozen_lake import rules as one
from roll_vec.kernels.outcomes import JUST_RESET, NEEDS_RESET, PLAYING
from roll_vec.kernels.rng.pcg64 import PCG_WORDS

N, T, LIMIT = 5, 30, 7
TILES = np.array([[1, 1, 1, 2], [1, 1, 2, 1], [1, 1, 1, 3]], np.uint8)
CHANCES = np.cumsum([0.5, 0, 0, 0, 0.25, 0, 0, 0, 0.25, 0, 0, 0])
RESULTS = [
    "rewards",
    "terminations",
    "truncations",
    "effective",
    "valid",
    "successes",
    "probs",
]


def make_lakes(maps):
    """Return what both ways start from: five lakes, of one map or of one each.

    Returns
    -------
    lakes : LakeParameters
    state : LakeState
    """
    lakes = one.LakeParameters(
        1,
        maps,
        one.make_neighbours(*TILES.shape),
        one.make_slip(True, 0.5),
        np.array([1.0, -0.5, 0.25]),
    )
    state = one.LakeState(
        np.zeros(N, np.int64),
        np.zeros(N, np.int32),
        np.zeros((PCG_WORDS, N), np.uint64),
    )
    rows = np.arange(N)
    one.seed_rows(rows, np.arange(N).astype(np.uint64), state.rng_states)
    begin(state, rows)
    # In the middle of episodes, so that they do not end together.
    state.elapsed_steps[:] = [2, 0, 4, 1, 1]
    return lakes, state


def begin(state, rows):
    """Begin the next episode of some lakes."""
    one.start_rows(0, len(rows), np.asarray(rows, np.int64), CHANCES, tuple(state))


def make_results(steps=T):
    """Return arrays of results that show where nothing was written."""
    dtypes = dict.fromkeys(RESULTS, np.bool_)
    dtypes["rewards"] = dtypes["probs"] = np.float64
    return {key: np.full((steps, N), 99, dtype) for key, dtype in dtypes.items()}


def split_results(results):
    """Return the tuple of `StepOutcome`, and the probabilities."""
    *outcome, probs = results.values()
    return tuple(outcome), probs


def draw_actions():
    """Return actions with "no valid action", 0, among them."""
    return np.random.default_rng(0).integers(0, 5, (T, N))


def observe(lakes, state, positions, grids, t):
    """Write the observations of step t: positions, or grids if there is room."""
    if grids.shape[2]:
        one.write_grids(0, N, lakes.maps, state.positions, grids[t])
    else:
        positions[t] = state.positions


def by_steps(lakes, state, actions, same_step, observations, next_observations):
    """Return the results of T calls of `step_rows`, and which episodes have ended."""
    results = make_results()
    skip_mask = np.zeros(N, np.bool_)
    for t in range(T):
        if not same_step:
            begin(state, np.flatnonzero(skip_mask))
        outcome, probs = split_results({key: results[key][t] for key in RESULTS})
        one.step_rows(
            0,
            N,
            actions[t],
            skip_mask,
            LIMIT,
            tuple(lakes),
            tuple(state),
            outcome,
            probs,
        )
        ends = results["terminations"][t] | results["truncations"][t]
        observe(lakes, state, *next_observations, t)
        if same_step:
            begin(state, np.flatnonzero(ends))
            observe(lakes, state, *observations, t)
        else:
            skip_mask = ends
    return results, ends


def in_rounds(play, begin, num_rows, num_steps):
    """Take all steps in two blocks; begin the next episodes of rows that end, go on.

    Parameters
    ----------
    play : callable
        Called with rows, the step before which to stop, times and states.
    begin : callable
        Called with rows.

    Returns
    -------
    times, states : (num_rows,) int64
    rounds : int
    """
    times, states = np.zeros(num_rows, np.int64), np.full(num_rows, PLAYING)
    rounds = 0
    for until in (6, num_steps):
        rows = np.arange(num_rows)
        while len(rows):
            stopped_rows = rows[states[rows] == NEEDS_RESET]
            begin(stopped_rows)
            states[stopped_rows] = JUST_RESET
            play(rows, until, times, states)
            rows = np.flatnonzero((states == NEEDS_RESET) & (times < until))
            rounds += 1
    return times, states, rounds
