"""A batch pickled or copied in mid-episode goes on like the one it was made from."""

import copy
import pickle

import gymnasium
import pytest

from roll_vec.stacked.thread_team import process_team
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ARRAY_IDS,
    CASES,
    DISABLED,
    LEVEL_IDS,
    MODES,
    NEXT_STEP,
    POOLS,
    SAME_STEP,
    SINGLES,
    TEXTS,
    assert_same,
    draw_actions,
    is_pooled,
    lowest_action,
    make_batch,
    make_single,
    play,
    scale_steps,
)
from tests.splits import split_all
from tests.thinning import one_in


def by_pickle(env):
    """Return a duplicate by the newest protocol of pickle."""
    return pickle.loads(pickle.dumps(env))


def by_oldest_pickle(env):
    """Return a duplicate by protocol 2."""
    return pickle.loads(pickle.dumps(env, protocol=2))


def by_cloudpickle(env):
    """Return a duplicate by cloudpickle."""
    cloudpickle = pytest.importorskip("cloudpickle")
    return cloudpickle.loads(cloudpickle.dumps(env))


DUPLICATES = [by_pickle, by_oldest_pickle, by_cloudpickle, copy.deepcopy]


@one_in(3, "case, mode, duplicate", CASES, MODES, DUPLICATES)
def test_duplicate_goes_on_like_the_original(case, mode, duplicate):
    env = make_batch(case, 6, autoreset_mode=mode, group_size=2)
    env.reset(seed=[1, 2**70, 3, 4, 5, 6])
    play(env, draw_actions(env, 17))
    twin = duplicate(env)
    assert twin is not env
    assert twin.spec == env.spec
    assert twin.autoreset_mode is mode
    assert twin.metadata == env.metadata
    actions = draw_actions(env, scale_steps(60), seed=1)
    # One after the other: they share nothing.
    expected = play(env, actions)
    assert_same(play(twin, actions), expected)
    assert_same(twin.reset(), env.reset())
    assert twin.np_random_seed == env.np_random_seed


@pytest.mark.parametrize("case", CASES)
def test_what_waits_and_what_has_ended_is_kept(case):
    first, closed = (make_batch(case, 3) for _ in range(2))
    with pytest.raises(gymnasium.error.ResetNeeded):
        by_pickle(first).step([lowest_action(first)] * 3)
    closed.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        by_pickle(closed).reset()
    for mode in (NEXT_STEP, DISABLED):
        env = make_batch(case, 3, max_episode_steps=1, autoreset_mode=mode)
        env.reset(seed=0)
        row = draw_actions(env, 1)[0]
        env.step(row)
        twins = [duplicate(env) for duplicate in DUPLICATES]
        if mode is DISABLED:
            with pytest.raises(gymnasium.error.ResetNeeded):
                twins[0].step(row)
            continue
        expected = play(env, [row, row])
        for twin in twins:
            assert_same(play(twin, [row, row]), expected)


@pytest.mark.parametrize("case", [ARRAY_IDS[0], TEXTS[0], POOLS[0], POOLS[-1]])
def test_without_copies_each_writes_its_own_array(case):
    env = make_batch(case, 3, copy=False)
    observations, _ = env.reset(seed=0)
    kept = copy.deepcopy(observations)
    twins = [duplicate(env) for duplicate in DUPLICATES]
    actions = draw_actions(env, 20)
    results = [play(twin, actions) for twin in twins]
    assert_same(observations, kept)
    expected = play(env, actions)
    for result in results:
        assert_same(result, expected)


@pytest.mark.parametrize("duplicate", DUPLICATES)
@pytest.mark.parametrize("case", SINGLES)
def test_single_env_goes_on_like_the_original(case, duplicate):
    env = make_single(case)
    env.reset(seed=2**40)
    drawn = draw_actions(make_batch(case, 1), 49)[:, 0].tolist()

    def run(form, actions):
        results = []
        for action in actions:
            results.append(form.step(action))
            if results[-1][2] or results[-1][3]:
                results.append(form.reset())
        return results

    run(env, drawn[:9])
    twin = duplicate(env)
    assert_same(run(twin, drawn[9:]), run(env, drawn[9:]))


# ----------------------------------------------------------- what is left out


@pytest.mark.parametrize("case", LEVEL_IDS)
def test_kept_levels_are_not_pickled(case):
    env = make_batch(case, 4, num_levels=1000)
    fresh = len(pickle.dumps(env))
    env.reset(seed=0)
    play(env, draw_actions(env, 30))
    assert env.engine.level_provider._cache is not None
    assert len(pickle.dumps(env)) < fresh + 4000
    twins = [duplicate(env) for duplicate in DUPLICATES]
    actions = draw_actions(env, 30, seed=2)
    # The original keeps its own.
    assert env.engine.level_provider._cache is not None
    expected = play(env, actions)
    for twin in twins:
        assert twin.engine.level_provider._cache is None
        assert_same(play(twin, actions), expected)


@pytest.mark.skipif(JIT_OFF, reason="threads do not silence integers that wrap")
def test_threads_are_not_pickled(monkeypatch):
    split_all(monkeypatch, 2)
    env = make_batch("roll_vec/FrozenLake-v1", 1000, num_threads=2)
    env.reset(seed=0)
    actions = draw_actions(env, 2)
    env.step(actions[0])
    assert process_team().threads
    twin = by_pickle(env)
    assert_same(twin.step(actions[1]), env.step(actions[1]))


def test_windows_are_not_pickled(monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make_batch(ARRAY_IDS[0], 2, render_mode="human")
    env.reset(seed=0)
    twin = by_pickle(env)
    assert twin._window is None
    assert env._window is not None
    twin.close()
    assert pygame.display.get_init()
    env.close()
    assert not pygame.display.get_init()


@pytest.mark.parametrize("case", CASES)
def test_pickle_is_small(case):
    # State, streams and spaces, with nothing of the levels or of code.
    sizes = []
    for num_envs in (64, 128):
        env = make_batch(case, num_envs, autoreset_mode=SAME_STEP)
        env.reset(seed=0)
        sizes.append(len(pickle.dumps(env)))
    # Instances have attributes of their own, with names and spaces.
    each = 4096 if is_pooled(case) else 1024
    assert sizes[1] - sizes[0] < 64 * each
