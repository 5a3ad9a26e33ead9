"""Levels ahead of time: equal results, errors where they were, threads that end.

The machine below plays random orders of all methods, beside a batch without levels
ahead.  It is for bugs such as these:

- a level in a slot is used whatever its key is;
- the options of levels are not part of their key;
- levels drawn ahead go into the cache of `num_levels` under another number.
"""

import copy
import gc
import os
import pickle
import threading
import time
import warnings
import weakref

import gymnasium
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

import roll_vec
from roll_vec.errors import LevelGenerationError
from roll_vec.stacked import prefetch
from roll_vec.stacked.prefetch import LevelSource, Prefetcher, make_prefetcher
from tests.conftest import JIT_OFF
from tests.contract.cases import assert_same
from tests.stacked import prefetch_stress

LAKE, SOKOBAN = "roll_vec/RandomFrozenLake-v0", "roll_vec/Sokoban-v0"


def wait_until(condition):
    """Wait for something that threads do soon."""
    for _ in range(4000):
        if condition():
            return
        time.sleep(0.001)
    raise AssertionError("the threads did not do it")


# ------------------------------------------------------------------ one prefetcher

# What no results show: races, errors and interrupts within a thread.
ROWS = np.arange(40)


def levels_of(seeds):
    """Return levels that name their seeds."""
    return (np.stack([seeds, seeds + np.uint64(7)], 1), seeds.astype(np.float64))


def draw_now(seeds):
    return levels_of(seeds), np.arange(len(seeds))


def no_draw(seeds):
    raise AssertionError(f"drawn now: {seeds}")


def seeds_from(start, count=40):
    return np.arange(start, start + count, dtype=np.uint64)


def check_levels(result, seeds):
    """Check the levels that a prefetcher returned."""
    levels, indices = result
    assert_same([array[indices] for array in levels], list(levels_of(seeds)))


@pytest.fixture
def prefetcher():
    prefetcher = Prefetcher(len(ROWS), 3, is_forced=True)
    yield prefetcher
    prefetcher.close()


def order(prefetcher, source, seeds, rows=ROWS):
    """Order levels, and wait until the slots of the rows have them."""
    prefetcher.order(source, rows, seeds)
    background = prefetcher._background
    wait_until(lambda: (background.ready[rows] == background.orders[rows]).all())


