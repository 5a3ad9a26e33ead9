"""A pool leaves no process, thread or open file behind, however it ends."""

import contextlib
import gc
import multiprocessing
import uuid
import weakref

import pytest

from roll_vec.errors import ClosedError
from roll_vec.pool import PoolVectorEnv
from tests.pool.cases import (
    EACH_EXECUTOR,
    EACH_WORKER,
    FAULTS_ON_PURPOSE,
    THREADS,
    step_once,
    threads,
    wait_until,
)
from tests.pool.envs import HANGING, talkers

pytestmark = pytest.mark.usefixtures("_leaves_nothing")


@EACH_EXECUTOR
def test_close(workers):
    env = step_once(workers)
    env.close()
    assert not threads()
    assert not multiprocessing.active_children()
    env.close()
    for use in (
        lambda: env.step(("a",) * 3),
        lambda: env.reset(),
        lambda: env.call("turn"),
        lambda: env.set_attr("turn", 1),
        lambda: env.send(["a"], [0]),
        lambda: env.recv(),
        lambda: env.render(),
    ):
        with pytest.raises(ClosedError):
            use()


@EACH_EXECUTOR
def test_close_with_results_outstanding(workers):
    env = step_once(workers)
    env.send(["a", "b"], [0, 1])
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


@FAULTS_ON_PURPOSE
@EACH_WORKER
def test_after_faults(workers):
    env = step_once(workers, step_timeout=0.4, reset_timeout=20)
    command = "wait" if workers == THREADS else "kill"
    env.step((f"fault:{command}", "a", "b"))
    env.step(("a", "a", "b"))
    env.close()


@EACH_WORKER
def test_garbage_collection(workers):
    env = step_once(workers)
    alive = weakref.ref(env)
    del env
    gc.collect()
    assert alive() is None
    wait_until(lambda: not threads())
    assert not multiprocessing.active_children()


@EACH_WORKER
def test_garbage_collection_beside_one_that_hangs(workers):
    env = step_once(workers)
    command = "wait" if workers == THREADS else "loop"
    env.send([f"fault:{command}"], [0])
    del env
    gc.collect()
    assert not multiprocessing.active_children()


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
