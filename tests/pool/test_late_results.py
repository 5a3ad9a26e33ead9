"""Results of worker processes that come at the last moment, or are looked at late."""

import time
from pathlib import Path

from tests.pool.cases import pool
from tests.pool.envs import talkers
from tests.pool.test_leftovers import wait_until

LIMIT = 0.4


def waiters(folder, num_envs):
    """Return environments that wait in a step for a file named as their action."""

    def waiter():
        env = talkers(1)[0]()
        step = env.step

        def wait_and_step(action):
            while not (folder / action).exists():
                time.sleep(0.001)
            return step(action)

        env.step = wait_and_step
        return env

    return [waiter] * num_envs


def test_results_in_time_are_no_timeouts_and_cost_no_process(monkeypatch):
    with pool(talkers(2), workers=2, executor="process", step_timeout=LIMIT) as env:
        env.reset(seed=0)
        env.send(("a", "a"), [0, 1])
        env.engine.handles.workers.flush()
        queues = env.engine.handles.workers._queues
        pids = [queue.process.pid for queue in queues]
        wait_until(lambda: all(queue.result_pipe.poll(0) for queue in queues))
        later = time.monotonic() + 1000
        monkeypatch.setattr("roll_vec.pool.worker_queue.time.monotonic", lambda: later)
        env.recv(min_envs=None)
        assert env.fault_counts.tolist() == [0, 0]
        assert [queue.process.pid for queue in queues] == pids


def test_who_answers_just_before_the_kill_leaves_no_blame_to_the_next(tmp_path):
    folder = Path(tmp_path)
    options = {"workers": 1, "executor": "process", "step_timeout": LIMIT}
    with pool(waiters(folder, 2), **options) as env:
        env.reset(seed=0)
        (queue,) = env.engine.handles.workers._queues
        process = queue.process
        kill = process.kill

        def kill_after_the_first_result():
            (folder / "first").touch()
            wait_until(lambda: queue.result_pipe.poll(0))
            kill()
            (folder / "second").touch()

        process.kill = kill_after_the_first_result
        observations, *_ = env.step(("first", "second"))
        assert observations == ("1: first", "1: second")
        assert env.fault_counts.tolist() == [0, 0]
