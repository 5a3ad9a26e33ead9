"""Nothing of a pool is left behind: no process, thread or file, however it ends."""

import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import uuid
import weakref
from pathlib import Path

import pytest

from roll_vec.errors import ClosedError, ResetNeededError
from roll_vec.pool import PoolVectorEnv
from roll_vec.seeding import episode_seed
from tests.pool.cases import EXECUTOR_IDS, EXECUTORS, FAULTS_ON_PURPOSE
from tests.pool.envs import HANGING, RELEASE, talkers

ROOT = Path(__file__).resolve().parent.parent.parent
SLOW = pytest.mark.slow
EACH_EXECUTOR = pytest.mark.parametrize("workers", EXECUTORS, ids=EXECUTOR_IDS)
WORKERS = EXECUTORS[1:]
EACH_WORKER = pytest.mark.parametrize("workers", WORKERS, ids=EXECUTOR_IDS[1:])


def threads():
    return {
        one for one in threading.enumerate() if one.name.startswith("roll_vec-pool")
    }


def open_files():
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


@pytest.fixture(autouse=True)
def _leaves_nothing():
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc")
    # What the first process of all starts stays, and is not the pool's.
    multiprocessing.get_context("fork").Pipe()[0].close()
    before = threads(), open_files()
    RELEASE.clear()
    yield
    RELEASE.set()
    wait_until(lambda: not threads() - before[0])
    assert not multiprocessing.active_children()
    assert open_files() <= before[1]


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def used(workers, **more):
    env = PoolVectorEnv(talkers(3), **workers, **more)
    env.reset(seed=1)
    env.step(("a",) * 3)
    return env


@EACH_EXECUTOR
def test_close(workers):
    env = used(workers)
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
    env = used(workers)
    env.send(["a", "b"], [0, 1])
    env.close()


@pytest.mark.parametrize("command", ["wait", "loop"])
def test_close_beside_one_that_hangs(command, monkeypatch):
    monkeypatch.setattr("roll_vec.pool.env_handles.PATIENCE", 0.2)
    is_thread = command == "wait"
    env = used({"workers": 3, "executor": "thread" if is_thread else "process"})
    HANGING.clear()
    env.send([f"fault:{command}", "a", "b"], [0, 1, 2])
    if is_thread:
        HANGING.wait()
    env.close()
    assert env.abandoned_threads == is_thread


@FAULTS_ON_PURPOSE
@EACH_WORKER
def test_after_faults(workers):
    env = used(workers, step_timeout=0.4, reset_timeout=20)
    command = (
        "kill" if "executor" in workers and workers["executor"] != "thread" else ""
    )
    env.step((f"fault:{command or 'wait'}", "a", "b"))
    env.step(("a", "a", "b"))
    env.close()


@EACH_WORKER
def test_garbage_collection(workers):
    env = used(workers)
    alive = weakref.ref(env)
    del env
    gc.collect()
    assert alive() is None
    wait_until(lambda: not threads())
    assert not multiprocessing.active_children()


@EACH_WORKER
def test_garbage_collection_beside_one_that_hangs(workers):
    env = used(workers)
    command = "wait" if workers["executor"] == "thread" else "loop"
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


# ------------------------------------------------------- Ctrl-C, and the end

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
    """Run a program with a pool; return its process."""
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
    """Whether a process has ended, though its new parent may not have noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@EACH_EXECUTOR
def test_the_end_of_the_program(workers):
    program = run(workers, "env.step(('a',) * 3)")
    out, errors = program.communicate(timeout=60)
    assert (program.returncode, errors) == (0, "")
    assert all(is_gone(pid) for pid in out.split())


@EACH_WORKER
def test_the_end_of_the_program_beside_one_that_hangs(workers):
    command = "wait" if workers["executor"] == "thread" else "loop"
    program = run(workers, f"env.send(['fault:{command}'], [0])")
    out, errors = program.communicate(timeout=60)
    assert (program.returncode, errors) == (0, "")
    assert all(is_gone(pid) for pid in out.split())


@pytest.mark.parametrize(
    "context", ["fork", pytest.param("spawn", marks=SLOW), "forkserver"]
)
def test_workers_end_when_their_parent_is_killed(context):
    workers = {"workers": 3, "executor": "process", "context": context}
    program = run(workers, "env.send(['fault:loop', 'a'], [0, 1]); time.sleep(60)")
    pids = program.stdout.readline().split()
    assert len(pids) == 3
    program.kill()
    program.communicate()
    wait_until(lambda: all(is_gone(pid) for pid in pids))


@EACH_WORKER
def test_ctrl_c(workers):
    """The pool can be closed or reset after it, also beside one that hangs."""
    is_thread = workers["executor"] == "thread"
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
    # It is in the wait, or will be in a moment: then the signal strikes a bit earlier.
    time.sleep(0.2)
    os.killpg(program.pid, signal.SIGINT)
    rest = list(lines)
    assert rest == [
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
    """Wherever it strikes: here between the environments and the batch."""
    env = used(workers)

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
    env = used(workers)
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
    with os.fdopen(reader) as told:
        assert "fork" in told.read()
    assert os.waitpid(child, 0)[1] == 0
    env.step(("b",) * 3)
    env.close()


@pytest.mark.parametrize("is_late", [False, True])
def test_an_interrupt_between_a_queue_and_its_thread(is_late, monkeypatch):
    """Before or after a task is handed over, or a result: both sides still agree."""
    env = used({"workers": 2})
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
            # Of which the caller knows nothing.
            time.sleep(0.05)
        _, infos = env.reset(seed=5)
        assert infos["level"].tolist() == [5, 6, 7]
        assert env.step(("a",) * 3)[0] == ("1: a",) * 3


@EACH_EXECUTOR
def test_an_interrupt_of_a_recv_loses_no_result_in_silence(workers, monkeypatch):
    env = used(workers)
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
