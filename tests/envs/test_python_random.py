"""Python's `random` in rules, seeded by the episode, beside CPython's own."""

import random
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

import roll_vec
from roll_vec.envs.python_random import (
    RANDOM_WORDS,
    random_below,
    random_float,
    random_shuffle,
    seed_random,
)
from roll_vec.errors import InvalidOptionError

_ID = "tests_python_random/Draws-v0"
_ITEMS = 12


class Draws(roll_vec.ArrayEnv):
    """Draws of all kinds."""

    state: ClassVar[dict[str, object]] = {
        "words": (np.uint32, RANDOM_WORDS),
        "draws": (np.float64, _ITEMS + 2),
    }
    actions = 1
    observation = "draws"

    @property
    def observation_space(self):
        return Box(0, 1e3, (_ITEMS + 2,), np.float64)

    @roll_vec.rule
    def begin(env, rng, seed):
        seed_random(env.words, seed)

    @roll_vec.rule
    def step(env, action, rng):
        for k in range(_ITEMS):
            env.draws[2 + k] = k
        random_shuffle(env.words, env.draws, 2, 2 + _ITEMS)
        env.draws[0] = random_float(env.words)
        # A power of two rejects half of the words, 1 all but the word 0.
        env.draws[1] = random_below(env.words, 64)
        return 0.0, False


def _draws_of_python(seed):
    generator = random.Random(seed)
    while True:
        items = list(range(_ITEMS))
        generator.shuffle(items)
        yield [generator.random(), generator.randint(0, 63), *items]


@pytest.fixture(autouse=True)
def _no_class_of_another_test(forgets_ids):
    """Forget what a test has registered."""


def test_the_draws_are_those_of_python_after_the_seed_of_the_episode():
    # An episode of 60 steps draws more than the 624 words of a generator.
    roll_vec.register(_ID, Draws, max_episode_steps=60)
    seeds = [0, 2**32 - 1, 2**40]
    envs = gymnasium.make_vec(_ID, num_envs=3)
    envs.reset(seed=seeds)
    for episode in range(2):
        firsts = [roll_vec.seeding.episode_seed(seed, episode) for seed in seeds]
        for draws in zip(*map(_draws_of_python, firsts), range(60), strict=False):
            observations = envs.step(np.zeros(3, np.int64))[0]
            np.testing.assert_array_equal(observations, draws[:-1])
        envs.step(np.zeros(3, np.int64))
    envs.close()


def test_a_stream_has_no_seeds_of_episodes():
    class Stream(Draws):
        """A stream."""

        seeding = "stream"

    with pytest.raises(InvalidOptionError, match=r"Stream\.begin: expected"):
        roll_vec.register(_ID, Stream, max_episode_steps=60)
