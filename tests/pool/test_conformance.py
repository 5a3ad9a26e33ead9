"""The pool keeps the contract that the public checker asks of all."""

import pytest

from roll_vec.pool import PoolVectorEnv
from roll_vec.testing import ConformanceError, check_vector_env
from tests.pool.cases import EXECUTOR_IDS, EXECUTORS
from tests.pool.envs import Counter, Drifter, Talker


@pytest.mark.slow
@pytest.mark.parametrize("workers", EXECUTORS, ids=EXECUTOR_IDS)
@pytest.mark.parametrize("cls", [Talker, Counter, Drifter])
def test_check_vector_env(cls, workers):
    def make(num_envs, **keywords):
        return PoolVectorEnv([cls] * num_envs, **workers, **keywords)

    check_vector_env(make)


class Failing(Talker):
    def step(self, action):
        return self.ask(action)

    def ask(self, action):
        raise OSError


class Erring(Talker):
    """Has errors that are part of its task, and keys that are no texts."""

    def step(self, action):
        *values, info = super().step(action)
        return *values, {**info, "error": "no such tool", 1: {2: 3}}


def test_an_environment_whose_every_step_raises_is_found():
    def make(num_envs, **keywords):
        return PoolVectorEnv([Failing] * num_envs, **keywords)

    with pytest.raises(ConformanceError, match=r"\[environment-error\]") as caught:
        check_vector_env(make, steps=2)
    text = str(caught.value)
    assert "Traceback (most recent call last):" in text
    assert "in ask\n" in text
    assert len(caught.value.findings) == 1


def test_errors_that_are_no_failures_pass():
    def make(num_envs, **keywords):
        return PoolVectorEnv([Erring] * num_envs, **keywords)

    check_vector_env(make, steps=12)


class Unready(Talker):
    def reset(self, *, seed=None, options=None):
        raise OSError


def test_the_traceback_of_a_reset_that_fails_is_shown():
    def make(num_envs, **keywords):
        return PoolVectorEnv([Unready] * num_envs, **keywords)

    with pytest.raises(ConformanceError, match=r"\[raises\]") as caught:
        check_vector_env(make, steps=2)
    text = str(caught.value)
    assert "Traceback (most recent call last):" in text
    assert "raise OSError\n" in text
