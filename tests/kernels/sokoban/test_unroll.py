"""An unroll of T steps equals T calls of `step_rows`."""

import numpy as np
import pytest

from roll_vec.kernels.outcomes import NEEDS_RESET
from roll_vec.kernels.sokoban import rules as one
from roll_vec.kernels.sokoban.unroll import unroll_rows
from tests.kernels.unrolls import in_rounds

N, T, LIMIT, WIDTH = 5, 40, 9, 5
# The player beside a box beside a target, and beside another box on one.
ROOM = np.array(
    [
        [0, 0, 0, 0, 0],
        [0, 2, 1, 1, 0],
        [0, 4, 3, 1, 0],
        [0, 5, 1, 1, 0],
        [0, 0, 0, 0, 0],
    ],
    np.uint8,
).reshape(1, -1)
RESULTS = ["rewards", "terminations", "truncations", "effective", "valid", "successes"]


def begin(rooms, rows):
    """Set some rooms to the level."""
    rows = np.asarray(rows, np.int64)
    level_indices = np.zeros(len(rows), np.int64)
    one.place_rows(0, len(rows), rows, ROOM, level_indices, rooms)
    one.RoomState(*rooms).elapsed_steps[rows] = 0


def make_rooms():
    """Return the arrays of `RoomState` for five rooms."""
    rooms = np.zeros((N, ROOM.size), np.uint8), *np.zeros((3, N), np.int32)
    begin(rooms, range(N))
    return rooms


def make_results():
    """Return arrays of results that show where nothing was written."""
    results = {key: np.full((T, N), 99, np.bool_) for key in RESULTS}
    results["rewards"] = np.full((T, N), 99.0)
    return results


def by_steps(rooms, actions, first_action, same_step, observations, next_observations):
    """Return the results of T calls of `step_rows`; write the observations."""
    results = make_results()
    skip_mask = np.zeros(N, np.bool_)
    for t in range(T):
        if not same_step:
            begin(rooms, np.flatnonzero(skip_mask))
        out = [results[key][t] for key in RESULTS]
        numbers = first_action, WIDTH, LIMIT
        one.step_rows(0, N, actions[t], skip_mask, *numbers, rooms, tuple(out))
        ends = results["terminations"][t] | results["truncations"][t]
        next_observations[t] = rooms[0]
        if same_step:
            begin(rooms, np.flatnonzero(ends))
            observations[t] = rooms[0]
        else:
            skip_mask = ends
    return results, ends


@pytest.mark.parametrize("first_action", [0, 1])
@pytest.mark.parametrize("same_step", [False, True])
def test_unroll_rows_equals_as_many_steps(same_step, first_action):
    low, high = first_action - 1, first_action + 4
    actions = np.random.default_rng(1).integers(low, high, (T, N))
    # As in the batch: one array of observations in NEXT_STEP mode, two in SAME_STEP.
    arrays = [np.full((T, N, ROOM.size), 99, np.uint8) for _ in range(4)]
    reference_observations = arrays[:2] if same_step else [arrays[0]] * 2
    observations = arrays[2:] if same_step else [arrays[2]] * 2
    reference_rooms = make_rooms()
    reference, ends = by_steps(
        reference_rooms, actions, first_action, same_step, *reference_observations
    )

    rooms, results = make_rooms(), make_results()

    def play(rows, until, times, states):
        unroll_rows(
            0,
            len(rows),
            rows,
            until,
            same_step,
            actions,
            first_action,
            WIDTH,
            LIMIT,
            rooms,
            (times, states),
            tuple(results.values()),
            *observations,
        )

    times, states, rounds = in_rounds(play, lambda rows: begin(rooms, rows), N, T)

    assert rounds > 3
    assert (times == T).all()
    np.testing.assert_array_equal(states == NEEDS_RESET, ends & (not same_step))
    for key in RESULTS:
        np.testing.assert_array_equal(results[key], reference[key], key)
    for array, reference_array in zip(
        (*rooms, *observations),
        (*reference_rooms, *reference_observations),
        strict=True,
    ):
        np.testing.assert_array_equal(array, reference_array)
    assert reference["terminations"].any()
    assert reference["truncations"].any()
