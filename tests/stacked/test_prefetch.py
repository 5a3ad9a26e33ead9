"""Levels ahead of time: equal results, errors where they were, threads that end."""

import copy
import gc
import os
import pickle
import threading
import weakref

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import LevelGenerationError
from roll_vec.stacked import prefetch
from roll_vec.stacked.prefetch import LevelSource, Prefetcher, make_prefetcher
from tests.contract.cases import assert_same
from tests.stacked import prefetch_stress

ROWS = np.arange(40)
LAKE = "roll_vec/RandomFrozenLake-v0"


def levels_of(seeds):
    """Return levels that name their seeds."""
    return (np.stack([seeds, seeds + np.uint64(7)], 1), seeds.astype(np.float64))


def draw_now(seeds):
    return levels_of(seeds), np.arange(len(seeds))


def no_draw(seeds):
    raise AssertionError(f"drawn now: {seeds}")


def values(result):
    """Return the levels that a prefetcher returned."""
    levels, indices = result
    return [array[indices] for array in levels]


def seeds_from(start, count=40):
    return np.arange(start, start + count, dtype=np.uint64)


@pytest.fixture
def prefetcher():
    prefetcher = Prefetcher(len(ROWS), 3, is_forced=True)
    yield prefetcher
    prefetcher.close()


def wait_until_ready(prefetcher, source, rows=ROWS):
    """Wait until the slots of rows have the levels that were ordered."""
    background = prefetcher._background
    done = threading.Event()
    for _ in range(2000):
        if (background.ready[rows] == background.orders[rows]).all():
            return
        done.wait(0.005)
    raise AssertionError("levels were not drawn")


def threads_of_levels():
    return [each for each in threading.enumerate() if each.name == "roll_vec levels"]


# ------------------------------------------------------------------ one prefetcher


def test_levels_of_slots_are_those_of_their_seeds(prefetcher):
    source = LevelSource(levels_of, 1)
    prefetcher.order(source, ROWS, seeds_from(100))
    wait_until_ready(prefetcher, source)
    result = prefetcher.get(source, ROWS[5:9], seeds_from(105, 4), no_draw)
    assert_same(values(result), list(levels_of(seeds_from(105, 4))))
    # The level of another seed, or of the same seed with other options, is not used.
    result = prefetcher.get(source, ROWS, seeds_from(101), no_draw)
    assert_same(values(result), list(levels_of(seeds_from(101))))
    other = LevelSource(lambda seeds: levels_of(seeds + np.uint64(1000)), 2)
    prefetcher.order(other, ROWS[:4], seeds_from(0, 4))
    wait_until_ready(prefetcher, other, ROWS[:4])
    result = prefetcher.get(other, ROWS, seeds_from(100), no_draw)
    assert_same(values(result), list(levels_of(seeds_from(1100))))


