"""Ctrl-C, forks, and programs that end or are killed with a pool."""

import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import deque
from pathlib import Path

import pytest

import roll_vec
from roll_vec.errors import EnvironmentFaultWarning, ResetNeededError
from roll_vec.seeding import episode_seed
from tests.pool.cases import (
    EACH_EXECUTOR,
    EACH_WORKER,
    PROCESSES,
    THREADS,
    step_once,
    wait_until,
)

ROOT = Path(__file__).resolve().parent.parent.parent
SLOW = pytest.mark.slow
pytestmark = pytest.mark.usefixtures("_leaves_no_file")

# A suite that runs in the background may hand on that Ctrl-C is ignored.
RUN = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from roll_vec.pool import PoolVectorEnv
from tests.pool.envs import talkers

def main():
    env = PoolVectorEnv(talkers(3), **{workers})
    env.reset(seed=1)
    if {executor!r} == "process":
        queues = env.engine.handles.workers._queues
        print(*[queue.process.pid for queue in queues], flush=True)
    {body}

if __name__ == "__main__":
    main()
"""


def run(workers, body, **keywords):
    """Start a program with a pool and these lines; return its process."""
    source = textwrap.dedent(RUN).format(
        workers=workers,
        executor=workers.get("executor"),
        body=textwrap.indent(textwrap.dedent(body), "    ").strip(),
    )
    return subprocess.Popen(
        [sys.executable, "-c", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"},
        **keywords,
    )


def is_gone(pid):
    """Return whether a process has ended, even if its new parent has not noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.slow
@pytest.mark.parametrize("hangs", [pytest.param(False, marks=SLOW), True])
def test_the_end_of_the_program(hangs):
    """With a pool of each kind; environments of two of them may hang."""
    body = f"""
        pools = [(env, "loop")]
        for workers, fault in (({{}}, "go"), ({{"workers": 2}}, "wait")):
            pools.append((PoolVectorEnv(talkers(3), **workers), fault))
        for one, fault in pools:
            one.reset(seed=1)
            one.step(("a",) * 3)
            if {hangs}:
                one.send([f"fault:{{fault}}" if fault != "go" else fault], [0])
        """
    program = run(PROCESSES, body)
    out, errors = program.communicate(timeout=60)
    assert (program.returncode, errors) == (0, "")
    pids = out.split()
    assert len(pids) == 2
    assert all(is_gone(pid) for pid in pids)


@pytest.mark.parametrize(
    "context",
    ["fork", *(pytest.param(name, marks=SLOW) for name in ("spawn", "forkserver"))],
)
def test_workers_end_when_their_parent_is_killed(context):
    workers = {"workers": 3, "executor": "process", "context": context}
    body = """
        env.send(["fault:loop", "a"], [0, 1])
        print("hangs", flush=True)
        time.sleep(60)
        """
    program = run(workers, body)
    pids = program.stdout.readline().split()
    assert len(pids) == 3
    assert program.stdout.readline() == "hangs\n"
    program.kill()
    program.communicate()
    wait_until(lambda: all(is_gone(pid) for pid in pids))


@EACH_WORKER
def test_ctrl_c(workers):
    """The pool can be closed or reset after it, also beside one that hangs."""
    is_thread = workers == THREADS
    body = f"""
        if {is_thread}:
            env.set_attr("length", 1)
        try:
            print("hangs", flush=True)
            env.step(("fault:{"wait" if is_thread else "loop"}", "a", "b"))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        from roll_vec.errors import ResetNeededError
        try:
            env.step(("a", "b", "c"))
        except ResetNeededError:
            print("reset needed", flush=True)
        from tests.pool.envs import RELEASE
        RELEASE.set()
        print(env.reset()[1]["level"].tolist(), flush=True)
        env.step(("a", "b", "c"))
        env.close()
        print(len(threading.enumerate()), flush=True)
        """
    program = run(workers, body, start_new_session=True)
    lines = iter(program.stdout.readline, "")
    pids = [] if is_thread else next(lines).split()
    assert next(lines) == "hangs\n"
    # Now it waits; or it soon will, and the signal comes a little earlier.
    time.sleep(0.2)
    os.killpg(program.pid, signal.SIGINT)
    assert list(lines) == [
        "interrupted\n",
        "reset needed\n",
        f"{[episode_seed(seed, 1) for seed in (1, 2, 3)]}\n",
        "1\n",
    ]
    assert program.wait() == 0
    assert program.stderr.read() == ""
    assert all(is_gone(pid) for pid in pids)
    program.stdout.close()
    program.stderr.close()


