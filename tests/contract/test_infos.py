"""Infos: the keys and dtypes of every case, and true next observations as one batch.

That a batch's layout is Gymnasium's, at every step and in every mode, is what the
lockstep with SyncVectorEnv and the public checker say.
"""

import numpy as np
import pytest

import roll_vec
from tests.contract.cases import (
    ARRAY_IDS,
    DISABLED,
    MODES,
    NEXT_STEP,
    POOLS,
    SAME_STEP,
    TEXTS,
    assert_same,
    draw_actions,
    make_batch,
    make_sync,
    scale_steps,
)

NUM_ENVS = 6
ACTION_KEYS = {"action_is_effective", "action_is_valid", "success"}
SAID_KEYS = {"action_is_valid", "action_content", "think_content"}
# By case: of every step, of some steps, of a reset.
KEYS = {
    "roll_vec/Sokoban-v0": (ACTION_KEYS, set(), set()),
    "roll_vec/RandomFrozenLake-v0": (ACTION_KEYS, set(), set()),
    "roll_vec/FrozenLake-v1": ({"prob"}, set(), {"prob"}),
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
    **dict.fromkeys(("prob", "value", "reward", "r_type", "r_att"), np.float64),
    **dict.fromkeys(("w_att", "title_score", "r_option", "w_option"), np.float64),
    **dict.fromkeys(("w_price", "price"), np.float64),
    **dict.fromkeys(("distance", "digits", "level", "noise", "lit", "goal"), np.int64),
    **dict.fromkeys((*ACTION_KEYS, "query_match", "category_match"), np.bool_),
    **dict.fromkeys(("r_price", "has_search_bar"), np.bool_),
}


def check_dtypes(infos):
    """Check the dtypes of infos, and of those within."""
    for key, value in infos.items():
        if isinstance(value, dict):
            check_dtypes(value)
        elif not key.startswith("_"):
            assert value.dtype == DTYPES.get(key, object), key
            assert not any(type(given) is np.str_ for given in value)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("case", KEYS)
def test_keys_and_dtypes(case, mode):
    env = make_batch(case, NUM_ENVS, autoreset_mode=mode)
    of_steps, of_some, of_resets = KEYS[case]
    _, infos = env.reset(seed=0)
    check_dtypes(infos)
    assert {key for key in infos if key[0] != "_"} == of_resets
    finished, partial = np.zeros(NUM_ENVS, np.bool_), {}
    for row in draw_actions(env, scale_steps(80)):
        *_, terminations, truncations, infos = env.step(row)
        ended = terminations | truncations
        stepped = ~(ended if mode is SAME_STEP else finished)
        finals = infos.pop("final_info", {})
        infos.pop("final_obs", None)
        for layout in (infos, finals):
            check_dtypes(layout)
            assert {k for k in layout if k[0] != "_"} <= of_steps | of_some | of_resets
        nobody = np.zeros(NUM_ENVS, np.bool_)
        for key in of_steps:
            mask = infos.get(f"_{key}", nobody)
            assert_same(mask, stepped | (key in of_resets))
            if mode is SAME_STEP:
                assert_same(finals.get(f"_{key}", nobody), ended)
        for key in of_some:
            mask = infos.get(f"_{key}", nobody)
            assert not mask[~stepped].any()
            mask = mask | finals.get(f"_{key}", nobody)
            partial.setdefault(key, set()).add(int(mask.sum()))
        finished = ended
    # Those were there for some environments and not for others.
    assert all(len(counts) > 1 for counts in partial.values())


# ------------------------------------------------------- true next observations


@pytest.mark.parametrize(
    ("case", "more"),
    [
        *((id, {}) for id in ARRAY_IDS),
        *((ARRAY_IDS[0], {"obs_mode": mode}) for mode in ("planes", "rgb", "text")),
        *((case, {}) for case in (*TEXTS, *POOLS)),
    ],
)
def test_final_obs_is_what_the_step_led_to(case, more):
    same = make_batch(case, NUM_ENVS, autoreset_mode=SAME_STEP, **more)
    plain = make_batch(case, NUM_ENVS, autoreset_mode=DISABLED, **more)
    sync = make_sync(case, NUM_ENVS, SAME_STEP, **more)
    for env in (same, plain, sync):
        env.reset(seed=0)
    ended = 0
    for row in draw_actions(same, 25):
        observations, _, terminations, truncations, infos = same.step(row)
        expected = plain.step(row)[0]
        assert_same(same.final_obs(observations, infos), expected)
        assert_same(roll_vec.final_obs(observations, infos), expected)
        observations, *_, infos = sync.step(row)
        assert_same(roll_vec.final_obs(observations, infos), expected)
        finished = terminations | truncations
        if finished.any():
            ended += 1
            plain.reset(options={"reset_mask": finished})
    assert ended
    sync.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [*ARRAY_IDS, "tests_vector/Lamps-v0"])
def test_final_obs_leaves_its_arguments_alone_and_is_new(case, mode):
    env = make_batch(case, NUM_ENVS, autoreset_mode=mode, max_episode_steps=1)
    env.reset(seed=0)
    observations, *_, infos = env.step(draw_actions(env, 1)[0])
    before, last = observations.copy(), env.final_obs(observations, infos)
    dense = last.copy()
    assert last is not observations
    assert not np.shares_memory(last, observations)
    last[:] = 0
    assert_same(observations, before)
    assert_same(env.final_obs(observations, infos), dense)


def test_final_obs_without_an_end_is_a_copy_and_texts_are_themselves():
    array = np.arange(6).reshape(2, 3)
    assert_same(roll_vec.final_obs(array, {}), array)
    assert roll_vec.final_obs(array, {}) is not array
    texts = ("a", "b")
    assert roll_vec.final_obs(texts, {}) is texts
    infos = {
        "final_obs": np.array([None, "c"], object),
        "_final_obs": np.array([False, True]),
    }
    assert roll_vec.final_obs(texts, infos) == ("a", "c")
