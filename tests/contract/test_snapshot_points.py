"""Snapshots at random points, of batches of every kind, continue to the bit.

A batch takes random steps, and a snapshot now and then.  Each snapshot is continued by
one of several other batches: of the same size, of another one, of another executor, or
by the batch itself.
"""

import numpy as np
import pytest

from roll_vec import VectorState
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ALL_CASES,
    MODES,
    PROCESSES,
    assert_same,
    draw_actions,
    id_of,
    keywords,
    limit_of,
    make_batch,
    play,
    rows_at,
    scale_steps,
    single_info,
)

NUM_ENVS, LARGER = 4, 7
GROUP_SIZES = (1, 2, 4)
CONTINUATION = 5
EVERYWHERE = (*ALL_CASES, *([] if JIT_OFF else PROCESSES))
COMBINATIONS = [
    (case, mode, group_size)
    for case in EVERYWHERE
    for mode in MODES
    for group_size in GROUP_SIZES
]
TOTAL = 10_000


def siblings(case):
    """Return the cases that differ from a case in their workers alone."""
    return [
        other
        for other in EVERYWHERE
        if (id_of(other), keywords(other)) == (id_of(case), keywords(case))
    ]


def check_points(case, mode, group_size, num_points, seed, tmp_path):
    """Compare the continuations of `num_points` random snapshots with the run."""
    rng = np.random.default_rng(seed)
    options = {"autoreset_mode": mode, "group_size": group_size}
    envs = make_batch(case, NUM_ENVS, **options)
    others = [make_batch(other, NUM_ENVS, **options) for other in siblings(case)]
    # The size of a batch is a multiple of its groups.
    larger = make_batch(case, -(-LARGER // group_size) * group_size, **options)
    others.append(larger)
    num_steps = max(num_points // 2, 3 * limit_of(case))
    actions = draw_actions(envs, num_steps + CONTINUATION, seed)
    points = np.sort(rng.integers(0, num_steps, num_points))
    envs.reset(seed=int(rng.integers(1 << 62)))
    results, states = [], {}
    for t, batch in enumerate(actions):
        if t in points:
            states[t] = envs.get_state()
        results.append(play(envs, [batch]))
    for i, t in enumerate(rng.permutation(points).tolist()):
        state = states[t]
        if i % 16 == 0:
            state.save(tmp_path / "state.npz")
            state = VectorState.load(tmp_path / "state.npz", allow_pickle=True)
        target = [envs, *others][rng.integers(len(others) + 1)]
        # All rows are there, in any order: then all resets are there as well.
        more = rng.integers(0, NUM_ENVS, target.num_envs - NUM_ENVS)
        rows = rng.permutation(np.append(np.arange(NUM_ENVS), more))
        observations = target.set_state(state, rows=rows)
        if t:
            assert_same(list(observations), list(rows_at(results[t - 1][-1][0], rows)))
        for batch, expected in zip(
            actions[t : t + CONTINUATION], results[t : t + CONTINUATION], strict=True
        ):
            continued = play(target, [batch[rows]])
            assert len(continued) == len(expected)
            for one, other in zip(continued, expected, strict=True):
                assert_rows(one, other, rows)
    return len(points)


def assert_rows(result, expected, rows):
    """Check that a result is made of rows of another one, infos included."""
    for one, other in zip(result[:-1], expected[:-1], strict=True):
        assert_same(list(rows_at(one, slice(None))), list(rows_at(other, rows)))
    for env_id, row in enumerate(rows.tolist()):
        assert_same(single_info(result[-1], env_id), single_info(expected[-1], row))


@pytest.mark.parametrize("case", ALL_CASES)
def test_a_few_points_of_every_kind(case, tmp_path):
    rng = np.random.default_rng(ALL_CASES.index(case))
    mode, group_size = MODES[rng.integers(len(MODES))], int(rng.choice(GROUP_SIZES))
    check_points(case, mode, group_size, 4, int(rng.integers(99)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "mode", "group_size"), COMBINATIONS)
def test_ten_thousand_points(case, mode, group_size, tmp_path):
    num_points = scale_steps(-(-TOTAL // len(COMBINATIONS)))
    check_points(case, mode, group_size, num_points, 7 * group_size, tmp_path)
