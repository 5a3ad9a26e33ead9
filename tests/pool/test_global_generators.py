"""Environments in processes that draw from Python's and numpy's global generators."""

import os
import random
from contextlib import closing

import gymnasium
import numpy as np
import pytest

from roll_vec import BaseLanguageBasedEnv
from roll_vec.pool import PoolVectorEnv
from tests.pool.cases import FAULTS_ON_PURPOSE, PROCESSES

NUM = 4


class Dice(gymnasium.Env):
    """Observes what it drew in its constructor, and what it draws."""

    observation_space = gymnasium.spaces.Box(0, 1, (4,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.first = self.draw()

    def draw(self):
        return [random.random(), np.random.random()]

    def reset(self, *, seed=None, options=None):
        return np.array([*self.first, *self.draw()]), {}

    def step(self, action):
        return np.array([*self.first, *self.draw()]), 0.0, False, False, {}


@pytest.mark.parametrize("workers", [1, 3, NUM])
def test_workers_have_global_generators_of_their_own(workers):
    states = random.getstate(), np.random.get_state()
    keywords = {"workers": workers, "executor": "process", "context": "fork"}
    drawn, seeded = [], []
    for _ in range(2):
        with closing(PoolVectorEnv([Dice] * NUM, **keywords)) as envs:
            drawn.append(envs.reset()[0])
            drawn.append(envs.step(np.zeros(NUM, int))[0][:, 2:])
            for _ in range(2):
                first = envs.reset(seed=7)[0][:, 2:]
                seeded.append([first, envs.step(np.zeros(NUM, int))[0][:, 2:]])
    for column in np.concatenate([np.hstack(drawn), np.hstack(seeded[0])], axis=1).T:
        assert len(set(column.tolist())) == NUM
    np.testing.assert_array_equal(seeded[1:], seeded[:-1])
    # Those of this process are as before.
    assert random.getstate() == states[0]
    for now, before in zip(np.random.get_state(), states[1], strict=True):
        np.testing.assert_array_equal(now, before)


class Lethal(BaseLanguageBasedEnv):
    """Draws its observations, and ends its process."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return str(random.random()), {}

    def step(self, action):
        os._exit(1)


@FAULTS_ON_PURPOSE
def test_a_process_in_the_place_of_another_is_seeded_as_well():
    texts = set()
    for _ in range(2):
        with closing(PoolVectorEnv([Lethal] * 2, **PROCESSES)) as envs:
            envs.reset(seed=3)
            envs.step(["go"] * 2)
            texts.add(envs.step(["go"] * 2)[0])
    assert len(texts) == 1
    assert len({*texts.pop()}) == 2
