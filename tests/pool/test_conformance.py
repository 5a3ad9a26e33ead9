"""The public checker accepts the pool, and names what fails in its environments."""

import pytest

from roll_vec.pool import PoolVectorEnv
from roll_vec.testing import ConformanceError, check_vector_env
from tests.pool.cases import PROCESSES, THREADS
from tests.pool.envs import Counter, Drifter, Talker


# Lockstep, snapshots and faults are tested for each kind with each executor.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "workers"), [(Counter, {}), (Drifter, THREADS), (Talker, PROCESSES)]
)
def test_check_vector_env(cls, workers):
    def make(num_envs, **keywords):
        return PoolVectorEnv([cls] * num_envs, **workers, **keywords)

    check_vector_env(make)


class Failing(Talker):
    """Raises in every step."""

    def step(self, action):
        return self.ask(action)

    def ask(self, action):
        raise OSError


class Erring(Talker):
    """Has errors in its infos that are part of its task, and keys that are no texts."""

    def step(self, action):
        *values, info = super().step(action)
        return *values, {**info, "error": "no such tool", 1: {2: 3}}


class Unready(Talker):
    """Raises in every reset."""

    def reset(self, *, seed=None, options=None):
        return self.ask(seed)

    def ask(self, action):
        raise OSError


@pytest.mark.parametrize(
    ("cls", "code"), [(Failing, "environment-error"), (Unready, "raises")]
)
def test_an_environment_that_always_raises_is_found_with_its_traceback(cls, code):
    def make(num_envs, **keywords):
        return PoolVectorEnv([cls] * num_envs, **keywords)

    with pytest.raises(ConformanceError, match=rf"\[{code}\]") as error:
        check_vector_env(make, steps=2)
    text = str(error.value)
    assert "Traceback (most recent call last):" in text
    assert "in ask\n" in text
    assert len(error.value.findings) == 1


def test_infos_with_errors_pass():
    def make(num_envs, **keywords):
        return PoolVectorEnv([Erring] * num_envs, **keywords)

    check_vector_env(make, steps=12)
