"""Bad actions, keywords, seeds and masks: the message names them, nothing moves."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector.utils import batch_space

from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    ResetNeededError,
    RollVecError,
)
from roll_vec.pool import PoolVectorEnv
from roll_vec.pool.actions import check_action_batch
from tests.contract.cases import assert_same, play
from tests.pool import cases
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
    [*((kind, {}) for kind in BAD), ("text", cases.THREADS), ("box", cases.PROCESSES)],
)
def test_actions(kind, workers):
    fns = cases.KINDS[kind](3)
    with cases.pool(fns, **workers) as env, cases.pool(fns) as twin:
        actions = cases.draw_actions(kind, 3, 4)
        with pytest.raises(ResetNeededError):
            env.step(actions[0])
        env.reset(seed=1)
        twin.reset(seed=1)
        for bad in BAD[kind]:
            with pytest.raises(InvalidActionError, match="actions"):
                env.step(bad)
        assert_same(play(env, actions), play(twin, actions))


@cases.FAULTS_ON_PURPOSE
def test_the_environments_of_bad_actions_are_named():
    with cases.pool(talkers(3)) as env:
        env.reset(seed=1)
        with pytest.raises(InvalidActionError, match=r"got None, 3 in .*\[1, 2\]"):
            env.step(("a", None, 3))
        env.step(("a", "fault:raise", "b"))
        env.step(("a", None, "b"))


def test_an_action_that_counts_from_0_gets_a_hint():
    space = Discrete(2, start=1)
    with pytest.raises(InvalidActionError, match=r"\[1\].*got 0; .*action \+ 1"):
        check_action_batch(space, batch_space(space, 2), [1, 0], np.zeros(2, bool))


# With one worker where the keyword needs one.
BAD_KEYWORDS = {
    "workers": (-1, 1.5, True),
    "executor": ("threads",),
    "step_timeout": (0, -1, float("nan")),
    "reset_timeout": ("1",),
    "max_episode_steps": (0, 1.0),
    "context": ("thread",),
    "group_size": (2,),
    "autoreset_mode": ("sometimes",),
}


@pytest.mark.parametrize("name", BAD_KEYWORDS)
def test_keywords(name):
    for value in BAD_KEYWORDS[name]:
        with pytest.raises(InvalidOptionError, match=f"^{name}: .*got {value!r}"):
            PoolVectorEnv(talkers(3), **{"workers": 1, name: value})
    if name.endswith("timeout"):
        with pytest.raises(InvalidOptionError, match=f"^{name}: workers=0 .* needs"):
            PoolVectorEnv(talkers(3), **{name: 1.0})
    with pytest.raises(InvalidOptionError, match="env_fns: expected at least one"):
        PoolVectorEnv([])


@cases.EACH_EXECUTOR
def test_spaces_that_do_not_go_together(workers):
    with pytest.raises(RollVecError, match="do not share a shape and a dtype"):
        PoolVectorEnv([*drifters("box", 1), *drifters("discrete", 1)], **workers)

    def other():
        env = Drifter("discrete")
        env.action_space = Discrete(9)
        return env

    with pytest.raises(RuntimeError, match="environment 1"):
        PoolVectorEnv([*drifters("discrete", 1), other], **workers)


@cases.EACH_EXECUTOR
def test_different_bounds(workers):
    def wide():
        env = Drifter("box")
        env.observation_space = Box(-99.0, 99.0, (3,), np.float32)
        return env

    fns = [*drifters("box", 1), wide]
    with cases.pool(fns, **workers) as env:
        twin = gymnasium.vector.SyncVectorEnv(fns, observation_mode="different")
        assert env.observation_space == twin.observation_space
        assert_same(env.reset(seed=1), twin.reset(seed=1))


def test_objects_in_processes_are_out_of_reach():
    message = "in worker processes: use call"
    keywords = {"workers": 1, "executor": "process"}
    with (
        cases.pool(talkers(1), **keywords) as env,
        pytest.raises(AttributeError, match=message),
    ):
        env.envs  # noqa: B018


def test_the_action_0_reaches_environments_that_accept_it():
    make = partial(gymnasium.make, "roll_vec/Sokoban-v0", action_start=1)
    envs = PoolVectorEnv([make] * 2)
    envs.reset(seed=0)
    assert envs.step([1, 0])[4]["action_is_valid"].tolist() == [True, False]
    envs.close()
