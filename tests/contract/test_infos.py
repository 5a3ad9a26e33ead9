"""The layout of a batch's infos: arrays of constant dtype, each with its mask."""

import numpy as np
import pytest

from roll_vec.vector.infos import add_infos, cut_final_infos, masked_infos
from tests.contract.cases import (
    CASES,
    DISABLED,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    draw_actions,
    id_of,
    make_batch,
    scale_steps,
    single_info,
)

NUM_ENVS = 6
ACTION_KEYS = {"action_is_effective", "action_is_valid", "success"}
SAID_KEYS = {"action_is_valid", "action_content", "think_content"}
# By id, or by case where text acts: of every step, of some steps, of a reset.
KEYS = {
    "roll_vec/Sokoban-v0": (ACTION_KEYS, set(), set()),
    "roll_vec/RandomFrozenLake-v0": (ACTION_KEYS, set(), set()),
    "roll_vec/FrozenLake-v1": ({"prob"}, set(), {"prob"}),
    "roll_vec/FrozenLake8x8-v1": ({"prob"}, set(), {"prob"}),
    "roll_vec/Sokoban-v0 text": (ACTION_KEYS | SAID_KEYS, set(), {"env_instruction"}),
    "roll_vec/RandomFrozenLake-v0 text": (
        ACTION_KEYS | SAID_KEYS,
        set(),
        {"env_instruction"},
    ),
    "roll_vec/FrozenLake-v1 text": (
        ACTION_KEYS | SAID_KEYS | {"prob"},
        set(),
        {"env_instruction", "prob"},
    ),
    "roll_vec/Countdown-v0": (
        ACTION_KEYS | SAID_KEYS | {"reason"},
        {"value"},
        {"env_instruction"},
    ),
    "roll_vec/WebShop-v0": (
        ACTION_KEYS | SAID_KEYS | {"available_actions"},
        {"purchased", "reward_terms"},
        {"env_instruction", "available_actions", "goal", "title_nouns"},
    ),
    "tests_vector/Guess-v0": (
        SAID_KEYS | {"success", "heard"},
        {"distance", "moved"},
        {"env_instruction", "level"},
    ),
    "tests_vector/Lamps-v0": (
        {"action_is_valid", "success", "lit"},
        set(),
        {"noise"},
    ),
}
# Of what is neither a flag nor a text.
DTYPES = {
    "prob": np.float64,
    "value": np.float64,
    "distance": np.int64,
    "digits": np.int64,
    "level": np.int64,
    "noise": np.int64,
    "lit": np.int64,
    "goal": np.int64,
    **dict.fromkeys(("reward", "r_type", "r_att", "w_att", "title_score"), np.float64),
    **dict.fromkeys(("r_option", "w_option", "w_price", "price"), np.float64),
    **dict.fromkeys(("query_match", "category_match", "r_price"), np.bool_),
    "has_search_bar": np.bool_,
}


def keys_of(case):
    """Return the info keys of a case: those of steps, and those of resets."""
    return KEYS[case if case in KEYS else id_of(case)]


def step_keys(case):
    """Return the keys that infos of a step must have."""
    return keys_of(case)[0]


def reset_keys(case):
    """Return the keys that infos of a reset must have."""
    return keys_of(case)[2]


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
            assert value.dtype == (
                np.bool_ if key in ACTION_KEYS else DTYPES.get(key, object)
            )
            assert value.shape == (num_envs,)
            if value.dtype == object:
                assert all(left is None for left in value[~mask])
                assert not any(type(given) is np.str_ for given in value[mask])
            else:
                assert not value[~mask].any()
    for mask in [key for key in infos if key.startswith("_")]:
        assert mask[1:] in infos


