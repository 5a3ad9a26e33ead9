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
    split_results,
)

ONE_MAP = TILES.reshape(1, -1)
RESET_PROB = 0.5


def make_observations(with_grids):
    """Return the arrays of `LakeObservations`: positions or grids, the other empty."""
    if with_grids:
        return np.zeros((T, 0), np.int64), np.full((T, N, TILES.size), 99, np.uint8)
    return np.full((T, N), 99), np.zeros((T, 0, 0), np.uint8)


def unroll(
    lakes,
    state,
    actions,
    results,
    needs_reset,
    times,
    same_step,
    resets,
    observations,
    ranges,
):
    """Unroll in some ranges of rows, one after the other."""
    for start, stop in ranges:
        unroll_rows(
            start,
            stop,
            resets,
            same_step,
            actions,
            LIMIT,
            CHANCES,
            RESET_PROB,
            tuple(lakes),
            tuple(state),
            needs_reset,
            times,
            *split_results(results),
            *observations,
        )


@pytest.mark.parametrize("ranges", [[(0, N)], [(2, N), (0, 2)]])
@pytest.mark.parametrize("with_grids", [False, True])
@pytest.mark.parametrize("same_step", [False, True])
def test_unroll_rows_equals_as_many_steps(same_step, with_grids, ranges):
    actions = draw_actions()
    lakes, plain_state = make_lakes(ONE_MAP)
    plain = [make_observations(with_grids) for _ in range(2)]
    unrolled = [make_observations(with_grids) for _ in range(2)]
    if not same_step:
        plain[1], unrolled[1] = plain[0], unrolled[0]
    expected, ends = by_steps(lakes, plain_state, actions, same_step, *plain)

    (_, state), results = make_lakes(ONE_MAP), make_results()
    needs_reset, times = np.zeros(N, np.bool_), np.full(N, 99)
    flags = same_step, True
    unroll(lakes, state, actions, results, needs_reset, times, *flags, unrolled, ranges)
    if not same_step:
        ended = expected["terminations"] | expected["truncations"]
        expected["probs"][1:][ended[:-1]] = RESET_PROB

    assert (times == T).all()
    assert ends.any()
    np.testing.assert_array_equal(needs_reset, ends & (not same_step))
    for key in RESULTS:
        np.testing.assert_array_equal(results[key], expected[key], key)
    for name, array in plain_state._asdict().items():
        np.testing.assert_array_equal(getattr(state, name), array, name)
    for actual, desired in zip(unrolled, plain, strict=True):
        np.testing.assert_array_equal(actual[0], desired[0])
        np.testing.assert_array_equal(actual[1], desired[1])
    assert expected["terminations"].any()
    assert expected["truncations"].any()


def test_rows_that_ended_before_are_begun_in_the_first_step():
    actions = draw_actions()[:1]
    (lakes, plain_state), (_, state) = make_lakes(ONE_MAP), make_lakes(ONE_MAP)
    results = make_results(1)
    needs_reset, times = np.arange(N) % 2 == 0, np.full(N, 99)
    rows = np.flatnonzero(needs_reset)
    begin(plain_state, rows)
    positions = np.full((1, N), 99)
    observations = [(positions, np.zeros((1, 0, 0), np.uint8))] * 2
    flags = False, True
    unroll(
        lakes,
        state,
        actions,
        results,
        needs_reset,
        times,
        *flags,
        observations,
        [(0, N)],
    )
    np.testing.assert_array_equal(positions[0, rows], plain_state.positions[rows])
    assert (results["probs"][0, rows] == RESET_PROB).all()
    assert not any(results[key][0, rows].any() for key in RESULTS if key != "probs")
    assert results["probs"][0, 1::2].all()


def test_without_resets_rows_stop_before_the_step_that_would_need_one():
    actions = draw_actions()
    lakes, plain_state = make_lakes(ONE_MAP)
    observations = [make_observations(False)] * 2
    expected, _ = by_steps(lakes, plain_state, actions, False, *observations)
    ends = expected["terminations"] | expected["truncations"]

    (_, state), results = make_lakes(ONE_MAP), make_results()
    needs_reset, times = np.zeros(N, np.bool_), np.full(N, 99)
    flags, ranges = (False, False), [(2, N), (0, 2)]
    unroll(
        lakes, state, actions, results, needs_reset, times, *flags, observations, ranges
    )
    stops = []
    for rows in (slice(0, 2), slice(2, N)):
        stop = int(ends[:, rows].any(axis=1).argmax()) + 1
        last = ends[stop - 1, rows]
        np.testing.assert_array_equal(needs_reset[rows], last)
        np.testing.assert_array_equal(times[rows], np.where(last, stop, T))
        for key in RESULTS:
            actual, desired = results[key][:stop, rows], expected[key][:stop, rows]
            np.testing.assert_array_equal(actual, desired, key)
        assert (results["rewards"][stop:, rows] == 99).all()
        stops.append(stop)
    # The ranges stop at different times, and not for all of their rows.
    assert 1 < min(stops) < max(stops) < T
    assert not needs_reset.all()
