"""What an environment of a batch costs in memory."""

import gc
import tracemalloc

import numpy as np
import pytest

from roll_vec.spaces import UnicodeText
from tests.conftest import JIT_OFF
from tests.vector.cases import (
    IDS,
    LEVEL_IDS,
    draw_actions,
    make_batch,
    own_keywords,
)

FEW, MANY = 4096, 16384
KIBIBYTE = 1024

pytestmark = pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")


def grid_of_six(env_id):
    """Return the keywords that make an id's boards 6 × 6."""
    if "dim_room" in own_keywords(env_id):
        return {"dim_room": (6, 6), "num_boxes": 3, "num_levels": 64}
    if "size" in own_keywords(env_id):
        return {"size": 6}
    return {"desc": ["SFFFFF"] * 5 + ["FFFFFG"], "obs_mode": "grid"}


def allocated_by(env_id, num_envs, **more):
    """Return the bytes that are kept, and the most at any time, of a batch in use."""
    gc.collect()
    tracemalloc.start()
    try:
        env = make_batch(env_id, num_envs, **grid_of_six(env_id), **more)
        env.reset(seed=0)
        for row in draw_actions(env, 2):
            result = env.step(row)
        kept, peak = tracemalloc.get_traced_memory()
        assert result is not None
    finally:
        tracemalloc.stop()
    return kept, peak


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("env_id", IDS)
def test_environment_takes_less_than_a_kibibyte(env_id, mode):
    # What is made once is there before anything is counted.
    allocated_by(env_id, 2)
    few, few_peak = allocated_by(env_id, FEW, autoreset_mode=mode)
    many, many_peak = allocated_by(env_id, MANY, autoreset_mode=mode)
    assert (many - few) / (MANY - FEW) < KIBIBYTE
    assert (many_peak - few_peak) / (MANY - FEW) < 2 * KIBIBYTE


@pytest.mark.parametrize("env_id", IDS)
def test_steps_leave_nothing_behind(env_id):
    env = make_batch(env_id, 64, autoreset_mode="SameStep")
    env.reset(seed=0)
    actions = draw_actions(env, 60)

    def kept_after(rows):
        for row in rows:
            env.step(row)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = kept_after(actions)
        later = kept_after(actions)
    finally:
        tracemalloc.stop()
    assert later - first < 64 * KIBIBYTE


@pytest.mark.parametrize("env_id", IDS)
def test_spaces_of_texts_share_all_but_their_generator(env_id):
    num_envs = FEW
    tracemalloc.start()
    try:
        env = make_batch(env_id, num_envs, obs_mode="text")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / num_envs < 2 * KIBIBYTE
    single = env.single_observation_space
    assert isinstance(single, UnicodeText)
    assert len(env.observation_space) == num_envs
    for space in env.observation_space:
        assert space == single
        for name, value in vars(space).items():
            assert value is vars(single)[name] or name == "_np_random"


@pytest.mark.parametrize("env_id", LEVEL_IDS)
def test_kept_levels_are_one_array_each(env_id):
    env = make_batch(env_id, 32, num_levels=500)
    env.reset(seed=0)
    kept = env.engine.source._kept
    assert all(isinstance(part, np.ndarray) for part in kept)
    assert all(len(part) == 500 for part in kept)
    before = [id(part) for part in kept]
    for row in draw_actions(env, 40):
        env.step(row)
    assert [id(part) for part in env.engine.source._kept] == before


@pytest.mark.parametrize("env_id", LEVEL_IDS)
def test_sets_too_large_to_keep_are_drawn_again(env_id, monkeypatch):
    from roll_vec.array_envs import levels

    kept = make_batch(env_id, 6, num_levels=20)
    monkeypatch.setattr(levels, "CACHE_BYTES", 100)
    drawn = make_batch(env_id, 6, num_levels=20)
    kept.reset(seed=0)
    drawn.reset(seed=0)
    for row in draw_actions(kept, 40):
        np.testing.assert_array_equal(kept.step(row)[0], drawn.step(row)[0])
    assert kept.engine.source._kept is not None
    assert drawn.engine.source._kept is None
