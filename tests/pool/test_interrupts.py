"""Ctrl-C, forks, and programs that end or are killed with a pool."""

import contextlib
import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import pytest

from roll_vec.errors import EnvironmentFaultWarning, ResetNeededError, RollVecError
from roll_vec.pool import PoolVectorEnv
from roll_vec.seeding import episode_seed
from tests.conftest import ROOT
from tests.pool import cases
from tests.pool.envs import RELEASE, Unloadable, talkers

SLOW = pytest.mark.slow
FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
pytestmark = pytest.mark.usefixtures("_leaves_no_file")


def is_gone(pid):
    """Return whether a process has ended, even if its new parent has not noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


PROGRAM = """
from roll_vec.pool import PoolVectorEnv
from tests.pool.envs import talkers

if __name__ == "__main__":
    pools = []
    for action, workers in (
        ("fault:loop", {"workers": 2, "executor": "process"}),
        (None, {"workers": 2, "executor": "process"}),
        ("go", {}),
        ("fault:wait", {"workers": 2}),
        (None, {"workers": 2}),
    ):
        env = PoolVectorEnv(talkers(3), **workers)
        env.reset(seed=1)
        env.step(("a",) * 3)
        if action is not None:
            env.send([action], [0])
        pools.append(env)
    for env in pools[:2]:
        print(*[queue.process.pid for queue in env.engine.envs.workers._queues])
"""


@pytest.mark.slow
def test_the_end_of_the_program():
    """With pools of each kind; environments of two of them hang."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"},
        timeout=120,
        check=True,
    )
    assert result.stderr == ""
    pids = result.stdout.split()
    assert len(pids) == 4
    assert all(is_gone(pid) for pid in pids)


@contextlib.contextmanager
def forked(main):
    """Run a function in a child with a process group of its own.

    Yields the child's number and the lines that the function writes.  It must write
    "end" at last, unless the test kills it.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        # A suite that runs in the background may hand on that Ctrl-C is ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setpgrp()
        signal.alarm(60)  # a child that hangs ends without "end"

        def tell(*words):
            os.write(writer, f"{' '.join(map(str, words))}\n".encode())

        try:
            main(tell)
            tell("end")
        except BaseException:
            os.write(writer, traceback.format_exc().encode())
        os._exit(0)
    os.close(writer)
    try:
        with os.fdopen(reader) as file:
            yield pid, iter(file.readline, "")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def pids_of(env):
    return [queue.process.pid for queue in cases.queues_of(env)]


@FORKS
@pytest.mark.parametrize(
    "context",
    ["fork", *(pytest.param(name, marks=SLOW) for name in ("spawn", "forkserver"))],
)
def test_workers_end_when_their_parent_is_killed(context):
    def main(tell):
        env = PoolVectorEnv(talkers(3), workers=3, executor="process", context=context)
        env.reset(seed=1)
        tell(*pids_of(env))
        env.send(["fault:loop", "a"], [0, 1])
        time.sleep(60)

    with forked(main) as (_, lines):
        pids = next(lines).split()
    assert len(pids) == 3
    cases.wait_until(lambda: all(is_gone(pid) for pid in pids))


@FORKS
def test_a_worker_that_hangs_in_its_start_ends_with_its_parent():
    def main(tell):
        keywords = {"workers": 1, "executor": "process", "context": "spawn"}
        make = functools.partial(PoolVectorEnv, [Unloadable()], **keywords)
        threading.Thread(target=make, daemon=True).start()
        cases.wait_until(multiprocessing.active_children)
        tell(multiprocessing.active_children()[0].pid)
        time.sleep(60)

    with forked(main) as (_, lines):
        pid = next(lines).strip()
    cases.wait_until(lambda: is_gone(pid))


@FORKS
@cases.EACH_WORKER
def test_ctrl_c(workers):
    """The pool can be closed or reset after it, also beside one that hangs."""
    is_thread = workers == cases.THREADS

    def main(tell):
        env = cases.step_once(workers)
        tell(*([] if is_thread else pids_of(env)))
        if is_thread:
            env.set_attr("length", 1)
        try:
            tell("hangs")
            env.step(("fault:wait" if is_thread else "fault:loop", "a", "b"))
        except KeyboardInterrupt:
            tell("interrupted")
        try:
            env.step(("a", "b", "c"))
        except ResetNeededError:
            tell("reset needed")
        # It waits for no thread that hangs.
        tell(env.reset()[1]["level"].tolist())
        RELEASE.set()
        env.step(("a", "b", "c"))
        env.close()
        cases.wait_until(lambda: threading.active_count() == 1)

    with forked(main) as (pid, lines):
        pids = next(lines).split()
        assert next(lines) == "hangs\n"
        # Now it waits; or it soon will, and the signal comes a little earlier.
        time.sleep(0.2)
        os.killpg(pid, signal.SIGINT)
        levels = [episode_seed(seed, 1) for seed in (1, 2, 3)]
        told = ["interrupted\n", "reset needed\n", f"{levels}\n", "end\n"]
        assert list(lines) == told
        assert len(pids) == (0 if is_thread else 2)
        assert all(is_gone(pid) for pid in pids)


@FORKS
@cases.EACH_WORKER
def test_a_fork_cannot_use_the_workers_and_does_not_end_them(workers):
    env = cases.step_once(workers)

    def main(tell):
        with pytest.raises(RollVecError, match="fork"):
            env.step(("a",) * 3)
        env.close()

    with forked(main) as (_, lines):
        assert list(lines) == ["end\n"]
    env.step(("b",) * 3)
    env.close()


def check_reset(env):
    """Check that a pool plays as a new one after a seeded reset."""
    assert env.reset(seed=5)[1]["level"].tolist() == [5, 6, 7]
    assert env.step(("a",) * 3)[0] == ("1: a",) * 3


def check_reset_and_close(env):
    check_reset(env)
    env.close()


@cases.EACH_EXECUTOR
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_second_exception_before_tasks_are_dropped(workers, error, monkeypatch):
    env = cases.step_once(workers)
    state = env.get_state()

    def fail(*_):
        raise error

    for recover in (lambda: env.reset(seed=1), lambda: env.set_state(state)):
        with monkeypatch.context() as patch:
            patch.setattr(env.engine.envs.workers, "collect", fail)
            patch.setattr(env.engine.envs, "demand_reset", fail)
            with pytest.raises(error):
                env.get_state()
        with pytest.raises(ResetNeededError):
            env.step(("a",) * 3)
        recover()
        env.step(("a",) * 3)
    check_reset_and_close(env)


def test_a_worker_whose_exit_code_an_interrupt_has_lost():
    env = cases.step_once(cases.PROCESSES)
    process = env.engine.envs.workers._queues[0].process
    process.kill()
    os.waitpid(process.pid, 0)
    with pytest.warns(EnvironmentFaultWarning, match="exit code None"):
        truncations = env.step(("a",) * 3)[3]
    assert truncations.tolist() == [True, False, True]
    check_reset_and_close(env)
    # `multiprocessing` takes it for alive.
    multiprocessing.process._children.discard(process)
