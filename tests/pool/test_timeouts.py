"""Time limits: of threads and processes that hang, and of results that come late."""

import threading
import time

import pytest

from roll_vec.errors import EnvironmentFaultError
from roll_vec.pool import PoolVectorEnv, env_runner, pool_envs, processes
from roll_vec.seeding import episode_seed
from tests.contract.cases import DISABLED, NEXT_STEP, SAME_STEP
from tests.pool import cases
from tests.pool.envs import RELEASE, Talker, Unloadable, talkers

pytestmark = cases.FAULTS_ON_PURPOSE


@pytest.mark.parametrize(
    ("workers", "mode"), [(1, SAME_STEP), (4, DISABLED), (2, NEXT_STEP)]
)
def test_a_thread_that_hangs_is_abandoned(workers, mode):
    keywords = {"workers": workers, "step_timeout": cases.LIMIT, "autoreset_mode": mode}
    with cases.twins(talkers(4), **keywords) as (env, twin):
        errors = cases.play_with_faults(env, twin, "wait", fault_steps=(1,))
        assert errors == [f"timeout: step took longer than {cases.LIMIT} s"]
        assert env.fault_counts.sum() == 1
        RELEASE.set()
        # The late result of the thread goes nowhere.
        for batch in cases.draw_actions("text", 4, 3):
            if mode is not DISABLED:
                result, twin_result = env.step(batch), twin.step(batch)
                assert cases.values_of(result, [0, 2, 3]) == cases.values_of(
                    twin_result, [0, 2, 3]
                )


def test_a_reset_that_hangs_in_a_thread(monkeypatch):
    monkeypatch.setattr(pool_envs, "MAX_RETRIES", 1)
    with cases.pool(talkers(2), workers=2, reset_timeout=cases.LIMIT) as env:
        env.set_attr("fail_resets", ["hang", 0])
        _, infos = env.reset(seed=1)
        assert infos["error"][0] == f"timeout: reset took longer than {cases.LIMIT} s"
        assert env.fault_counts.tolist() == [2, 0]
        RELEASE.set()
        env.set_attr("fail_resets", 0)
        _, infos = env.reset()
        assert infos["level"].tolist() == [episode_seed(1, 2), episode_seed(2, 1)]


def test_a_process_that_hangs_before_it_is_ready(monkeypatch):
    monkeypatch.setattr(processes, "START_SECONDS", 0.0)
    keywords = {"executor": "process", "context": "spawn", "reset_timeout": cases.LIMIT}
    with pytest.raises(
        EnvironmentFaultError, match=r"its start \(.*\) took longer"
    ) as caught:
        PoolVectorEnv([Unloadable()] * 3, workers=1, **keywords)
    # One start fails for all, and is an attempt of each.
    errors = caught.value.errors
    assert len(errors) == 3
    assert len(set(errors.values())) == 1


def test_a_timeout_does_not_count_the_wait_for_the_worker():
    """All on one thread: each takes half of the limit, the last waits for the rest."""

    class Slow(Talker):
        def step(self, action):
            time.sleep(cases.LIMIT / 2)
            return super().step(action)

    with cases.pool([Slow] * 3, workers=1, step_timeout=cases.LIMIT) as env:
        env.reset(seed=0)
        env.step(("a",) * 3)
        assert env.fault_counts.tolist() == [0] * 3


def test_a_thread_belongs_to_an_environment_for_good():
    closed = []

    class Pinned(Talker):
        def __init__(self):
            super().__init__()
            self.home = threading.get_ident()

        def threads(self):
            return threading.get_ident(), self.home

        def close(self):
            closed.append(self.threads())

    with cases.pool([Pinned] * 5, workers=2) as env:
        env.reset(seed=0)
        pairs = env.call("threads")
        homes = [home for _, home in pairs]
        assert homes == [homes[0], homes[1], homes[0], homes[1], homes[0]]
        assert threading.get_ident() not in homes
    assert len(closed) == 5
    assert all(here == home for here, home in [*pairs, *closed])


def has_result(queue):
    """Return whether a worker has a result that nobody has looked at."""
    if hasattr(queue, "result_pipe"):
        return queue.result_pipe.poll(0)
    return queue.outbox.qsize() == 2


@cases.EACH_WORKER
def test_results_in_time_are_no_timeouts_however_late_the_caller_looks(
    workers, monkeypatch
):
    """And the processes are not killed."""
    with cases.pool(
        talkers(2), step_timeout=cases.LIMIT, reset_timeout=20, **workers
    ) as env:
        env.reset(seed=0)
        env.send(("a", "a"), [0, 1])
        env.engine.envs.workers.flush()
        workers_before = [
            getattr(queue, "process", queue) for queue in cases.queues_of(env)
        ]
        cases.wait_until(lambda: all(map(has_result, cases.queues_of(env))))
        later = time.monotonic() + 1000
        monkeypatch.setattr("roll_vec.pool.worker_queue.time.monotonic", lambda: later)
        env.recv(min_envs=None)
        assert env.fault_counts.tolist() == [0, 0]
        workers_after = [
            getattr(queue, "process", queue) for queue in cases.queues_of(env)
        ]
        assert workers_after == workers_before


def test_a_result_just_before_the_kill_is_not_lost(tmp_path):
    """Each environment waits in a step for a file that is named as its action."""

    class Waiter(Talker):
        def step(self, action):
            cases.wait_until((tmp_path / action).exists)
            return super().step(action)

    with cases.pool([Waiter] * 2, step_timeout=cases.LIMIT, **cases.ONE_PROCESS) as env:
        env.reset(seed=0)
        (queue,) = cases.queues_of(env)
        process = queue.process
        kill = process.kill

        def kill_after_the_first_result():
            (tmp_path / "first").touch()
            cases.wait_until(lambda: queue.result_pipe.poll(0))
            kill()
            (tmp_path / "second").touch()

        process.kill = kill_after_the_first_result
        observations, _, _, truncations, _ = env.step(("first", "second"))
        assert observations[0] == "1: first"
        assert truncations.tolist() == [False, True]
        assert env.fault_counts.tolist() == [0, 1]


def test_kernels_are_loaded_before_a_time_limit_runs(monkeypatch):
    """An environment of text needs that of seeds in its first autoreset."""
    calls = []
    monkeypatch.setattr(env_runner, "episode_seed", lambda *args: calls.append(args))
    env_runner.EnvRunner({0: talkers(1)[0]}).build(0)
    assert calls
