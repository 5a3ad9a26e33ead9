"""What the tests of kernels that take many steps share: lakes, play in rounds."""

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
    """Return what both ways start from: five lakes, of one map or of one each."""
    lakes = {
        "maps": maps,
        "neighbours": one.make_neighbours(*TILES.shape),
        "slip": one.make_slip(True, 0.5),
        "schedule": np.array([1.0, -0.5, 0.25]),
        "positions": np.zeros(N, np.int64),
        "elapsed_steps": np.zeros(N, np.int32),
        "streams": np.zeros((PCG_WORDS, N), np.uint64),
    }
    rows = np.arange(N)
    one.seed_rows(rows, np.arange(N).astype(np.uint64), lakes["streams"])
    begin(lakes, rows)
    # In the middle of episodes, so that they do not end together.
    lakes["elapsed_steps"][:] = [2, 0, 4, 1, 1]
    return lakes


def begin(lakes, rows):
    """Begin the next episode of some lakes."""
    state = lakes["streams"], lakes["positions"], lakes["elapsed_steps"]
    one.start_rows(np.asarray(rows, np.int64), CHANCES, *state)


def make_results(steps=T):
    """Return arrays of results that show where nothing was written."""
    dtypes = dict.fromkeys(RESULTS, np.bool_)
    dtypes["rewards"] = dtypes["probs"] = np.float64
    return {key: np.full((steps, N), 99, dtype) for key, dtype in dtypes.items()}


def draw_actions():
    """Return actions with "no valid action", 0, among them."""
    return np.random.default_rng(0).integers(0, 5, (T, N))


def show(lakes, places, boards, t):
    """Write what is to be seen after a step."""
    if boards.shape[2]:
        one.write_grids(0, N, lakes["maps"], lakes["positions"], boards[t])
    else:
        places[t] = lakes["positions"]


def by_steps(lakes, actions, same_step, seen, seen_next):
    """Return the results of T calls of `step_rows`."""
    results = make_results()
    skipped = np.zeros(N, np.bool_)
    for t in range(T):
        if not same_step:
            begin(lakes, np.flatnonzero(skipped))
        out = [results[key][t] for key in RESULTS]
        one.step_rows(0, N, actions[t], skipped, 1, LIMIT, *lakes.values(), *out)
        ended = results["terminations"][t] | results["truncations"][t]
        show(lakes, *seen_next, t)
        if same_step:
            begin(lakes, np.flatnonzero(ended))
            show(lakes, *seen, t)
        else:
            skipped = ended
    return results, ended


def in_rounds(play, begin, num_rows, num_steps):
    """Play all steps in two blocks; where rows end, begin them and go on.

    Parameters
    ----------
    play : callable
        Given rows, the step before which to stop, times and states.
    begin : callable
        Given rows.

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
            ended = rows[states[rows] == NEEDS_RESET]
            begin(ended)
            states[ended] = JUST_RESET
            play(rows, until, times, states)
            rows = np.flatnonzero((states == NEEDS_RESET) & (times < until))
            rounds += 1
    return times, states, rounds
