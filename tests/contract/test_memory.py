"""What an environment of a batch costs in memory."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest

from roll_vec.spaces import UnicodeText
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ARRAY_CASES,
    ARRAY_IDS,
    LEVEL_IDS,
    SINGLES,
    TEXT_OBSERVATIONS,
    draw_actions,
    is_pooled,
    make_batch,
    single_keywords,
)

FEW, MANY = 1024, 4096
# Strings and dicts of Python 3.10 are larger.
KIBIBYTE = 1024 if sys.version_info >= (3, 11) else 1124
LEVEL_AHEAD = 36 + 8 + 6 * 8

pytestmark = pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")


def grid_of_six(case):
    """Return the keywords that make an id's boards 6 × 6."""
    if "dim_room" in single_keywords(case):
        return {"dim_room": (6, 6), "num_boxes": 3, "num_levels": 64}
    if is_pooled(case):
        return {}
    if "size" in single_keywords(case):
        return {"size": 6}
    view = {"obs_mode": "grid"} if case in ARRAY_IDS else {}
    return {"desc": ["SFFFFF"] * 5 + ["FFFFFG"], **view}


def allocated_by(case, num_envs, **more):
    """Return the bytes that are kept, and the most at any time, of a batch in use."""
    gc.collect()
    tracemalloc.start()
    try:
        env = make_batch(case, num_envs, **grid_of_six(case), **more)
        env.reset(seed=0)
        for row in draw_actions(env, 2):
            result = env.step(row)
        kept, peak = tracemalloc.get_traced_memory()
        assert result is not None
    finally:
        tracemalloc.stop()
    return kept, peak


def least_allocated_by(case, num_envs, **more):
    """Return the smallest of two measurements, each of both figures."""
    return np.min([allocated_by(case, num_envs, **more) for _ in range(2)], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "mode"),
    [
        ("roll_vec/FrozenLake-v1", "NextStep"),
        *((case, "SameStep") for case in ARRAY_CASES),
        # Half a second each; the cases above share their code.
        *(
            pytest.param(id, mode, marks=pytest.mark.slow)
            for id in ARRAY_IDS
            for mode in ("NextStep", "SameStep")
        ),
    ],
)
def test_environment_takes_less_than_a_kibibyte(case, mode):
    # A kernel that is compiled meanwhile, by any thread, is counted in one run alone.
    few, few_peak = least_allocated_by(case, FEW, autoreset_mode=mode)
    many, many_peak = least_allocated_by(case, MANY, autoreset_mode=mode)
    # Besides, a level ahead of time: a grid of 6 by 6, its start and its order.
    assert (many - few) / (MANY - FEW) < KIBIBYTE + LEVEL_AHEAD
    assert (many_peak - few_peak) / (MANY - FEW) < 2 * KIBIBYTE + LEVEL_AHEAD


@pytest.mark.parametrize("case", [case for case in SINGLES if is_pooled(case)])
def test_pooled_environment_takes_a_few_kibibytes(case):
    few, few_peak = least_allocated_by(case, 64)
    many, many_peak = least_allocated_by(case, 256)
    # Two spaces, a parser, attributes and names of each object.
    assert (many - few) / 192 < 6 * KIBIBYTE
    assert (many_peak - few_peak) / 192 < 8 * KIBIBYTE


@pytest.mark.slow
# The last one is a pool in the calling thread, as Countdown is.
@pytest.mark.parametrize(
    "case", [*SINGLES[:-1], pytest.param(SINGLES[-1], marks=pytest.mark.slow)]
)
def test_steps_leave_nothing_behind(case):
    env = make_batch(case, 64, autoreset_mode="SameStep")
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


@pytest.mark.parametrize(
    "case", [*ARRAY_IDS, *(case for case in TEXT_OBSERVATIONS if case in SINGLES)]
)
def test_spaces_of_texts_share_all_but_their_generator(case):
    num_envs = 256 if is_pooled(case) else FEW
    more = {"obs_mode": "text"} if case in ARRAY_IDS else {}
    tracemalloc.start()
    try:
        env = make_batch(case, num_envs, **more)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / num_envs < (6 if is_pooled(case) else 2) * KIBIBYTE
    pairs = [(env.observation_space, env.single_observation_space)]
    if case in TEXT_OBSERVATIONS:
        pairs.append((env.action_space, env.single_action_space))
    for batched, single in pairs:
        assert isinstance(single, UnicodeText)
        assert len(batched) == num_envs
        for space in batched:
            assert space == single
            for name, value in vars(space).items():
                assert value is vars(single)[name] or name == "_np_random"


@pytest.mark.parametrize("case", LEVEL_IDS)
def test_kept_levels_are_one_array_each(case):
    env = make_batch(case, 32, num_levels=500)
    env.reset(seed=0)
    kept = env.engine.level_provider._cache
    assert all(isinstance(part, np.ndarray) for part in kept)
    assert all(len(part) == 500 for part in kept)
    before = [id(part) for part in kept]
    for row in draw_actions(env, 40):
        env.step(row)
    assert [id(part) for part in env.engine.level_provider._cache] == before


@pytest.mark.parametrize("case", LEVEL_IDS)
def test_sets_too_large_to_keep_are_drawn_again(case, monkeypatch):
    from roll_vec.stacked import level_providers

    kept = make_batch(case, 6, num_levels=20)
    monkeypatch.setattr(level_providers, "CACHE_BYTES", 100)
    drawn = make_batch(case, 6, num_levels=20)
    kept.reset(seed=0)
    drawn.reset(seed=0)
    for row in draw_actions(kept, 40):
        np.testing.assert_array_equal(kept.step(row)[0], drawn.step(row)[0])
    assert kept.engine.level_provider._cache is not None
    assert drawn.engine.level_provider._cache is None
