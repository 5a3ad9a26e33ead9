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
from roll_vec.arrays import prefetch
from roll_vec.arrays.prefetch import LevelSource, Prefetcher, make_prefetcher
from roll_vec.errors import LevelGenerationError
from tests.arrays import prefetch_stress
from tests.conftest import JIT_OFF
from tests.contract.cases import assert_same

LAKE, SOKOBAN = "roll_vec/RandomFrozenLake-v0", "roll_vec/Sokoban-v0"


def wait_until(condition):
    """Wait for something that threads do soon."""
    for _ in range(4000):
        if condition():
            return
        time.sleep(0.001)
    raise AssertionError("the threads did not do it")


# ------------------------------------------------------------------ one source

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
    """Check the levels that a source returned."""
    levels, indices = result
    assert_same([array[indices] for array in levels], list(levels_of(seeds)))


@pytest.fixture
def prefetcher():
    prefetcher = Prefetcher(len(ROWS), 3, is_forced=True)
    yield prefetcher
    prefetcher.close()


def are_idle(prefetcher):
    """Return whether threads have drawn, or left out, what was ordered."""
    slots = prefetcher._slots
    return not slots.work and not slots.claims.any()


def order(source, seeds, rows=ROWS):
    """Order levels, and wait until the slots of the rows have them."""
    source.order(rows, seeds)
    slots = source.prefetcher._slots
    wait_until(lambda: (slots.ready[rows] == slots.orders[rows]).all())


def test_the_newest_orders_are_drawn_first_and_few_are_kept():
    # Where threads cannot keep up, the oldest are what the caller draws itself.
    prefetcher = Prefetcher(len(ROWS), 2, is_forced=True)
    drawn, has_begun, may_go_on = [], threading.Event(), threading.Event()

    def draw(seeds):
        drawn.extend(seeds.tolist())
        has_begun.set()
        assert may_go_on.wait(10)
        return levels_of(seeds)

    source = LevelSource(prefetcher, draw)
    source.sizer.rows = 10
    for first in range(0, 4000, 10):
        source.order(ROWS[first % 40 :][:10], seeds_from(first, 10))
        assert has_begun.wait(10)
    slots = prefetcher._slots
    # Five rows are enough for a call of a thread.
    assert len(slots.work) == 2 * 8
    may_go_on.set()
    wait_until(lambda: are_idle(prefetcher))
    firsts = (0, 3990, 3980, 3970, 3960)
    assert drawn == [seed for first in firsts for seed in range(first, first + 10)]
    prefetcher.close()


