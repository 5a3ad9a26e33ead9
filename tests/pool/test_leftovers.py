"""A pool leaves no process, thread or open file behind, however it ends."""

import asyncio
import contextlib
import gc
import uuid
import weakref

import pytest

from roll_vec.pool import PoolVectorEnv
from tests.pool.cases import (
    EACH_EXECUTOR,
    EACH_WORKER,
    FAULTS_ON_PURPOSE,
    THREADS,
    pool,
    step_once,
    wait_until,
)
from tests.pool.envs import HANGING, Talker, talkers

pytestmark = [pytest.mark.usefixtures("_leaves_no_file"), FAULTS_ON_PURPOSE]


@EACH_EXECUTOR
@pytest.mark.parametrize("has_results", [False, True])
def test_close(workers, has_results, leftovers):
    env = step_once(workers)
    if has_results:
        env.send(["a", "b"], [0, 1])
    env.close()
    assert not leftovers.threads()
    assert not leftovers.children()
    env.close()


@pytest.mark.parametrize("command", ["wait", "loop"])
def test_close_beside_one_that_hangs(command, monkeypatch):
    monkeypatch.setattr("roll_vec.pool.env_handles.PATIENCE", 0.2)
    is_thread = command == "wait"
    env = step_once({"workers": 3, "executor": "thread" if is_thread else "process"})
    HANGING.clear()
    env.send([f"fault:{command}", "a", "b"], [0, 1, 2])
    if is_thread:
        HANGING.wait()
    env.close()
    assert env.abandoned_threads == is_thread


@EACH_WORKER
def test_after_faults(workers):
    env = step_once(workers, step_timeout=0.4, reset_timeout=20)
    command = "wait" if workers == THREADS else "kill"
    env.step((f"fault:{command}", "a", "b"))
    env.step(("a", "a", "b"))
    env.close()


@EACH_WORKER
def test_garbage_collection(workers, leftovers):
    env = step_once(workers)
    alive = weakref.ref(env)
    del env
    gc.collect()
    assert alive() is None
    wait_until(lambda: not leftovers.threads())
    assert not leftovers.children()


@EACH_WORKER
def test_garbage_collection_beside_one_that_hangs(workers, leftovers):
    env = step_once(workers)
    command = "wait" if workers == THREADS else "loop"
    env.send([f"fault:{command}"], [0])
    del env
    gc.collect()
    assert not leftovers.children()


@EACH_WORKER
def test_a_constructor_that_fails(workers):
    def broken():
        raise OSError

    with contextlib.suppress(OSError):
        PoolVectorEnv([*talkers(2), broken], **workers)
    with contextlib.suppress(ValueError):
        PoolVectorEnv(talkers(2), group_size=3, **workers)


@EACH_WORKER
def test_environments_are_closed_where_they_live(workers, tmp_path):
    def noted():
        env = talkers(1)[0]()
        env.close = lambda: (tmp_path / uuid.uuid4().hex).touch()
        return env

    env = PoolVectorEnv([noted] * 3, **workers)
    env.close()
    assert len(list(tmp_path.iterdir())) == 3


# ------------------------------------------------- environments that raise in close


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


def closers(path, *errors):
    """Return constructors of environments that raise these errors at close."""
    return [lambda error=error: Closer(path, error) for error in errors]


@EACH_EXECUTOR
@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit, CustomError])
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


@EACH_EXECUTOR
def test_an_environment_that_raises_when_it_is_replaced(workers, tmp_path):
    with pool(closers(tmp_path / "closed", CustomError, None), **workers) as env:
        env.reset(seed=1)
        env.step(("fault:raise", "go"))
        _, _, _, truncations, infos = env.step(("go", "go"))
        assert not truncations.any()
        assert "error" not in infos
