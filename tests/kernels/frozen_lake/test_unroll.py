"""Many steps of lakes of one map in one call equal as many calls of one step."""

import numpy as np
import pytest

from roll_vec.kernels.frozen_lake.unroll import unroll_rows
from tests.kernels.unrolls import (
    CHANCES,
    LIMIT,
    RESULTS,
    TILES,
    N,
    T,
    begin,
    by_steps,
    draw_actions,
    make_lakes,
    make_results,
)

ONE_MAP = TILES.reshape(1, -1)


def make_seen(shows_boards):
    """Return arrays for positions and for boards, one of them empty."""
    if shows_boards:
        return np.zeros((T, 0), np.int64), np.full((T, N, TILES.size), 99, np.uint8)
    return np.full((T, N), 99), np.zeros((T, 0, 0), np.uint8)


def unroll(lakes, actions, results, ended, times, same_step, begins, seen, parts):
    for start, stop in parts:
        unroll_rows(
            start,
            stop,
            begins,
            same_step,
            actions,
            1,
            LIMIT,
            *(lakes[key] for key in ("maps", "neighbours", "slip", "schedule")),
            CHANCES,
            *(lakes[key] for key in ("positions", "elapsed_steps", "streams")),
            ended,
            times,
            *results.values(),
            *seen,
        )


@pytest.mark.parametrize("parts", [[(0, N)], [(2, N), (0, 2)]])
@pytest.mark.parametrize("shows_boards", [False, True])
@pytest.mark.parametrize("same_step", [False, True])
def test_unroll_rows_equals_as_many_steps(same_step, shows_boards, parts):
    actions = draw_actions()
    plain = make_lakes(ONE_MAP)
    pairs = [make_seen(shows_boards) for _ in range(4)]
    if not same_step:
        pairs[1], pairs[3] = pairs[0], pairs[2]
    expected, last = by_steps(plain, actions, same_step, pairs[0], pairs[1])

    lakes, results = make_lakes(ONE_MAP), make_results()
    ended, times = np.zeros(N, np.bool_), np.full(N, 99)
    seen = *pairs[2], *pairs[3]
    unroll(lakes, actions, results, ended, times, same_step, True, seen, parts)

    assert (times == T).all()
    assert last.any()
    np.testing.assert_array_equal(ended, last & (not same_step))
    for key in RESULTS:
        np.testing.assert_array_equal(results[key], expected[key], key)
    for key, state in plain.items():
        np.testing.assert_array_equal(lakes[key], state, key)
    for found, wanted in zip(pairs[2] + pairs[3], pairs[0] + pairs[1], strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert expected["terminations"].any()
    assert expected["truncations"].any()


def test_rows_that_ended_before_are_begun_in_the_first_step():
    actions = draw_actions()[:1]
    plain, lakes, results = make_lakes(ONE_MAP), make_lakes(ONE_MAP), make_results(1)
    ended, times = np.arange(N) % 2 == 0, np.full(N, 99)
    rows = np.flatnonzero(ended)
    begin(plain, rows)
    places = np.full((1, N), 99)
    boards = np.zeros((1, 0, 0), np.uint8)
    seen = places, boards, places, boards
    unroll(lakes, actions, results, ended, times, False, True, seen, [(0, N)])
    np.testing.assert_array_equal(places[0, rows], plain["positions"][rows])
    assert not any(results[key][0, rows].any() for key in RESULTS)
    assert results["probs"][0, 1::2].all()


def test_without_beginnings_rows_stop_before_the_step_that_would_need_one():
    actions = draw_actions()
    plain = make_lakes(ONE_MAP)
    seen = make_seen(False)
    expected, _ = by_steps(plain, actions, False, seen, seen)
    ends = expected["terminations"] | expected["truncations"]

    lakes, results = make_lakes(ONE_MAP), make_results()
    ended, times = np.zeros(N, np.bool_), np.full(N, 99)
    parts = [(2, N), (0, 2)]
    unroll(lakes, actions, results, ended, times, False, False, seen * 2, parts)
    stops = []
    for part in (slice(0, 2), slice(2, N)):
        stop = int(ends[:, part].any(axis=1).argmax()) + 1
        last = ends[stop - 1, part]
        np.testing.assert_array_equal(ended[part], last)
        np.testing.assert_array_equal(times[part], np.where(last, stop, T))
        for key in RESULTS:
            found, wanted = results[key][:stop, part], expected[key][:stop, part]
            np.testing.assert_array_equal(found, wanted, key)
        assert (results["rewards"][stop:, part] == 99).all()
        stops.append(stop)
    # The parts stop at different times, and not for all of their rows.
    assert 1 < min(stops) < max(stops) < T
    assert not ended.all()
