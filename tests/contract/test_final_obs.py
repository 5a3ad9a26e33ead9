"""The dense batch of true next observations, beside Gymnasium's object array."""

import numpy as np
import pytest

import roll_vec
from tests.contract.cases import (
    ARRAY_IDS,
    DISABLED,
    MODES,
    POOLS,
    SAME_STEP,
    TEXTS,
    assert_same,
    draw_actions,
    make_batch,
    make_sync,
    single_keywords,
)

NUM_ENVS = 5


def obs_modes(case):
    """Return the observation modes to test; a default other than grids stands alone."""
    default = single_keywords(case)["obs_mode"]
    return [default] if default != "grid" else ["grid", "planes", "rgb", "text"]


VIEWS = [(id, {"obs_mode": mode}) for id in ARRAY_IDS for mode in obs_modes(id)]
VIEWS += [
    (ARRAY_IDS[1], {"obs_mode": "text"}),
    *((case, {}) for case in (*TEXTS, *POOLS)),
]


@pytest.mark.parametrize(("case", "more"), VIEWS)
def test_is_what_the_step_led_to(case, more):
    same = make_batch(case, NUM_ENVS, autoreset_mode=SAME_STEP, **more)
    plain = make_batch(case, NUM_ENVS, autoreset_mode=DISABLED, **more)
    for env in (same, plain):
        env.reset(seed=0)
    ended = 0
    for row in draw_actions(same, 60):
        observations, _, terminations, truncations, infos = same.step(row)
        expected = plain.step(row)[0]
        dense = same.final_obs(observations, infos)
        assert_same(dense, expected)
        assert_same(roll_vec.final_obs(observations, infos), expected)
        finished = terminations | truncations
        if finished.any():
            ended += 1
            _, _ = plain.reset(options={"reset_mask": finished})
    assert ended


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [*ARRAY_IDS, "tests_vector/Lamps-v0"])
def test_leaves_its_arguments_alone_and_is_new(case, mode):
    env = make_batch(case, NUM_ENVS, autoreset_mode=mode, max_episode_steps=1)
    env.reset(seed=0)
    observations, *_, infos = env.step(draw_actions(env, 1)[0])
    before = observations.copy()
    dense = env.final_obs(observations, infos)
    assert dense is not observations
    assert not np.shares_memory(dense, observations)
    dense[:] = 0
    assert_same(observations, before)
    if mode is SAME_STEP:
        assert_same(
            env.final_obs(observations, infos)[0], infos["final_obs"][0] + dense[0]
        )


def test_without_an_end_is_a_copy_and_texts_are_themselves():
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


def test_works_on_gymnasiums_own_batches():
    sync = make_sync(ARRAY_IDS[1], NUM_ENVS, SAME_STEP)
    ours = make_batch(ARRAY_IDS[1], NUM_ENVS, autoreset_mode=SAME_STEP)
    sync.reset(seed=0)
    ours.reset(seed=0)
    for row in draw_actions(ours, 30):
        observations, *_, infos = sync.step(row)
        expected, *_, own_infos = ours.step(row)
        dense = roll_vec.final_obs(observations, infos)
        assert_same(dense, ours.final_obs(expected, own_infos))
