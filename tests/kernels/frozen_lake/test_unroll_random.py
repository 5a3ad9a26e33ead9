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
)

MAPS = np.stack([np.roll(TILES, i, axis=1).ravel() for i in range(N)])
NO_PLACES = np.zeros((T, 0), np.int64)


@pytest.mark.parametrize("same_step", [False, True])
def test_unroll_rows_equals_as_many_steps(same_step):
    actions = draw_actions()
    plain = make_lakes(MAPS)
    boards = [np.full((T, N, TILES.size), 99, np.uint8) for _ in range(4)]
    if not same_step:
        boards[1], boards[3] = boards[0], boards[2]
    seen, seen_next = ((NO_PLACES, board) for board in boards[:2])
    expected, ended = by_steps(plain, actions, same_step, seen, seen_next)

    lakes, results = make_lakes(MAPS), make_results()

    def play(rows, until, times, states):
        unroll_rows(
            0,
            len(rows),
            rows,
            until,
            same_step,
            actions,
            1,
            LIMIT,
            *lakes.values(),
            times,
            states,
            *results.values(),
            boards[2],
            boards[3],
        )

    times, states, rounds = in_rounds(play, lambda rows: begin(lakes, rows), N, T)

    assert rounds > 3
    assert (times == T).all()
    np.testing.assert_array_equal(states == NEEDS_RESET, ended & (not same_step))
    for key in RESULTS:
        np.testing.assert_array_equal(results[key], expected[key], key)
    for key, state in plain.items():
        np.testing.assert_array_equal(lakes[key], state, key)
    np.testing.assert_array_equal(boards[2], boards[0])
    np.testing.assert_array_equal(boards[3], boards[1])
    assert expected["terminations"].any()
    assert expected["truncations"].any()
