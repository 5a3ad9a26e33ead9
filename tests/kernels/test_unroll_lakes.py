"""Many steps of lakes with a map each in one call equal as many calls of one step."""

import numpy as np
import pytest

from roll_vec.kernels import frozen_lake as one
from roll_vec.kernels.unroll_lakes import BEGUN, ENDED, PLAYING, unroll_rows

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


def make_lakes():
    """Return what both ways start from: five lakes, seeded."""
    lakes = {
        "maps": np.stack([np.roll(TILES, i, axis=1).ravel() for i in range(N)]),
        "neighbours": one.make_neighbours(*TILES.shape),
        "slip": one.make_slip(True, 0.5),
        "schedule": np.array([1.0, -0.5, 0.25]),
        "positions": np.zeros(N, np.int64),
        "elapsed_steps": np.zeros(N, np.int32),
        "streams": np.zeros((6, N), np.uint64),
    }
    rows = np.arange(N)
    one.seed_rows(rows, np.arange(N).astype(np.uint64), lakes["streams"])
    begin(lakes, rows)
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
        one.write_grids(0, N, lakes["maps"], lakes["positions"], seen_next[t])
        if same_step:
            begin(lakes, np.flatnonzero(ended))
            one.write_grids(0, N, lakes["maps"], lakes["positions"], seen[t])
        else:
            skipped = ended
    return results, ended


@pytest.mark.parametrize("same_step", [False, True])
def test_unroll_rows_equals_as_many_steps(same_step):
    actions = draw_actions()
    plain = make_lakes()
    boards = [np.full((T, N, TILES.size), 99, np.uint8) for _ in range(4)]
    if not same_step:
        boards[1], boards[3] = boards[0], boards[2]
    expected, ended = by_steps(plain, actions, same_step, boards[0], boards[1])

    lakes, results = make_lakes(), make_results()
    times, states = np.zeros(N, np.int64), np.full(N, PLAYING)
    rounds = 0
    for until in (6, T):
        rows = np.arange(N)
        while len(rows):
            ended_rows = rows[states[rows] == ENDED]
            begin(lakes, ended_rows)
            states[ended_rows] = BEGUN
            unroll_rows(
                0,
                len(rows),
                rows,
                until,
                same_step,
                actions,
                1,
                LIMIT,
                *(lakes[key] for key in ("maps", "neighbours", "slip", "schedule")),
                *(lakes[key] for key in ("positions", "elapsed_steps", "streams")),
                times,
                states,
                *results.values(),
                boards[2],
                boards[3],
            )
            rows = np.flatnonzero((states == ENDED) & (times < until))
            rounds += 1

    assert rounds > 3
    assert (times == T).all()
    np.testing.assert_array_equal(states == ENDED, ended & (not same_step))
    for key in RESULTS:
        np.testing.assert_array_equal(results[key], expected[key], key)
    for key, state in plain.items():
        np.testing.assert_array_equal(lakes[key], state, key)
    np.testing.assert_array_equal(boards[2], boards[0])
    np.testing.assert_array_equal(boards[3], boards[1])
    assert expected["terminations"].any()
    assert expected["truncations"].any()
