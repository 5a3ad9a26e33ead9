"""Many steps of lakes with a map each in one call equal as many calls of one step."""

import numpy as np
import pytest

from roll_vec.kernels.frozen_lake.unroll_random import unroll_rows
from roll_vec.kernels.outcomes import NEEDS_RESET
from tests.kernels.unrolls import (
    LIMIT,
    RESULTS,
    TILES,
    N,
    T,
    begin,
    by_steps,
    draw_actions,
    in_rounds,
    make_lakes,
    make_results,
    split_results,
)

MAPS = np.stack([np.roll(TILES, i, axis=1).ravel() for i in range(N)])
NO_POSITIONS = np.zeros((T, 0), np.int64)


@pytest.mark.parametrize("same_step", [False, True])
def test_unroll_rows_equals_as_many_steps(same_step):
    actions = draw_actions()
    lakes, plain_state = make_lakes(MAPS)
    grids = [np.full((T, N, TILES.size), 99, np.uint8) for _ in range(4)]
    if not same_step:
        grids[1], grids[3] = grids[0], grids[2]
    pairs = [(NO_POSITIONS, array) for array in grids[:2]]
    expected, ends = by_steps(lakes, plain_state, actions, same_step, *pairs)

    (_, state), results = make_lakes(MAPS), make_results()

    def play(rows, until, times, states):
        unroll_rows(
            0,
            len(rows),
            rows,
            until,
            same_step,
            actions,
            LIMIT,
            tuple(lakes),
            tuple(state),
            (times, states),
            *split_results(results),
            grids[2],
            grids[3],
        )

    times, states, rounds = in_rounds(play, lambda rows: begin(state, rows), N, T)

    assert rounds > 3
    assert (times == T).all()
    np.testing.assert_array_equal(states == NEEDS_RESET, ends & (not same_step))
    for key in RESULTS:
        np.testing.assert_array_equal(results[key], expected[key], key)
    for name, array in plain_state._asdict().items():
        np.testing.assert_array_equal(getattr(state, name), array, name)
    np.testing.assert_array_equal(grids[2], grids[0])
    np.testing.assert_array_equal(grids[3], grids[1])
    assert expected["terminations"].any()
    assert expected["truncations"].any()
