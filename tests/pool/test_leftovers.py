"""A pool leaves no process, thread or open file behind, however it ends or fails."""

import asyncio
import gc
import sys
import weakref

import gymnasium
import pytest
from gymnasium.vector import VectorEnv

import roll_vec
from roll_vec.pool import PoolVectorEnv
from tests.pool import cases
from tests.pool.envs import HANGING, Talker, talkers

pytestmark = [pytest.mark.usefixtures("_leaves_no_file"), cases.FAULTS_ON_PURPOSE]


@cases.EACH_EXECUTOR
@pytest.mark.parametrize("has_results", [False, True])
def test_close(workers, has_results, leftovers):
    env = cases.step_once(workers)
    if has_results:
        env.send(["a", "b"], [0, 1])
    env.close()
    assert not leftovers.threads()
    assert not leftovers.children()
    env.close()


@pytest.mark.parametrize("command", ["wait", "loop"])
def test_close_beside_one_that_hangs(command, monkeypatch):
    monkeypatch.setattr("roll_vec.pool.pool_envs.PATIENCE", 0.2)
    is_thread = command == "wait"
    env = cases.step_once(
        {"workers": 3, "executor": "thread" if is_thread else "process"}
    )
    HANGING.clear()
    env.send([f"fault:{command}", "a", "b"], [0, 1, 2])
    if is_thread:
        HANGING.wait()
    env.close()


@cases.EACH_WORKER
@pytest.mark.parametrize("hangs", [False, True])
def test_garbage_collection(workers, hangs, leftovers):
    env = cases.step_once(workers)
    alive = weakref.ref(env)
    if hangs:
        env.send(["fault:wait" if workers == cases.THREADS else "fault:loop"], [0])
    del env
    gc.collect()
    assert alive() is None
    if not hangs:
        cases.wait_until(lambda: not leftovers.threads())
    assert not leftovers.children()


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


@pytest.fixture
def path(tmp_path):
    """Return the file with an x for each environment that was closed."""
    return tmp_path / "closed"


def closers(path, *errors):
    """Return constructors of environments that raise these errors at close."""
    return [lambda error=error: Closer(path, error) for error in errors]


@cases.EACH_EXECUTOR
def test_all_are_closed_whatever_some_raise(workers, path):
    errors = asyncio.CancelledError, None, CustomError, None
    with cases.pool(closers(path, *errors), **workers) as env:
        env.reset(seed=1)
    assert path.read_text() == "xxxx"
    assert env.closed


def test_ctrl_c_ends_close_and_another_call_goes_on(path):
    fns = closers(path, None, KeyboardInterrupt, None)
    with pytest.raises(KeyboardInterrupt), cases.pool(fns) as env:
        pass
    assert path.read_text() == "xx"
    env.close()
    assert path.read_text() == "xxx"


@cases.EACH_WORKER
def test_an_interrupt_that_an_environment_raises_in_a_worker(workers, path):
    """It is an exception as any other, not Ctrl-C."""
    with cases.pool(closers(path, KeyboardInterrupt, None, None), **workers):
        pass
    assert path.read_text() == "xxx"


@cases.EACH_EXECUTOR
def test_an_environment_that_raises_when_it_is_replaced(workers, path):
    with cases.pool(closers(path, CustomError, None), **workers) as env:
        env.reset(seed=1)
        env.step(("fault:raise", "go"))
        *_, truncations, infos = env.step(("go", "go"))
        assert not truncations.any()
        assert "error" not in infos


@pytest.fixture
def _nothing_complains(monkeypatch):
    """Fail if garbage collection raises; collecting takes long, so once a test.

    Gymnasium before 1.3 closes every `VectorEnv` in ``__del__``, half-built ones too;
    here every version does.
    """

    def close_unless_closed(env):
        if not env.closed:
            env.close()

    monkeypatch.setattr(VectorEnv, "__del__", close_unless_closed, raising=False)
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    gc.collect()
    complaints.clear()
    yield
    gc.collect()
    assert [str(one.exc_value) for one in complaints] == []


def broken():
    message = "no such thing"
    raise OSError(message)


@pytest.mark.usefixtures("_nothing_complains")
@cases.EACH_EXECUTOR
def test_half_built_pool_is_silent(workers):
    for fns in ([broken], [*talkers(2), broken]):
        with pytest.raises(OSError, match="no such thing"):
            PoolVectorEnv(fns, **workers)
    for keywords in (
        {"env_fns": []},
        {"group_size": 2},
        {"autoreset_mode": "never"},
        {"no_such": 1},
    ):
        with pytest.raises((ValueError, TypeError)):
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
def test_collection_closes_no_environment(path):
    """As with Gymnasium from 1.3 on: closing may wait for busy workers."""
    env = PoolVectorEnv(closers(path, None))
    env.reset(seed=0)
    del env
    gc.collect()
    assert not path.exists()
