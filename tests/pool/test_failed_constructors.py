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
from tests.pool.cases import EACH_EXECUTOR
from tests.pool.envs import talkers


def close_unless_closed(env):
    if not env.closed:
        env.close()


@pytest.fixture
def _nothing_complains(monkeypatch):
    """Fail if garbage collection raises; collecting takes long, so once a test."""
    monkeypatch.setattr(VectorEnv, "__del__", close_unless_closed, raising=False)
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    gc.collect()
    complaints.clear()
    yield
    gc.collect()
    assert [str(one.exc_value) for one in complaints] == []


def broken():
    raise OSError


@pytest.mark.usefixtures("_nothing_complains")
@EACH_EXECUTOR
def test_half_built_pool_is_silent(workers):
    for keywords in (
        {"env_fns": [broken]},
        {"env_fns": []},
        {"group_size": 2},
        {"autoreset_mode": "never"},
        {"on_error": "shout"},
        {"observation_mode": "none"},
        {"no_such": 1},
    ):
        with pytest.raises((OSError, ValueError, TypeError)):
            PoolVectorEnv(**{"env_fns": talkers(3), **workers, **keywords})


@pytest.mark.usefixtures("_nothing_complains")
@pytest.mark.parametrize("env_id", ["roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"])
def test_half_built_batch_is_silent(env_id):
    for keywords in ({"group_size": 2}, {"autoreset_mode": "never"}, {"num_envs": 0}):
        with pytest.raises(ValueError, match=next(iter(keywords))):
            gymnasium.make_vec(env_id, **{"num_envs": 3, **keywords})


@pytest.mark.parametrize("kind", [roll_vec.RollVectorEnv, PoolVectorEnv])
def test_closing_before_the_constructor_ends_does_nothing(kind):
    env = kind.__new__(kind)
    env.close()
    VectorEnv.close(env)
    assert env.closed


@pytest.mark.usefixtures("_nothing_complains")
def test_collection_closes_no_environment():
    """As with Gymnasium from 1.3 on: closing may wait for busy workers."""
    closed_envs = []

    class Watched(gymnasium.Wrapper):
        def close(self):
            closed_envs.append(self)

    make = talkers(1)[0]
    env = PoolVectorEnv([lambda: Watched(make())])
    env.reset(seed=0)
    del env
    gc.collect()
    assert not closed_envs