def without_masks(infos):
    """Return the keys of infos that are no masks."""
    return {key for key in infos if not key.startswith("_")}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_layout_and_dtypes_at_every_step(case, mode):
    env = make_batch(case, NUM_ENVS, autoreset_mode=mode)
    _, infos = env.reset(seed=0)
    check_layout(infos)
    assert without_masks(infos) == reset_keys(case)
    finished = np.zeros(NUM_ENVS, np.bool_)
    partial = {}
    for row in draw_actions(env, scale_steps(200)):
        if mode is DISABLED and finished.any():
            _, infos = env.reset(options={"reset_mask": finished})
            check_layout(infos)
            for key in reset_keys(case):
                assert_same(infos["_" + key], finished)
        _, _, terminations, truncations, infos = env.step(row)
        check_layout(infos)
        stepped = np.ones(NUM_ENVS, np.bool_)
        if mode is NEXT_STEP:
            stepped = ~finished
        elif mode is SAME_STEP:
            stepped = ~(terminations | truncations)
        for key in step_keys(case):
            mask = infos.get("_" + key, np.zeros(NUM_ENVS, np.bool_))
            resets_have_it = key in reset_keys(case)
            assert_same(mask, stepped | resets_have_it)
        for key in keys_of(case)[1]:
            mask = infos.get("_" + key, np.zeros(NUM_ENVS, np.bool_))
            assert not mask[~stepped].any()
            ended = infos.get("final_info", {}).get("_" + key, ~mask & mask)
            partial.setdefault(key, set()).add(int((mask | ended).sum()))
        known = step_keys(case) | keys_of(case)[1] | reset_keys(case)
        assert without_masks(infos) - known <= {"final_obs", "final_info"}
        finished = terminations | truncations
    # Those were there for some environments and not for others.
    assert all(len(counts) > 1 for counts in partial.values())


@pytest.mark.parametrize("case", CASES)
def test_final_info_is_the_step_and_the_rest_the_reset(case):
    same = make_batch(case, NUM_ENVS, autoreset_mode=SAME_STEP)
    disabled = make_batch(case, NUM_ENVS, autoreset_mode=DISABLED)
    for env in (same, disabled):
        env.reset(seed=2)
    seen = 0
    for row in draw_actions(same, scale_steps(100)):
        _, _, terminations, truncations, infos = same.step(row)
        *_, expected = disabled.step(row)
        finished = terminations | truncations
        if not finished.any():
            assert_same(infos, expected)
            continue
        seen += 1
        final = infos.pop("final_info")
        for key in ("_final_info", "final_obs", "_final_obs"):
            del infos[key]
        # With what is left out zero or None, and no key that nobody has.
        check_layout(final)
        check_layout(infos)
        assert without_masks(final) >= step_keys(case)
        for key in step_keys(case):
            assert_same(final["_" + key], finished)
        _, resets = disabled.reset(options={"reset_mask": finished})
        for i in range(NUM_ENVS):
            kept = {} if finished[i] else single_info(expected, i)
            assert_same(
                single_info(final, i), single_info(expected, i) if finished[i] else {}
            )
            assert_same(single_info(infos, i), kept or single_info(resets, i))
    assert seen


@pytest.mark.parametrize("case", CASES)
def test_keys_that_no_environment_has_are_absent(case):
    # The limit ends all at once, so all of them are reset at once.
    env = make_batch(case, 3, max_episode_steps=1)
    env.reset(seed=0)
    row = draw_actions(env, 1)[0]
    found = without_masks(env.step(row)[-1])
    assert step_keys(case) <= found <= step_keys(case) | keys_of(case)[1]
    assert without_masks(env.step(row)[-1]) == reset_keys(case)
    same = make_batch(case, 3, max_episode_steps=1, autoreset_mode=SAME_STEP)
    same.reset(seed=0)
    expected = {"final_obs", "final_info"} | reset_keys(case)
    assert without_masks(same.step(row)[-1]) == expected


@pytest.mark.parametrize("case", CASES)
def test_infos_of_a_partial_reset_are_those_of_the_mask(case):
    env = make_batch(case, NUM_ENVS)
    env.reset(seed=0)
    mask = np.arange(NUM_ENVS) % 3 == 0
    _, infos = env.reset(options={"reset_mask": mask})
    assert without_masks(infos) == reset_keys(case)
    for key in reset_keys(case):
        assert_same(infos["_" + key], mask)


# ---------------------------------------------------- the functions themselves


def bools(*values):
    """Return a bool array."""
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
    merged = add_infos(infos, np.array([1]), values, 3)
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
    final = cut_final_infos(infos, bools(True, False, False))
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
