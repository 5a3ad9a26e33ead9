"""Bad actions, keywords, seeds and masks: the message names them, nothing moves."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from roll_vec.errors import (
    InvalidActionError,
    ResetNeededError,
    RollVecError,
)
from roll_vec.pool import PoolVectorEnv
from tests.contract.cases import assert_same, play
from tests.pool.cases import (
    EACH_EXECUTOR,
    FAULTS_ON_PURPOSE,
    KINDS,
    PROCESSES,
    THREADS,
    draw_actions,
    pool,
)
from tests.pool.envs import Drifter, drifters, talkers

# `tests/contract` has batches of texts and of integers.
BAD = {
    "box": [np.zeros((2, 3)), np.zeros((4, 3)), 3, None],
    "dict": [
        {"move": [1, 2, 1]},
        {"move": [1, 2], "by": np.zeros((3, 3))},
        {"move": [1, 2], "by": np.zeros((2, 3))},
        3,
    ],
    "text": [{"a", "b", "c"}],
}


@pytest.mark.parametrize(
    ("kind", "workers"),
    [*((kind, {}) for kind in BAD), ("text", THREADS), ("box", PROCESSES)],
)
def test_actions(kind, workers):
    fns = KINDS[kind](3)
    with pool(fns, **workers) as env, pool(fns) as twin:
        actions = draw_actions(kind, 3, 4)
        with pytest.raises(ResetNeededError):
            env.step(actions[0])
        env.reset(seed=1)
        twin.reset(seed=1)
        for bad in BAD[kind]:
            with pytest.raises(InvalidActionError, match="actions"):
                env.step(bad)
        assert_same(play(env, actions), play(twin, actions))


@FAULTS_ON_PURPOSE
def test_the_environments_of_bad_actions_are_named():
    with pool(talkers(3)) as env:
        env.reset(seed=1)
        with pytest.raises(InvalidActionError, match=r"got None, 3 in .*\[1, 2\]"):
            env.step(("a", None, 3))
        env.step(("a", "fault:raise", "b"))
        env.step(("a", None, "b"))


@EACH_EXECUTOR
def test_spaces_that_do_not_go_together(workers):
    with pytest.raises(RollVecError, match="do not share a shape and a dtype"):
        PoolVectorEnv([*drifters("box", 1), *drifters("discrete", 1)], **workers)

    def other():
        env = Drifter("discrete")
        env.action_space = Discrete(9)
        return env

    with pytest.raises(RuntimeError, match="environment 1"):
        PoolVectorEnv([*drifters("discrete", 1), other], **workers)


@EACH_EXECUTOR
def test_different_bounds(workers):
    def wide():
        env = Drifter("box")
        env.observation_space = Box(-99.0, 99.0, (3,), np.float32)
        return env

    fns = [*drifters("box", 1), wide]
    with pool(fns, **workers) as env:
        twin = gymnasium.vector.SyncVectorEnv(fns, observation_mode="different")
        assert env.observation_space == twin.observation_space
        assert_same(env.reset(seed=1), twin.reset(seed=1))


def test_objects_in_processes_are_out_of_reach():
    message = "in worker processes: use call"
    keywords = {"workers": 1, "executor": "process"}
    with (
        pool(talkers(1), **keywords) as env,
        pytest.raises(AttributeError, match=message),
    ):
        env.envs  # noqa: B018


def test_the_action_0_reaches_environments_that_accept_it():
    make = partial(gymnasium.make, "roll_vec/Sokoban-v0", action_start=1)
    envs = PoolVectorEnv([make] * 2)
    envs.reset(seed=0)
    assert envs.step([1, 0])[4]["action_is_valid"].tolist() == [True, False]
    envs.close()