def test_levels_of_slots_are_those_of_their_seeds(prefetcher):
    source = LevelSource(prefetcher, levels_of)
    order(source, seeds_from(100))
    # Of rows in any order, and of other rows and seeds, some of which are there.
    for rows, seeds in (
        (ROWS[5:9], seeds_from(105, 4)),
        (ROWS[3::-1], seeds_from(100)[3::-1]),
    ):
        check_levels(source.get(rows, seeds, no_draw), seeds)
    for seeds in (seeds_from(100) // np.uint64(4) * np.uint64(4), seeds_from(101)):
        check_levels(source.get(ROWS, seeds, draw_now), seeds)
    # The level of the same seed with other options is not used.
    other = LevelSource(prefetcher, lambda seeds: levels_of(seeds + np.uint64(1000)))
    order(other, seeds_from(0, 8), ROWS[:8])
    order(source, seeds_from(0, 8), ROWS[:8])
    result = other.get(
        ROWS, seeds_from(0), lambda seeds: draw_now(seeds + np.uint64(1000))
    )
    check_levels(result, seeds_from(1000))


def test_an_order_empties_the_slot_of_another_seed(prefetcher):
    source = LevelSource(prefetcher, levels_of)
    random = np.random.default_rng(0)
    for start in range(0, 20_000, 100):
        rows = np.flatnonzero(random.random(len(ROWS)) < random.random())
        source.order(rows, seeds_from(start)[rows])
    for start in (3, 100, 0):
        order(source, seeds_from(start))
        assert (source.slots[1] == seeds_from(start)).all()
        wait_until(lambda: are_idle(prefetcher))


def begin_to_draw(prefetcher):
    """Return a source of which a thread draws seed 5, until the event is set."""
    begun, goes_on = threading.Event(), threading.Event()

    def draw(seeds):
        if (seeds == 5).any():
            begun.set()
            goes_on.wait(10)
        return levels_of(seeds)

    source = LevelSource(prefetcher, draw)
    order(source, seeds_from(100))
    source.order(ROWS[:8], seeds_from(5, 8))
    assert begun.wait(10)
    return source, goes_on


def test_a_level_that_is_drawn_late_is_not_written(prefetcher):
    # The order changes while a thread draws the level of the one before.
    source, goes_on = begin_to_draw(prefetcher)
    source.order(ROWS[:8], seeds_from(300, 8))
    goes_on.set()
    wait_until(lambda: are_idle(prefetcher))
    check_levels(source.get(ROWS[:8], seeds_from(300, 8), draw_now), seeds_from(300, 8))


def test_a_slot_is_not_read_while_another_level_is_ordered(prefetcher):
    source, goes_on = begin_to_draw(prefetcher)
    slots, seeds = prefetcher._slots, seeds_from(100, 8)
    # A thread that had begun to write before the order has filled the slots once more,
    # and the next one writes the level of the order now.
    slots.ready[:8] = seeds + source._tag
    source.slots[1][:8] = -1
    check_levels(source.get(ROWS[:8], seeds, draw_now), seeds)
    goes_on.set()


def test_a_level_that_is_being_drawn_is_waited_for(prefetcher):
    source, goes_on = begin_to_draw(prefetcher)
    threading.Timer(0.05, goes_on.set).start()
    check_levels(source.get(ROWS[:8], seeds_from(5, 8), no_draw), seeds_from(5, 8))


def test_an_error_is_raised_where_the_level_is_needed(prefetcher):
    calls = []

    def draw(seeds):
        calls.append(threading.current_thread())
        if (seeds == 13).any():
            raise LevelGenerationError("no level")
        return levels_of(seeds)

    def generate(seeds):
        return draw(seeds), np.arange(len(seeds))

    source = LevelSource(prefetcher, draw)
    order(source, seeds_from(50, 8), ROWS[:8])
    source.order(ROWS, seeds_from(0))
    wait_until(lambda: not source.is_open and are_idle(prefetcher))
    number = len(calls)
    # Nothing is drawn ahead any more.
    source.order(ROWS, seeds_from(200))
    assert len(calls) == number
    for is_open in (False, True):  # as if a thread had not met the seed yet
        source.is_open = is_open
        with pytest.raises(LevelGenerationError, match="no level"):
            source.get(ROWS, seeds_from(0), generate)
    check_levels(source.get(ROWS, seeds_from(14), generate), seeds_from(14))


def test_an_interrupt_leaves_levels_to_be_drawn(prefetcher):
    def interrupt(seeds):
        raise KeyboardInterrupt

    source = LevelSource(prefetcher, levels_of)
    order(source, seeds_from(0, 8), ROWS[:8])
    with pytest.raises(KeyboardInterrupt):
        source.get(ROWS, seeds_from(0), interrupt)
    check_levels(source.get(ROWS, seeds_from(0), draw_now), seeds_from(0))
    order(source, seeds_from(60))
    check_levels(source.get(ROWS, seeds_from(60), no_draw), seeds_from(60))


def test_few_environments_have_few_threads():
    for num_envs, num_threads, expected in ((1, 9, 1), (64, 9, 2), (999, 4, 3)):
        prefetcher = Prefetcher(num_envs, num_threads)
        LevelSource(prefetcher, levels_of).order(ROWS[:1], seeds_from(0, 1))
        assert len(prefetcher._slots.threads) == expected
        prefetcher.close()


def test_cheap_levels_are_not_drawn_ahead_unless_this_is_asked_for(monkeypatch):
    for level, chunk, is_forced in ((9, 0, 0), (0, 9, 0), (0, 0, 0), (9, 9, 1)):
        monkeypatch.setattr(prefetch, "_CHEAP_LEVEL", level)
        monkeypatch.setattr(prefetch, "_CHEAP_CHUNK", chunk)
        prefetcher = Prefetcher(len(ROWS), 2, bool(is_forced))
        source = LevelSource(prefetcher, levels_of)
        start = 0
        while source.is_open and start < 20:
            start += 1
            source.order(ROWS, seeds_from(start))
            wait_until(
                lambda source=source, prefetcher=prefetcher: (
                    not source.is_open or are_idle(prefetcher)
                )
            )
        assert source.is_open == (is_forced or level == chunk == 0)
        check_levels(source.get(ROWS, seeds_from(7), draw_now), seeds_from(7))
        prefetcher.close()


# ------------------------------------------------------------------ threads end


def test_threads_end_with_close_and_with_garbage_collection():
    for end in (gymnasium.vector.VectorEnv.close, lambda env: None):
        env = roll_vec.make_vec(LAKE, 40, prefetch=True, action_start=1)
        env.reset(seed=0)
        slots = env.engine.prefetcher._slots
        alive = weakref.ref(env.engine)
        assert any(thread.is_alive() for thread in slots.threads)
        end(env)
        del env
        gc.collect()
        assert alive() is None
        # A thread that draws a chunk has its source, and this the prefetcher.
        wait_until(lambda slots=slots: slots.is_stopped)
        slots.end()
        assert not any(thread.is_alive() for thread in slots.threads)


def test_copies_and_children_begin_with_empty_slots():
    env = roll_vec.make_vec(LAKE, 40, prefetch=True, action_start=1)
    env.reset(seed=0)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.engine.prefetcher._slots is None
        twin.close()
    if hasattr(os, "fork"):
        slots = env.engine.prefetcher._slots
        slots.process_id = -1  # as in a child
        env.reset()
        assert env.engine.prefetcher._slots is not slots
        slots.stop()
    env.close()
    # A closed environment draws nothing.
    assert env.engine.prefetcher._slots.is_stopped


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
        if self.pair[1]._needs_full_reset():
            assert_same(*[env.reset(seed=5) for env in self.pair])
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
        prefetcher = self.pair[0].engine.prefetcher
        if prefetcher.is_running:
            wait_until(lambda: are_idle(prefetcher))

    @rule(number=NUMBERS, count=st.integers(1, 9))
    def step(self, number, count):
        if number % 2:
            self.wait_until_idle()
        for t in range(count):
            self.reset_ended()
            actions = self.actions(number + t)
            self.same(lambda env, actions=actions: env.step(actions))

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