@EACH_EXECUTOR
def test_an_interrupt_of_the_caller(workers, monkeypatch):
    """Wherever it comes: here between the environments and the batch."""
    env = step_once(workers)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(env.engine.observations, "build_batch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.step(("a",) * 3)
    with pytest.raises(ResetNeededError):
        env.step(("a",) * 3)
    _, infos = env.reset(seed=5)
    assert infos["level"].tolist() == [5, 6, 7]
    env.step(("a",) * 3)
    env.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@EACH_WORKER
def test_a_fork_cannot_use_the_workers_and_does_not_end_them(workers):
    env = step_once(workers)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            try:
                env.step(("a",) * 3)
            except Exception as error:
                os.write(writer, str(error).encode())
            env.close()
            code = 0
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as message:
        assert "fork" in message.read()
    assert os.waitpid(child, 0)[1] == 0
    env.step(("b",) * 3)
    env.close()


@pytest.mark.parametrize("is_late", [False, True])
def test_an_interrupt_between_a_queue_and_its_thread(is_late, monkeypatch):
    """Before or after a task, or a result, is handed over: both sides still agree."""
    env = step_once({"workers": 2})
    workers = env.engine.handles.workers

    def interrupted(function):
        def interrupt(*arguments):
            if is_late:
                function(*arguments)
            raise KeyboardInterrupt

        return interrupt

    for name in ("_send", "_finish"):
        with monkeypatch.context() as patch:
            patch.setattr(workers, name, interrupted(getattr(workers, name)))
            with pytest.raises(KeyboardInterrupt):
                env.step(("a",) * 3)
            # Then the thread has ended the tasks; the caller does not know that.
            time.sleep(0.05)
        _, infos = env.reset(seed=5)
        assert infos["level"].tolist() == [5, 6, 7]
        assert env.step(("a",) * 3)[0] == ("1: a",) * 3


@EACH_EXECUTOR
def test_an_interrupt_of_a_recv_loses_no_result_in_silence(workers, monkeypatch):
    env = step_once(workers)
    env.send(("a",) * 3, [0, 1, 2])

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(env._pending_steps, "_make_batch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.recv(3)
    with pytest.raises(ResetNeededError):
        env.send(("a",) * 3, [0, 1, 2])
    assert env.reset(seed=5)[1]["level"].tolist() == [5, 6, 7]


def run_out_of_memory(*_):
    raise MemoryError


@EACH_EXECUTOR
@pytest.mark.parametrize("name", ["send", "recv"])
def test_an_exception_within_send_or_recv_demands_a_reset(workers, name, monkeypatch):
    """As of a signal's handler, or of memory; it is no fault of an environment."""
    env = step_once(workers)
    with monkeypatch.context() as patch:
        if name == "recv":
            env.send(("a", "b"), [0, 1])
            patch.setattr(env.engine.observations, "copy_latest", run_out_of_memory)
        else:
            patch.setattr(env.engine.handles.workers, "flush", run_out_of_memory)
        with pytest.raises(MemoryError):
            env.recv(2) if name == "recv" else env.send(("a", "b"), [0, 1])
    for call in (lambda: env.recv(2), env.get_state, lambda: env.step(("a",) * 3)):
        with pytest.raises(ResetNeededError):
            call()
    assert env.reset(seed=5)[1]["level"].tolist() == [5, 6, 7]
    assert env.step(("a",) * 3)[0] == ("1: a",) * 3
    env.close()


@EACH_EXECUTOR
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_second_exception_before_tasks_are_dropped(workers, error, monkeypatch):
    env = step_once(workers)
    state = env.get_state()

    def fail(*_):
        raise error

    for recover in (lambda: env.reset(seed=1), lambda: env.set_state(state)):
        with monkeypatch.context() as patch:
            patch.setattr(env.engine.handles.workers, "collect", fail)
            patch.setattr(env.engine.handles, "demand_reset", fail)
            with pytest.raises(error):
                env.get_state()
        with pytest.raises(ResetNeededError):
            env.step(("a",) * 3)
        recover()
        env.step(("a",) * 3)
    assert env.reset(seed=5)[1]["level"].tolist() == [5, 6, 7]
    env.close()


def test_an_interrupt_while_a_worker_is_killed(monkeypatch):
    env = step_once(PROCESSES)
    env.send(("fault:loop",), [0])
    close = multiprocessing.process.BaseProcess.close

    def interrupt(process):
        close(process)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(multiprocessing.process.BaseProcess, "close", interrupt)
        patch.setattr(env._pending_steps, "wait", run_out_of_memory)
        with pytest.raises(MemoryError):
            env.recv(1)
        with pytest.raises(KeyboardInterrupt):
            env.reset(seed=5)
    assert env.reset(seed=5)[1]["level"].tolist() == [5, 6, 7]
    env.close()


def test_a_worker_whose_exit_code_an_interrupt_has_lost():
    env = step_once(PROCESSES)
    process = env.engine.handles.workers._queues[0].process
    process.kill()
    os.waitpid(process.pid, 0)
    with pytest.warns(EnvironmentFaultWarning, match="exit code None"):
        truncations = env.step(("a",) * 3)[3]
    assert truncations.tolist() == [True, False, False]
    assert env.reset(seed=5)[1]["level"].tolist() == [5, 6, 7]
    env.close()
    # `multiprocessing` takes it for alive.
    multiprocessing.process._children.discard(process)


@EACH_EXECUTOR
def test_garbage_collection_after_an_interrupt_demands_nothing(workers):
    """Ctrl-C may come within `contextlib`, between the package's own lines."""
    env = step_once(workers)
    context = env._interruptible()
    context.__enter__()
    env.reset(seed=5)
    del context
    gc.collect()
    assert env.step(("a",) * 3)[0] == ("1: a",) * 3
    env.close()


@pytest.mark.parametrize("workers", [{}, {"workers": 2}], ids=["serial", "threads"])
@pytest.mark.parametrize("goes_back", [False, True])
def test_an_interrupt_of_set_level_options_changes_none(
    workers, goes_back, monkeypatch
):
    env, fresh = (
        roll_vec.make_vec("roll_vec/Countdown-v0", 4, max_episode_steps=1, **workers)
        for _ in range(2)
    )
    for one in (env, fresh):
        one.reset(seed=1)
    state, handles = env.get_state(), env.engine.handles
    save, calls = handles._save_attribute, []

    def interrupt(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        save(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(handles, "_save_attribute", interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.set_level_options(number_range=(1, 2), target_range=(1, 4))
    with pytest.raises(ResetNeededError):
        env.step(["1"] * 4)
    if goes_back:
        env.set_state(state)
    else:
        env.reset(seed=1)
    for _ in range(6):
        assert env.step(["1"] * 4)[0] == fresh.step(["1"] * 4)[0]
    assert env.get_state() == fresh.get_state()
    env.close()
    fresh.close()


def test_an_exception_after_a_task_was_queued_is_no_fault_of_the_task():
    """As of a signal's handler: the queue would have a task more than it knows of."""

    class Tasks(deque):
        def append(self, pickled):
            super().append(pickled)
            raise MemoryError

    env = step_once(PROCESSES)
    env.engine.handles.workers._queues[0].pickled_tasks = Tasks()
    with pytest.raises(MemoryError):
        env.step(("a",) * 3)
    with pytest.raises(ResetNeededError):
        env.step(("a",) * 3)
    assert env.reset(seed=5)[1]["level"].tolist() == [5, 6, 7]
    assert env.step(("a",) * 3)[0] == ("1: a",) * 3
    env.close()
