"""Returned arrays are the caller's: fresh, writable, and tied to nothing inside."""

import copy
import itertools

import numpy as np
import pytest
from numba import types

from roll_vec.kernels.frozen_lake import rules as frozen_lake
from roll_vec.kernels.sokoban import rules as sokoban
from roll_vec.stacked.grid_observations import ARRAY_MODES
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ARRAY_IDS,
    CASES,
    DISABLED,
    MODES,
    POOLS,
    SAME_STEP,
    TEXT_OBSERVATIONS,
    TEXTS,
    assert_same,
    draw_actions,
    make_batch,
    scale_steps,
)

LAMPS = tuple(case for case in POOLS if "Lamps" in case)


def arrays_of(results):
    """Return every array in nested results, objects' own arrays too."""
    if isinstance(results, np.ndarray):
        found = [results]
        if results.dtype == object:
            found += arrays_of(results.tolist())
        return found
    if isinstance(results, dict):
        results = list(results.values())
    if isinstance(results, (tuple, list)):
        return [array for part in results for array in arrays_of(part)]
    return []


def overwrite(results):
    """Overwrite every array of some results with garbage."""
    for array in arrays_of(results):
        if array.dtype == object:
            array[:] = "garbage"
        elif array.dtype == np.bool_:
            np.logical_not(array, out=array)
        else:
            array[...] = 113


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_garbage_in_returned_arrays_does_no_harm(case, mode):
    env, twin = (make_batch(case, autoreset_mode=mode) for _ in range(2))
    result, expected = env.reset(seed=1), twin.reset(seed=1)
    finished = np.zeros(4, np.bool_)
    for row in draw_actions(env, scale_steps(120)):
        assert_same(result, expected)
        overwrite(result)
        if mode is DISABLED and finished.any():
            options = [{"reset_mask": finished.copy()} for _ in range(2)]
            overwrite(env.reset(options=options[0]))
            twin.reset(options=options[1])
        action = row.copy()
        result, expected = env.step(action), twin.step(row)
        action[:] = 99
        finished = expected[2] | expected[3]
    overwrite(env.successes)
    overwrite(env.get_attr("num_env_steps"))
    assert_same(env.reset(), twin.reset())
    row = draw_actions(env, 1)[0]
    assert_same(env.step(row), twin.step(row))


@pytest.mark.parametrize("case", CASES)
def test_arrays_are_fresh_writable_and_apart(case):
    env = make_batch(case, autoreset_mode=SAME_STEP)
    results = [env.reset(seed=0)]
    results += [env.step(row) for row in draw_actions(env, 30)]
    for result in results:
        arrays = arrays_of(result)
        assert all(array.flags.writeable for array in arrays)
        assert all(array.flags.c_contiguous for array in arrays)
        owners = {id(array) for array in arrays}
        assert len(owners) == len(arrays)
        for i, array in enumerate(arrays):
            for other in arrays[:i]:
                assert not np.shares_memory(array, other)
    for result, later in itertools.pairwise(results):
        for array in arrays_of(result):
            for other in arrays_of(later):
                assert not np.shares_memory(array, other)


@pytest.mark.parametrize("case", CASES)
def test_observations_share_nothing_with_the_state(case):
    env = make_batch(case)
    observations, _ = env.reset(seed=0)
    for value in vars(env.engine).values():
        if isinstance(value, np.ndarray):
            assert not np.shares_memory(observations, value)


@pytest.mark.parametrize(
    ("case", "more"),
    [
        *((id, {"obs_mode": mode}) for id in ARRAY_IDS for mode in ARRAY_MODES),
        *((case, {}) for case in (*ARRAY_IDS, *LAMPS)),
    ],
)
def test_without_copies_one_array_is_written_again(case, more):
    env = make_batch(case, copy=False, **more)
    twin = make_batch(case, **more)
    first, _ = env.reset(seed=0)
    expected, _ = twin.reset(seed=0)
    assert_same(first, expected)
    kept = copy.deepcopy(first)
    for row in draw_actions(env, 20):
        result, expected = env.step(row), twin.step(row)
        assert result[0] is first
        assert_same(result, expected)
    assert not np.array_equal(kept, first)
    assert env.reset(seed=0)[0] is first
    assert_same(first, kept)


@pytest.mark.parametrize("case", CASES)
def test_without_copies_the_array_is_not_the_state(case):
    env, twin = make_batch(case, copy=False), make_batch(case)
    observations, _ = env.reset(seed=0)
    twin.reset(seed=0)
    for row in draw_actions(env, 30):
        overwrite(observations)
        assert_same(env.step(row), twin.step(row))


@pytest.mark.parametrize("case", CASES)
def test_rewards_and_flags_are_fresh_without_copies_too(case):
    env = make_batch(case, copy=False)
    env.reset(seed=0)
    row = draw_actions(env, 1)[0]
    _, *one = env.step(row)
    _, *two = env.step(row)
    for array in arrays_of(one):
        assert not any(np.shares_memory(array, other) for other in arrays_of(two))


@pytest.mark.parametrize("case", [*ARRAY_IDS, *TEXT_OBSERVATIONS])
def test_texts_are_always_new_tuples(case):
    more = {"obs_mode": "text"} if case in ARRAY_IDS else {}
    env = make_batch(case, copy=False, **more)
    first, _ = env.reset(seed=0)
    kept = tuple(first)
    for row in draw_actions(env, 10):
        env.step(row)
    assert first == kept


@pytest.mark.parametrize("case", CASES)
def test_actions_are_not_written(case):
    env = make_batch(case)
    env.reset(seed=0)
    for row in draw_actions(env, 40):
        kept = row.copy()
        env.step(row)
        assert_same(row, kept)


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
@pytest.mark.parametrize("case", ARRAY_IDS)
def test_read_only_actions_compile_nothing_anew(case):
    # Arrays of jax are read-only; numba knows these as another type.
    env = make_batch(case)
    env.reset(seed=0)
    row = draw_actions(env, 1)[0]
    row.flags.writeable = False
    env.step(row)
    for kernels in (frozen_lake, sokoban):
        for signature in kernels.step_rows.signatures:
            kinds = [
                kind for item in signature for kind in getattr(item, "types", [item])
            ]
            arrays = [kind for kind in kinds if isinstance(kind, types.Array)]
            assert all(kind.mutable for kind in arrays)


@pytest.mark.parametrize("case", [*ARRAY_IDS, *TEXTS])
def test_frames_are_fresh(case):
    env = make_batch(case, render_mode="rgb_array")
    env.reset(seed=0)
    expected = copy.deepcopy(env.render())
    overwrite(env.render())
    assert_same(env.render(), expected)