def test_levels_of_slots_are_those_of_their_seeds(prefetcher):
    source = LevelSource(levels_of, 1)
    order(prefetcher, source, seeds_from(100))
    # Of rows in any order, of a group, whose seeds are equal, and of other seeds.
    for rows, seeds in (
        (ROWS[5:9], seeds_from(105, 4)),
        (ROWS[3::-1], seeds_from(100)[3::-1]),
        (ROWS, seeds_from(100) // np.uint64(4) * np.uint64(4)),
        (ROWS, seeds_from(101)),
    ):
        check_levels(prefetcher.get(source, rows, seeds, no_draw), seeds)
    # The level of the same seed with other options is not used.
    other = LevelSource(lambda seeds: levels_of(seeds + np.uint64(1000)), 2)
    order(prefetcher, other, seeds_from(0, 4), ROWS[:4])
    result = prefetcher.get(other, ROWS, seeds_from(100), no_draw)
    check_levels(result, seeds_from(1100))


def test_only_levels_that_are_still_ordered_go_into_a_cache(prefetcher):
    source = LevelSource(levels_of, 1)
    order(prefetcher, source, seeds_from(100))
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
        order(prefetcher, source, seeds_from(start))
        assert (source.slots[1] == seeds_from(start)).all()
        assert (prefetcher._background.claims == 0).all()


def test_an_error_is_raised_where_the_level_is_needed(prefetcher):
    calls = []

    def draw(seeds):
        calls.append(threading.current_thread())
        if (seeds == 13).any():
            raise LevelGenerationError("no level")
        return levels_of(seeds)

    source = LevelSource(draw, 1)
    order(prefetcher, source, seeds_from(50, 4), ROWS[:4])
    prefetcher.order(source, ROWS, seeds_from(0))
    background = prefetcher._background
    wait_until(lambda: not source.is_open)
    wait_until(lambda: len(background.idle) == len(background.threads))
    number = len(calls)
    # Nothing is drawn ahead any more, and no claim is left.
    prefetcher.order(source, ROWS, seeds_from(200))
    assert len(calls) == number
    assert not background.claims.any()
    for is_open in (False, True):  # as if a thread had not met the seed yet
        source.is_open = is_open
        with pytest.raises(LevelGenerationError, match="no level"):
            prefetcher.get(source, ROWS, seeds_from(0), draw)
    source.is_open = False
    result = prefetcher.get(source, ROWS, seeds_from(14), draw_now)
    check_levels(result, seeds_from(14))


def test_an_interrupt_leaves_levels_to_be_drawn(prefetcher):
    main = threading.current_thread()
    interrupts = iter([True])

    def draw(seeds):
        if threading.current_thread() is main and next(interrupts, False):
            raise KeyboardInterrupt
        return levels_of(seeds)

    source = LevelSource(draw, 1)
    order(prefetcher, source, seeds_from(0, 4), ROWS[:4])
    with pytest.raises(KeyboardInterrupt):
        prefetcher.get(source, ROWS, seeds_from(0), no_draw)
    assert prefetcher._background.job is None
    result = prefetcher.get(source, ROWS, seeds_from(0), no_draw)
    check_levels(result, seeds_from(0))


def test_nothing_is_drawn_while_it_is_held(prefetcher):
    source = LevelSource(levels_of, 1)
    order(prefetcher, source, seeds_from(0, 4), ROWS[:4])
    prefetcher.hold()
    prefetcher.order(source, ROWS, seeds_from(100))
    check_levels(prefetcher.get(source, ROWS, seeds_from(0), draw_now), seeds_from(0))
    assert (prefetcher._background.ready[4:] == 0).all()
    prefetcher.release()
    background = prefetcher._background
    wait_until(lambda: (background.ready == background.orders).all())


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
            background = prefetcher._background
            wait_until(
                lambda source=source, background=background: (
                    not source.is_open or (background.ready == background.orders).all()
                )
            )
        assert source.is_open == (is_forced or level == chunk == 0)
        result = prefetcher.get(source, ROWS, seeds_from(7), draw_now)
        check_levels(result, seeds_from(7))
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


def test_fixed_levels_and_one_thread_need_no_threads():
    def threads_of_levels():
        return {
            each for each in threading.enumerate() if each.name == "roll_vec levels"
        }

    before = threads_of_levels()
    for keywords in ({"num_threads": 1}, {"prefetch": False}, {"levels": ["SF\nFG"]}):
        env = roll_vec.make_vec(LAKE, 2, action_start=1, size=2, **keywords)
        env.reset(seed=0)
        env.step([1, 1])
        assert threads_of_levels() <= before


@pytest.mark.slow
def test_no_end_in_mid_generation_leaves_anything_behind():
    # `make test-stress` takes ten minutes.
    seconds = float(os.environ.get("ROLL_VEC_STRESS_SECONDS", "10"))
    assert prefetch_stress.main(seconds, os.environ.get("ROLL_VEC_STRESS_SEED", "0"))


# ------------------------------------------------------- a batch beside another one

OPTIONS = {
    LAKE: {"size": 3, "p": 0.8},
    SOKOBAN: {"dim_room": (5, 6), "search_depth": 20, "num_boxes": 1},
}
SEEDS = st.integers(0, 2**33)
NUMBERS = st.integers(0, 2**32 - 1)


class TwoBatches(RuleBasedStateMachine):
    """One batch with levels ahead of time, and one without."""

    snapshots = Bundle("snapshots")

    def __init__(self):
        super().__init__()
        self.pair = ()

    def teardown(self):
        for env in self.pair:
            env.close()

    @initialize(
        id=st.sampled_from([LAKE, SOKOBAN]),
        mode=st.sampled_from(["NextStep", "SameStep", "Disabled"]),
        groups=st.sampled_from([(1, 1), (5, 1), (40, 1), (6, 3), (72, 4)]),
        num_levels=st.sampled_from([0, 0, 6]),
        infos=st.booleans(),
        threads=st.integers(1, 4),
        seed=SEEDS,
    )
    def make(self, id, mode, groups, num_levels, infos, threads, seed):
        self.id, self.mode = id, mode
        self.keywords = {
            **OPTIONS[id],
            "num_envs": groups[0],
            "group_size": groups[1],
            "num_levels": num_levels,
            "autoreset_mode": mode,
            "max_episode_steps": 4,
            "action_start": 1,
            "seed_info": infos,
            "level_info": infos,
        }
        self.threads = threads
        self.make_pair()
        self.same(lambda env: env.reset(seed=seed))

    def make_pair(self):
        self.pair = (
            roll_vec.make_vec(
                self.id, num_threads=self.threads, prefetch=True, **self.keywords
            ),
            roll_vec.make_vec(self.id, num_threads=1, prefetch=False, **self.keywords),
        )

    def same(self, act):
        """Do the same with both; results and errors must be equal."""
        results = []
        for env in self.pair:
            try:
                results.append(act(env))
            except Exception as error:
                results.append((type(error), str(error)))
        assert_same(*results)
        return results

    def draw(self, number):
        return np.random.default_rng(number)

    def mask(self, number):
        mask = self.draw(number).random(self.keywords["num_envs"]) < 0.5
        mask[number % len(mask)] = True
        return mask

    def actions(self, number):
        return self.draw(number).integers(1, 5, self.keywords["num_envs"])

    def reset_ended(self):
        """Reset what has ended, where steps do not."""
        ended = self.pair[1]._autoreset.has_ended
        if self.mode == "Disabled" and ended.any():
            self.same(lambda env: env.reset(options={"reset_mask": ended.copy()}))

    # ------------------------------------------------------------ what a user calls

    def wait_until_idle(self):
        """Let the threads draw all levels that were ordered."""
        background = self.pair[0].engine.prefetcher._background
        if background is not None:
            wait_until(lambda: len(background.idle) == len(background.threads))

    @rule(number=NUMBERS, count=st.integers(1, 9))
    def step(self, number, count):
        if number % 2:
            self.wait_until_idle()
        for t in range(count):
            self.reset_ended()
            actions = self.actions(number + t)
            self.same(lambda env, actions=actions: env.step(actions))

    @rule(number=NUMBERS)
    def step_some(self, number):
        self.reset_ended()
        actions, mask = self.actions(number), self.mask(number)
        self.same(lambda env: env.step(actions, mask=mask))

    @rule(number=NUMBERS, count=st.integers(1, 12))
    def unroll(self, number, count):
        self.reset_ended()
        shape = (count, self.keywords["num_envs"])
        actions = self.draw(number).integers(1, 5, shape)
        self.same(lambda env: tuple(env.unroll(actions)))

    @rule(number=NUMBERS, kind=st.sampled_from(["none", "one", "each"]))
    def reset(self, number, kind):
        if number % 2:
            self.wait_until_idle()
        random, options = self.draw(number), None
        seeds = number if kind == "one" else None
        if kind == "each":
            seeds = random.integers(99, size=self.keywords["num_envs"]).tolist()
            seeds = [seed if random.random() < 0.5 else None for seed in seeds]
        if random.random() < 0.5:
            options = {"reset_mask": self.mask(number)}
        self.same(lambda env: env.reset(seed=seeds, options=options))

    @rule(target=snapshots)
    def save(self):
        return tuple(env.get_state() for env in self.pair)

    @rule(pair=snapshots, own=st.booleans(), number=st.none() | NUMBERS)
    def restore(self, pair, own, number):
        keywords = {}
        if number is not None:
            keywords["mask"] = mask = self.mask(number)
            if number % 3 and self.keywords["group_size"] == 1:
                rows = self.draw(number).integers(0, len(mask), len(mask))
                keywords["rows"] = rows
        states = iter(pair if own else pair[::-1])
        self.same(lambda env: env.set_state(next(states), **keywords))

    @rule(number=st.none() | NUMBERS, change=st.integers(0, 5))
    def set_level_options(self, number, change):
        own = "p" if self.id == LAKE else "num_gen_steps"
        options = (
            {"num_levels": 0},
            {"num_levels": 6},
            {"start_level": 4},
            {own: 0.6 if self.id == LAKE else 30},
            {own: 0.8 if self.id == LAKE else None},
            {"num_levels": 3, "start_level": 1},
        )[change]
        mask = None if number is None else self.mask(number)
        self.same(lambda env: env.set_level_options(mask=mask, **options))

    # ------------------------------------------------------------ copies, processes

    @rule(copies=st.sampled_from(["pickle", "deepcopy", "new"]))
    def replace(self, copies):
        old = self.pair
        if copies == "pickle":
            self.pair = tuple(pickle.loads(pickle.dumps(env)) for env in old)
        elif copies == "deepcopy":
            self.pair = tuple(copy.deepcopy(env) for env in old)
        else:
            states = [env.get_state() for env in old]
            self.make_pair()
            for env, state in zip(self.pair, states, strict=True):
                env.set_state(state)
        for env in old:
            env.close()

    @rule(number=NUMBERS)
    def fork(self, number):
        if not hasattr(os, "fork") or number % 4:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            status = 1
            try:
                self.step(number, 9)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        self.step(number, 2)

    @invariant()
    def states_are_equal(self):
        if self.pair:
            first, second = (env.get_state() for env in self.pair)
            assert first == second


TestTwoBatches = TwoBatches.TestCase
_profile = settings()
TestTwoBatches.settings = settings(
    deadline=None,
    max_examples=max(4, _profile.max_examples // 4),
    stateful_step_count=20 if _profile.max_examples <= 40 else 60,
)
if JIT_OFF:
    TestTwoBatches = pytest.mark.skip("a minute uncompiled")(TestTwoBatches)
