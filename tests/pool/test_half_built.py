"""Constructors that fail leave nothing that complains when it is collected.

Gymnasium before 1.3 closes every `VectorEnv` in ``__del__``, half-built ones too.  The
tests do so with every version.
"""

import gc
import sys

import gymnasium
import pytest
from gymnasium.vector import VectorEnv

import roll_vec
from roll_vec.pool import PoolVectorEnv
from tests.pool.cases import EXECUTOR_IDS, EXECUTORS
from tests.pool.envs import talkers


def close_unless_closed(env):
    if not env.closed:
        env.close()


@pytest.fixture
def ignored(monkeypatch):
    """A list of the exceptions that were ignored."""
    monkeypatch.setattr(VectorEnv, "__del__", close_unless_closed, raising=False)
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", caught.append)
    gc.collect()
    caught.clear()
    yield caught
    gc.collect()
    assert [str(one.exc_value) for one in caught] == []


def refuse():
    raise OSError


@pytest.mark.parametrize("workers", EXECUTORS, ids=EXECUTOR_IDS)
@pytest.mark.parametrize(
    "more",
    [
        {"env_fns": [refuse]},
        {"env_fns": []},
        {"group_size": 2},
        {"autoreset_mode": "never"},
        {"on_error": "shout"},
        {"observation_mode": "none"},
        {"no_such": 1},
    ],
    ids=lambda more: next(iter(more)),
)
def test_half_built_pool_is_silent(ignored, workers, more):
    with pytest.raises((OSError, ValueError, TypeError)):
        PoolVectorEnv(**{"env_fns": talkers(3), **workers, **more})


@pytest.mark.parametrize(
    "more", [{"group_size": 2}, {"autoreset_mode": "never"}, {"num_envs": 0}], ids=str
)
@pytest.mark.parametrize("env_id", ["roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"])
def test_half_built_batch_is_silent(ignored, env_id, more):
    with pytest.raises(ValueError, match=next(iter(more))):
        gymnasium.make_vec(env_id, **{"num_envs": 3, **more})


@pytest.mark.parametrize("kind", [roll_vec.RollVectorEnv, PoolVectorEnv])
def test_closing_before_the_constructor_ends_does_nothing(kind):
    env = kind.__new__(kind)
    env.close()
    VectorEnv.close(env)
    assert env.closed


def test_collection_closes_no_environment(ignored):
    # As with Gymnasium from 1.3 on: closing may wait for busy workers.
    closed = []

    class Watched(gymnasium.Wrapper):
        def close(self):
            closed.append(self)

    make = talkers(1)[0]
    env = PoolVectorEnv([lambda: Watched(make())])
    env.reset(seed=0)
    del env
    gc.collect()
    assert not closed
