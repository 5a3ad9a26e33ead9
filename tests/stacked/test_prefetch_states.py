"""Random orders of all methods: batches with and without levels ahead are equal.

It is for bugs such as these:

- a level in a slot is used whatever its key is;
- the options of levels are not part of their key;
- levels drawn ahead go into the cache of `num_levels` under another number.
"""

import copy
import os
import pickle
import time
import warnings

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
from tests.conftest import JIT_OFF
from tests.contract.cases import assert_same

LAKE, SOKOBAN = "roll_vec/RandomFrozenLake-v0", "roll_vec/Sokoban-v0"
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
        for _ in range(1000 if background is not None else 0):
            if len(background.idle) == len(background.threads):
                break
            time.sleep(0.001)

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

    @rule()
    def reset(self):
        self.same(lambda env: env.reset())

    @rule(seed=SEEDS)
    def reseed(self, seed):
        if seed % 2:
            self.wait_until_idle()
        self.same(lambda env: env.reset(seed=seed))

    @rule(number=NUMBERS, seed=st.none() | SEEDS)
    def reset_some(self, number, seed):
        mask = self.mask(number)
        self.same(lambda env: env.reset(seed=seed, options={"reset_mask": mask}))

    @rule(number=NUMBERS)
    def reseed_some(self, number):
        random = self.draw(number)
        seeds = [
            int(random.integers(99)) if random.random() < 0.5 else None
            for _ in range(self.keywords["num_envs"])
        ]
        self.same(lambda env: env.reset(seed=seeds))

    @rule(target=snapshots)
    def save(self):
        return tuple(env.get_state() for env in self.pair)

    @rule(
        pair=snapshots,
        own=st.booleans(),
        number=st.none() | NUMBERS,
        moved=st.booleans(),
    )
    def restore(self, pair, own, number, moved):
        keywords = {}
        if number is not None:
            keywords["mask"] = mask = self.mask(number)
            if moved and self.keywords["group_size"] == 1:
                rows = self.draw(number).integers(0, len(mask), len(mask))
                keywords["rows"] = rows
        states = pair if own else pair[::-1]
        by_env = dict(zip(map(id, self.pair), states, strict=True))
        self.same(lambda env: env.set_state(by_env[id(env)], **keywords))

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
            first, second = (env.engine.get_state().arrays for env in self.pair)
            assert_same(first, second)


TestTwoBatches = TwoBatches.TestCase
_profile = settings()
TestTwoBatches.settings = settings(
    deadline=None,
    max_examples=max(4, _profile.max_examples // 4),
    stateful_step_count=20 if _profile.max_examples <= 40 else 60,
)
if JIT_OFF:
    TestTwoBatches = pytest.mark.skip("a minute uncompiled")(TestTwoBatches)
