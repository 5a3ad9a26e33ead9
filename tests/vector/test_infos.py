"""The layout of a batch's infos: arrays of constant dtype, each with its mask."""

import numpy as np
import pytest

from roll_vec.infos import final_infos, masked_infos, merge_rows
from tests.vector.cases import (
    DISABLED,
    IDS,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    draw_actions,
    fewer,
    make_batch,
)

NUM_ENVS = 6
STEP_KEYS = {
    "roll_vec/FrozenLake-v1": {"prob"},
    "roll_vec/FrozenLake8x8-v1": {"prob"},
}
RESET_KEYS = STEP_KEYS
DTYPES = {"prob": np.float64}


def step_keys(env_id):
    return STEP_KEYS.get(env_id, {"action_is_effective", "action_is_valid", "success"})


def reset_keys(env_id):
    return RESET_KEYS.get(env_id, set())


def check_layout(infos, num_envs=NUM_ENVS):
    """Check what holds for every dict of infos, and those within."""
    for key in [key for key in infos if not key.startswith("_")]:
        value, mask = infos[key], infos["_" + key]
        assert mask.dtype == np.bool_
        assert mask.shape == (num_envs,)
        assert mask.any()
        if isinstance(value, dict):
            check_layout(value)
        elif key == "final_obs":
            assert value.dtype == object
            assert value.shape == (num_envs,)
            assert all(value[i] is None for i in np.flatnonzero(~mask))
        else:
            assert value.dtype == DTYPES.get(key, np.bool_)
            assert value.shape == (num_envs,)
            assert not value[~mask].any()
    for mask in [key for key in infos if key.startswith("_")]:
        assert mask[1:] in infos


def without_masks(infos):
    return {key for key in infos if not key.startswith("_")}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", IDS)
def test_layout_and_dtypes_at_every_step(env_id, mode):
    env = make_batch(env_id, NUM_ENVS, autoreset_mode=mode)
    _, infos = env.reset(seed=0)
    check_layout(infos)
    assert without_masks(infos) == reset_keys(env_id)
    finished = np.zeros(NUM_ENVS, np.bool_)
    for row in draw_actions(env, fewer(200)):
        if mode is DISABLED and finished.any():
            _, infos = env.reset(options={"reset_mask": finished})
            check_layout(infos)
            for key in reset_keys(env_id):
                assert_same(infos["_" + key], finished)
        _, _, terminations, truncations, infos = env.step(row)
        check_layout(infos)
        stepped = np.ones(NUM_ENVS, np.bool_)
        if mode is NEXT_STEP:
            stepped = ~finished
        elif mode is SAME_STEP:
            stepped = ~(terminations | truncations)
        for key in step_keys(env_id):
            mask = infos.get("_" + key, np.zeros(NUM_ENVS, np.bool_))
            resets_have_it = key in reset_keys(env_id)
            assert_same(mask, stepped | resets_have_it)
        finished = terminations | truncations


@pytest.mark.parametrize("env_id", IDS)
def test_final_info_is_the_step_and_the_rest_the_reset(env_id):
    same = make_batch(env_id, NUM_ENVS, autoreset_mode=SAME_STEP)
    disabled = make_batch(env_id, NUM_ENVS, autoreset_mode=DISABLED)
    for env in (same, disabled):
        env.reset(seed=2)
    seen = 0
    for row in draw_actions(same, fewer(100)):
        _, _, terminations, truncations, infos = same.step(row)
        *_, expected = disabled.step(row)
        finished = terminations | truncations
        if not finished.any():
            assert_same(infos, expected)
            continue
        seen += 1
        final = infos["final_info"]
        assert without_masks(final) == step_keys(env_id)
        _, resets = disabled.reset(options={"reset_mask": finished})
        for key in step_keys(env_id):
            assert_same(final["_" + key], finished)
            assert_same(
                final[key],
                np.where(finished, expected[key], 0).astype(expected[key].dtype),
            )
            if key in resets:
                combined = np.where(finished, resets[key], expected[key])
                assert_same(infos[key], combined)
            elif not finished.all():
                assert_same(infos["_" + key], ~finished)
                assert_same(infos[key], expected[key] & ~finished)
            else:
                assert key not in infos
    assert seen


@pytest.mark.parametrize("env_id", IDS)
def test_keys_that_no_environment_has_are_absent(env_id):
    # The limit ends all at once, so all of them are reset at once.
    env = make_batch(env_id, 3, max_episode_steps=1)
    env.reset(seed=0)
    row = draw_actions(env, 1)[0]
    assert without_masks(env.step(row)[-1]) == step_keys(env_id)
    assert without_masks(env.step(row)[-1]) == reset_keys(env_id)
    same = make_batch(env_id, 3, max_episode_steps=1, autoreset_mode=SAME_STEP)
    same.reset(seed=0)
    expected = {"final_obs", "final_info"} | reset_keys(env_id)
    assert without_masks(same.step(row)[-1]) == expected


@pytest.mark.parametrize("env_id", IDS)
def test_infos_of_a_partial_reset_are_those_of_the_mask(env_id):
    env = make_batch(env_id, NUM_ENVS)
    env.reset(seed=0)
    mask = np.arange(NUM_ENVS) % 3 == 0
    _, infos = env.reset(options={"reset_mask": mask})
    assert without_masks(infos) == reset_keys(env_id)
    for key in reset_keys(env_id):
        assert_same(infos["_" + key], mask)


# ---------------------------------------------------- the functions themselves


def bools(*values):
    return np.array(values, np.bool_)


def test_masked_infos_gives_each_key_a_mask_of_its_own():
    values = {"a": np.array([1.5, 0.0]), "b": np.array([2, 0])}
    infos = masked_infos(values, bools(True, False))
    assert list(infos) == ["a", "_a", "b", "_b"]
    infos["_a"][:] = False
    assert infos["_b"].tolist() == [True, False]
    assert masked_infos(values, bools(False, False)) == {}


def test_merge_rows_adds_entries_and_keys():
    infos = {"a": np.array([1.0, 0.0, 3.0]), "_a": bools(True, False, True)}
    values = {"a": np.array([9.0]), "b": np.array([7])}
    merged = merge_rows(infos, np.array([1]), values, 3)
    expected = {
        "a": np.array([1.0, 9.0, 3.0]),
        "_a": bools(True, True, True),
        "b": np.array([0, 7, 0]),
        "_b": bools(False, True, False),
    }
    assert_same(merged, expected)


def test_final_infos_cuts_out_what_has_ended():
    texts = np.array(["x", None, "z"], object)
    infos = {
        "a": np.array([1.0, 2.0, 0.0]),
        "_a": bools(True, True, False),
        "b": np.array([5, 0, 0]),
        "_b": bools(True, False, False),
        "c": texts,
        "_c": bools(True, False, True),
        "d": np.array([0, 4, 0]),
        "_d": bools(False, True, False),
    }
    final = final_infos(infos, bools(True, False, False))
    first = bools(True, False, False)
    assert_same(
        final,
        {
            "a": np.array([1.0, 0.0, 0.0]),
            "_a": first,
            "b": np.array([5, 0, 0]),
            "_b": first,
            "c": np.array(["x", None, None], object),
            "_c": first,
        },
    )
    assert_same(
        infos,
        {
            "a": np.array([0.0, 2.0, 0.0]),
            "_a": bools(False, True, False),
            "c": np.array([None, None, "z"], object),
            "_c": bools(False, False, True),
            "d": np.array([0, 4, 0]),
            "_d": bools(False, True, False),
        },
    )
