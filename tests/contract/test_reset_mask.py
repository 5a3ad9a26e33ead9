"""Resets of some environments: `options={"reset_mask": mask}`, in every mode."""

import copy
import re

import numpy as np
import pytest

from roll_vec.errors import ResetNeededError
from tests.contract.cases import (
    ARRAY_AND_POOL,
    ARRAY_IDS,
    CASES,
    LEVELS,
    MODES,
    assert_same,
    draw_actions,
    lowest_action,
    make_batch,
    play,
    rows_at,
)

NUM_ENVS = 4


def played_twins(case, mode, **more):
    """Return two batches after the same step, which ended nothing."""
    twins = []
    for _ in range(2):
        env = make_batch(case, NUM_ENVS, autoreset_mode=mode, **more)
        env.reset(seed=6)
        env.step([lowest_action(env)] * NUM_ENVS)
        twins.append(env)
    return twins


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_only_masked_environments_are_reset(case, mode):
    env, twin = played_twins(case, mode)
    before = env.engine.observe()
    mask = np.array([False, True, False, True])
    observations, _ = env.reset(options={"reset_mask": mask})
    expected, _ = twin.reset()
    assert_same(rows_at(observations, mask), rows_at(expected, mask))
    assert_same(rows_at(observations, ~mask), rows_at(before, ~mask))
    assert env.get_attr("num_env_steps") == (1, 0, 1, 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_seeds_of_the_others_are_unused(case, mode):
    env, twin = played_twins(case, mode)
    mask = np.array([True, False, False, True])
    observations, _ = env.reset(seed=40, options={"reset_mask": mask})
    seeds = [40, None, None, 43]
    assert_same(twin.reset(seed=seeds, options={"reset_mask": mask})[0], observations)
    assert env.np_random_seed == twin.np_random_seed == (40, 7, 8, 43)
    actions = draw_actions(env, 40)
    assert_same(play(env, actions), play(twin, actions))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_full_mask_is_a_reset(case, mode):
    env, twin = played_twins(case, mode)
    everything = {"reset_mask": np.ones(NUM_ENVS, np.bool_)}
    assert_same(env.reset(options=everything), twin.reset())
    assert_same(env.reset(seed=1, options=everything), twin.reset(seed=1))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_options_are_left_as_they_are(case, mode):
    env, _ = played_twins(case, mode)
    options = {"reset_mask": np.array([False, True, True, False]), "other": [1]}
    before = copy.deepcopy(options)
    env.reset(options=options)
    assert_same(options, before)
    assert env.reset(options=options)[1].keys() == env.reset(options=options)[1].keys()


@pytest.mark.parametrize("case", CASES)
def test_mask_is_not_kept(case):
    env, twin = played_twins(case, MODES[0])
    mask = np.array([False, True, True, False])
    env.reset(options={"reset_mask": mask})
    twin.reset(options={"reset_mask": mask.copy()})
    mask[:] = True
    actions = draw_actions(env, 40)
    assert_same(play(env, actions), play(twin, actions))


def test_unknown_options_are_ignored():
    env, twin = played_twins(ARRAY_IDS[0], MODES[0])
    assert_same(env.reset(options={"level": 3}), twin.reset(options={}))


@pytest.mark.parametrize(
    ("mask", "error", "told"),
    [
        ([True, False, False, True], TypeError, "be a numpy array, got <class 'list'>"),
        (None, TypeError, "be a numpy array, got <class 'NoneType'>"),
        (np.array([1, 0, 0, 1]), TypeError, "have `dtype=np.bool_`, got int64"),
        (
            np.array([True, None, False, 1], object),
            TypeError,
            "have `dtype=np.bool_`, got object",
        ),
        (np.array([True, False]), ValueError, "have shape `(4,)`, got (2,)"),
        (np.ones((4, 1), np.bool_), ValueError, "have shape `(4,)`, got (4, 1)"),
        (
            np.zeros(4, np.bool_),
            ValueError,
            "contain a boolean array with at least one True value, got reset_mask=[",
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_bad_mask_is_refused_before_anything_moves(case, mask, error, told):
    env, twin = played_twins(case, MODES[0])
    options = {"reset_mask": mask}
    # The words are Gymnasium's.
    told = re.escape(f"`options['reset_mask']` must {told}")
    with pytest.raises(error, match=f"^{told}"):
        env.reset(seed=9, options=options)
    assert options["reset_mask"] is mask
    actions = draw_actions(env, 30)
    assert_same(play(env, actions), play(twin, actions))


@pytest.mark.parametrize("case", CASES)
def test_first_reset_cannot_leave_any_out(case):
    env = make_batch(case, NUM_ENVS)
    mask = np.array([True, False, True, False])
    with pytest.raises(ResetNeededError, match=r"environments \[1, 3\] were never"):
        env.reset(seed=0, options={"reset_mask": mask})
    with pytest.raises(ResetNeededError):
        env.step(draw_actions(env, 1)[0])
    assert env.np_random_seed == (None,) * NUM_ENVS
    everything = {"reset_mask": np.ones(NUM_ENVS, np.bool_)}
    expected = make_batch(case, NUM_ENVS).reset(seed=0)
    assert_same(env.reset(seed=0, options=everything), expected)


@pytest.mark.parametrize("case", LEVELS)
def test_group_members_are_reset_one_by_one(case):
    env, twin = played_twins(case, MODES[0], group_size=2)
    mask = np.array([False, True, False, False])
    observations, _ = env.reset(options={"reset_mask": mask})
    expected, _ = twin.reset()
    np.testing.assert_array_equal(observations[1], expected[1])
    # The other member gets to the same level later.
    observations, _ = env.reset(options={"reset_mask": ~mask})
    assert_same(observations, expected)
