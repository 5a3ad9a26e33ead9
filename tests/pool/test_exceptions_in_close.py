"""Environments that raise when they are closed: all others are closed too."""

import asyncio

import pytest

from tests.pool.cases import EACH_EXECUTOR, EACH_WORKER, FAULTS_ON_PURPOSE, pool
from tests.pool.envs import Talker


class Closer(Talker):
    """Notes that it was closed, and raises then."""

    def __init__(self, path, error):
        super().__init__()
        self.path, self.error = path, error

    def close(self):
        with self.path.open("a") as file:
            file.write("x")
        if self.error is not None:
            raise self.error


class CustomError(BaseException):
    """Not even an Exception."""


ERRORS = [asyncio.CancelledError, GeneratorExit, CustomError]


def closers(path, *errors):
    """Return constructors of environments that raise these errors at close."""
    return [lambda error=error: Closer(path, error) for error in errors]


@EACH_EXECUTOR
@pytest.mark.parametrize("error", ERRORS)
def test_all_are_closed_whatever_one_raises(error, workers, tmp_path):
    path = tmp_path / "closed"
    with pool(closers(path, error, None, error, None), **workers) as env:
        env.reset(seed=1)
    assert path.read_text() == "xxxx"
    assert env.closed


def test_ctrl_c_comes_through_when_all_are_closed(tmp_path):
    """The second one at once: the user is in a hurry."""
    path = tmp_path / "closed"
    fns = closers(path, None, KeyboardInterrupt, None)
    with pytest.raises(KeyboardInterrupt), pool(fns) as env:
        env.reset(seed=1)
    assert path.read_text() == "xxx"
    fns = closers(path, KeyboardInterrupt, None, KeyboardInterrupt, None)
    with pytest.raises(KeyboardInterrupt), pool(fns) as env:
        env.reset(seed=1)
    assert path.read_text() == "xxx" + "xxx"
    env.close()
    assert path.read_text() == "xxx" + "xxxx"


@EACH_WORKER
def test_an_interrupt_that_an_environment_raises_in_a_worker(workers, tmp_path):
    """It is an exception as any other, not Ctrl-C."""
    path = tmp_path / "closed"
    with pool(closers(path, KeyboardInterrupt, None, None), **workers) as env:
        env.reset(seed=1)
    assert path.read_text() == "xxx"


@FAULTS_ON_PURPOSE
@EACH_EXECUTOR
def test_an_environment_that_raises_when_it_is_replaced(workers, tmp_path):
    with pool(closers(tmp_path / "closed", CustomError, None), **workers) as env:
        env.reset(seed=1)
        env.step(("fault:raise", "go"))
        _, _, _, truncations, infos = env.step(("go", "go"))
        assert not truncations.any()
        assert "error" not in infos
