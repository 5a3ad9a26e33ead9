"""Memory: whose arrays are returned, what an environment costs, what is not pickled.

That arrays are fresh, writable and apart is what the public checker says of every case.
"""

import gc
import pickle
import sys
import tracemalloc

import numpy as np
import pytest

from roll_vec.spaces import UnicodeText
from tests.conftest import JIT_OFF
from tests.contract import cases


@pytest.mark.parametrize("case", cases.CASES)
def test_garbage_does_no_harm_without_copies_either(case):
    env, twin = cases.make_batch(case, copy=False), cases.make_batch(case)
    observations, _ = env.reset(seed=0)
    texts = tuple(observations)
    first, _ = twin.reset(seed=0)
    mask = np.array([False, True, True, False])
    env.reset(options={"reset_mask": mask})
    twin.reset(options={"reset_mask": mask.copy()})
    mask[:] = True
    for row in cases.draw_actions(env, 30):
        cases.scribble(observations)
        given = row.copy()
        result, expected = env.step(given), twin.step(row)
        cases.assert_same(given, row)
        given[:] = 99
        cases.assert_same(result, expected)
        cases.scribble((result, env.successes, env.get_attr("num_env_steps")))
    if isinstance(first, tuple):
        assert observations == texts == first
    cases.assert_same(env.reset(), twin.reset())


# Strings and dicts of Python 3.10 are larger.
KIBIBYTE = 1024 if sys.version_info >= (3, 11) else 1124


def grid_of_six(case):
    """Return the keywords that make an id's boards 6 × 6."""
    if "dim_room" in cases.single_keywords(case):
        return {"dim_room": (6, 6), "num_boxes": 3, "num_levels": 64}
    if cases.is_pooled(case):
        return {}
    if "size" in cases.single_keywords(case):
        return {"size": 6}
    view = {"obs_mode": "grid"} if case in cases.ARRAY_IDS else {}
    return {"desc": ["SFFFFF"] * 5 + ["FFFFFG"], "map_name": None, **view}


def allocated_by(case, num_envs):
    """Return the bytes that are kept, and the most at any time, of a batch in use."""
    gc.collect()
    tracemalloc.start()
    try:
        env = cases.make_batch(
            case, num_envs, autoreset_mode=cases.SAME_STEP, **grid_of_six(case)
        )
        env.reset(seed=0)
        for row in cases.draw_actions(env, 2):
            result = env.step(row)
        gc.collect()
        kept, peak = tracemalloc.get_traced_memory()
        assert result is not None
    finally:
        tracemalloc.stop()
    env.close()
    return kept, peak


@pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")
@pytest.mark.parametrize("case", [*cases.ARRAY_CASES, "roll_vec/Countdown-v0"])
def test_an_environment_takes_a_kibibyte_and_an_object_a_few(case):
    """Each environment more costs less, kept and at most.

    Kernels that are compiled meanwhile, by any thread, are counted as well: one attempt
    of five without them is enough.
    """
    few, many, limits = 1024, 4096, (KIBIBYTE, 2 * KIBIBYTE)
    if cases.is_pooled(case):
        # Two spaces, a parser, attributes and names of each object.
        few, many, limits = 32, 96, (6 * KIBIBYTE, 8 * KIBIBYTE)
    allocated_by(case, few)
    attempts = []
    for _ in range(5):
        least, most = (np.array(allocated_by(case, n)) for n in (few, many))
        attempts.append((most - least) / (many - few))
        if (attempts[-1] < limits).all():
            return
    pytest.fail(f"bytes each, kept and at most: {np.array(attempts)}")


@pytest.mark.slow
@pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")
@pytest.mark.parametrize("case", cases.SINGLES)
def test_steps_leave_nothing_behind(case):
    env = cases.make_batch(case, 16, autoreset_mode=cases.SAME_STEP)
    env.reset(seed=0)
    actions = cases.draw_actions(env, 60)

    def kept_after(rows):
        for row in rows:
            env.step(row)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        kept = [kept_after(actions) for _ in range(4)]
    finally:
        tracemalloc.stop()
    # Once no more at least: what others allocate meanwhile is no leak.
    assert np.diff(kept).min() < 16 * KIBIBYTE


@pytest.mark.parametrize(
    "case",
    [
        *cases.ARRAY_IDS,
        *(case for case in cases.TEXT_OBSERVATIONS if case in cases.SINGLES),
    ],
)
def test_spaces_of_texts_share_all_but_their_generator(case):
    more = {"obs_mode": "text"} if case in cases.ARRAY_IDS else {}
    env = cases.make_batch(case, 64, **more)
    pairs = [(env.observation_space, env.single_observation_space)]
    if case in cases.TEXT_OBSERVATIONS:
        pairs.append((env.action_space, env.single_action_space))
    for batched, single in pairs:
        assert isinstance(single, UnicodeText)
        assert len(batched) == 64
        for space in batched:
            assert space == single
            for name, value in vars(space).items():
                assert value is vars(single)[name] or name == "_np_random"


@pytest.mark.parametrize("case", cases.CASES)
def test_pickle_is_small(case):
    # State, streams and spaces, with nothing of the levels or of code.
    sizes = []
    for num_envs in (64, 128):
        env = cases.make_batch(case, num_envs, autoreset_mode=cases.SAME_STEP)
        env.reset(seed=0)
        sizes.append(len(pickle.dumps(env)))
    # Instances have attributes of their own, with names and spaces.
    each = 4096 if cases.is_pooled(case) else 1024
    assert sizes[1] - sizes[0] < 64 * each
