"""Environments that raise when they are closed, beside others."""

import asyncio

import pytest

from tests.pool.cases import (
    EXECUTOR_IDS,
    EXECUTORS,
    FAULTS_ON_PURPOSE,
    PROCESSES,
    THREADS,
    pool,
)
from tests.pool.envs import Talker

EACH_EXECUTOR = pytest.mark.parametrize("workers", EXECUTORS, ids=EXECUTOR_IDS)


class Closing(Talker):
    """Notes that it was closed, and raises then."""

    def __init__(self, path, error):
        super().__init__()
        self.path, self.error = path, error

    def close(self):
        with self.path.open("a") as file:
            file.write("x")
        if self.error is not None:
            raise self.error


class Own(BaseException):
    pass


ERRORS = [asyncio.CancelledError, GeneratorExit, Own]


def closing(path, *errors):
    return [lambda error=error: Closing(path, error) for error in errors]


@EACH_EXECUTOR
@pytest.mark.parametrize("error", ERRORS)
def test_all_are_closed_whatever_one_raises(error, workers, tmp_path):
    path = tmp_path / "closed"
    with pool(closing(path, error, None, error, None), **workers) as env:
        env.reset(seed=1)
    assert path.read_text() == "xxxx"
    assert env.closed


def test_ctrl_c_comes_through_when_all_are_closed(tmp_path):
    """The second one at once: somebody who is in a hurry closes nothing more."""
    path = tmp_path / "closed"
    fns = closing(path, None, KeyboardInterrupt, None)
    with pytest.raises(KeyboardInterrupt), pool(fns) as env:
        env.reset(seed=1)
    assert path.read_text() == "xxx"
    fns = closing(path, KeyboardInterrupt, None, KeyboardInterrupt, None)
    with pytest.raises(KeyboardInterrupt), pool(fns) as env:
        env.reset(seed=1)
    assert path.read_text() == "xxx" + "xxx"
    env.close()
    assert path.read_text() == "xxx" + "xxxx"


@pytest.mark.parametrize("workers", [THREADS, PROCESSES], ids=EXECUTOR_IDS[1:])
def test_an_interrupt_that_an_environment_raises_in_a_worker(workers, tmp_path):
    """It is nobody's Ctrl-C."""
    path = tmp_path / "closed"
    with pool(closing(path, KeyboardInterrupt, None, None), **workers) as env:
        env.reset(seed=1)
    assert path.read_text() == "xxx"


@FAULTS_ON_PURPOSE
@EACH_EXECUTOR
def test_an_instance_that_raises_when_it_is_replaced(workers, tmp_path):
    with pool(closing(tmp_path / "closed", Own, None), **workers) as env:
        env.reset(seed=1)
        env.step(("fault:raise", "go"))
        _, _, _, truncations, infos = env.step(("go", "go"))
        assert not truncations.any()
        assert "error" not in infos