def test_some_levels_are_ready_and_some_are_drawn_now(prefetcher):
    source = LevelSource(levels_of, 1)
    prefetcher.order(source, ROWS[::2], seeds_from(0)[::2])
    wait_until_ready(prefetcher, source, ROWS[::2])
    # Of rows in any order; also those of a group, which have equal seeds.
    for rows, seeds in (
        (ROWS[3::-1], seeds_from(0)[3::-1]),
        (ROWS, seeds_from(0)),
        (ROWS, seeds_from(0) // np.uint64(4) * np.uint64(4)),
    ):
        result = prefetcher.get(source, rows, seeds, no_draw)
        assert_same(values(result), list(levels_of(seeds)))


def test_only_levels_that_are_still_ordered_go_into_a_cache(prefetcher):
    source = LevelSource(levels_of, 1)
    prefetcher.order(source, ROWS, seeds_from(100))
    wait_until_ready(prefetcher, source)
    # So it is after an order while a thread writes the level of the one before.
    prefetcher._background.orders[:5] += np.uint64(1000)
    seeds, levels = prefetcher.pop_ready(source)
    assert_same(seeds, seeds_from(105, 35))
    assert_same(list(levels), list(levels_of(seeds)))
    assert len(prefetcher.pop_ready(source)[0]) == 0


def test_orders_never_overflow_the_queue(prefetcher):
    source = LevelSource(levels_of, 1)
    random = np.random.default_rng(0)
    for start in range(0, 20_000, 100):
        rows = np.flatnonzero(random.random(len(ROWS)) < random.random())
        prefetcher.order(source, rows, seeds_from(start)[rows])
    # An order empties the slot of another seed.
    for start in (3, 100, 0):
        prefetcher.order(source, ROWS, seeds_from(start))
        wait_until_ready(prefetcher, source)
        assert (source.slots[1] == seeds_from(start)).all()
        assert (prefetcher._background.claims == 0).all()


def test_an_error_is_raised_where_the_level_is_needed(prefetcher):
    calls = []

    def draw(seeds):
        calls.append(threading.current_thread())
        if (seeds == 13).any():
            message = "no level"
            raise LevelGenerationError(message)
        return levels_of(seeds)

    source = LevelSource(draw, 1)
    prefetcher.order(source, ROWS[:4], seeds_from(50, 4))
    wait_until_ready(prefetcher, source, ROWS[:4])
    prefetcher.order(source, ROWS, seeds_from(0))
    background = prefetcher._background
    while source.is_open:
        threading.Event().wait(0.001)
    while len(background.idle) < len(background.threads):
        threading.Event().wait(0.001)
    number = len(calls)
    # Nothing is drawn ahead any more, and no claim is left.
    prefetcher.order(source, ROWS, seeds_from(200))
    assert len(calls) == number
    assert not background.claims.any()
    with pytest.raises(LevelGenerationError, match="no level"):
        prefetcher.get(source, ROWS, seeds_from(0), draw)
    source.is_open = True  # as if a thread had not met the seed yet
    with pytest.raises(LevelGenerationError, match="no level"):
        prefetcher.get(source, ROWS, seeds_from(0), draw)
    source.is_open = False
    result = prefetcher.get(source, ROWS, seeds_from(14), draw_now)
    assert_same(values(result), list(levels_of(seeds_from(14))))


def test_an_interrupt_leaves_levels_to_be_drawn(prefetcher):
    main = threading.current_thread()
    interrupts = iter([True])

    def draw(seeds):
        if threading.current_thread() is main and next(interrupts, False):
            raise KeyboardInterrupt
        return levels_of(seeds)

    source = LevelSource(draw, 1)
    prefetcher.order(source, ROWS[:4], seeds_from(0, 4))
    wait_until_ready(prefetcher, source, ROWS[:4])
    with pytest.raises(KeyboardInterrupt):
        prefetcher.get(source, ROWS, seeds_from(0), no_draw)
    assert prefetcher._background.job is None
    result = prefetcher.get(source, ROWS, seeds_from(0), no_draw)
    assert_same(values(result), list(levels_of(seeds_from(0))))


def test_nothing_is_drawn_while_it_is_held(prefetcher):
    source = LevelSource(levels_of, 1)
    prefetcher.order(source, ROWS[:4], seeds_from(0, 4))
    wait_until_ready(prefetcher, source, ROWS[:4])
    prefetcher.hold()
    prefetcher.order(source, ROWS, seeds_from(100))
    assert values(prefetcher.get(source, ROWS, seeds_from(0), draw_now))
    assert (prefetcher._background.ready[4:] == 0).all()
    prefetcher.release()
    wait_until_ready(prefetcher, source)


def test_all_threads_end_although_one_took_the_calls_for_others():
    prefetcher = Prefetcher(500, 5)
    prefetcher.order(LevelSource(levels_of, 1), np.arange(500), seeds_from(0, 500))
    background = prefetcher._background
    background.is_stopped = True
    background.wake(1)
    for thread in background.threads:
        thread.join(10)
        assert not thread.is_alive()


def test_few_environments_have_few_threads():
    for num_envs, num_threads, expected in ((1, 9, 1), (64, 9, 2), (999, 4, 3)):
        prefetcher = Prefetcher(num_envs, num_threads)
        prefetcher.order(LevelSource(levels_of, 1), ROWS[:1], seeds_from(0, 1))
        assert len(prefetcher._background.threads) == expected
        prefetcher.close()


def test_cheap_levels_are_not_drawn_ahead_unless_this_is_asked_for(monkeypatch):
    for level, chunk, is_forced in ((9, 0, 0), (0, 9, 0), (0, 0, 0), (9, 9, 1)):
        monkeypatch.setattr(prefetch, "_CHEAP_LEVEL", level)
        monkeypatch.setattr(prefetch, "_CHEAP_CHUNK", chunk)
        prefetcher = Prefetcher(len(ROWS), 2, bool(is_forced))
        source = LevelSource(levels_of, 1)
        start = 0
        while source.is_open and start < 20:
            start += 1
            prefetcher.order(source, ROWS, seeds_from(start))
            if source.is_open:
                wait_until_ready(prefetcher, source)
        assert source.is_open == (is_forced or level == chunk == 0)
        result = prefetcher.get(source, ROWS, seeds_from(7), draw_now)
        assert_same(values(result), list(levels_of(seeds_from(7))))
        prefetcher.close()


# ------------------------------------------------------------------ threads end


def test_threads_end_with_close_and_with_garbage_collection():
    for end in (gymnasium.vector.VectorEnv.close, lambda env: None):
        env = roll_vec.make_vec(LAKE, 40, prefetch=True, action_start=1)
        env.reset(seed=0)
        background = env.engine.prefetcher._background
        alive = weakref.ref(env.engine)
        assert any(thread.is_alive() for thread in background.threads)
        end(env)
        del env
        gc.collect()
        assert alive() is None
        background.join()
        assert background.is_stopped
        assert not any(thread.is_alive() for thread in background.threads)


def test_copies_and_children_begin_with_empty_slots():
    env = roll_vec.make_vec(LAKE, 40, prefetch=True, action_start=1)
    env.reset(seed=0)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.engine.prefetcher._background is None
        twin.close()
    if hasattr(os, "fork"):
        background = env.engine.prefetcher._background
        background.process_id = -1  # as in a child
        env.reset()
        assert env.engine.prefetcher._background is not background
        background.stop()
    env.close()
    # A closed environment draws nothing.
    assert env.engine.prefetcher._background.is_stopped


# ------------------------------------------------------------------ the keyword


def test_keyword(monkeypatch):
    monkeypatch.setattr(prefetch, "count_cores", lambda: 2)
    assert make_prefetcher(None, 5, 2) is not None
    # More threads than cores are slower, unless the user asks for them.
    assert make_prefetcher(None, 5, 9).num_threads == 2
    assert make_prefetcher(True, 5, 9).num_threads == 2
    monkeypatch.setattr(prefetch, "count_cores", lambda: 1)
    assert make_prefetcher(None, 5, 9) is None
    assert make_prefetcher(None, 5, 1) is None
    assert make_prefetcher(True, 5, 1).is_forced
    assert make_prefetcher(False, 5, 9) is None
    with pytest.raises(TypeError, match="prefetch is for batches"):
        gymnasium.make(LAKE, prefetch=True)


def test_fixed_levels_and_one_thread_need_no_threads():
    before = set(threads_of_levels())
    for keywords in ({"num_threads": 1}, {"prefetch": False}, {"levels": ["SF\nFG"]}):
        env = roll_vec.make_vec(LAKE, 2, action_start=1, size=2, **keywords)
        env.reset(seed=0)
        env.step([1, 1])
        assert set(threads_of_levels()) <= before


@pytest.mark.slow
def test_no_end_in_mid_generation_leaves_anything_behind():
    # `make test-stress` takes ten minutes.
    seconds = float(os.environ.get("ROLL_VEC_STRESS_SECONDS", "15"))
    assert prefetch_stress.main(seconds, os.environ.get("ROLL_VEC_STRESS_SEED", "0"))
