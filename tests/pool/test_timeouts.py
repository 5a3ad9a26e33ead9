"""Environments that hang in threads: what is lost, what is not."""

import threading
import time

import pytest

from roll_vec.seeding import episode_seed
from tests.pool.cases import (
    DISABLED,
    FAULTS_ON_PURPOSE,
    LIMIT,
    NEXT_STEP,
    OTHERS,
    SAME_STEP,
    draw_actions,
    fail_at,
    pool,
    rows_of,
)
from tests.pool.envs import RELEASE, talkers

pytestmark = FAULTS_ON_PURPOSE


@pytest.mark.parametrize(
    ("workers", "mode"), [(1, NEXT_STEP), (2, SAME_STEP), (1, SAME_STEP), (4, DISABLED)]
)
def test_a_thread_that_hangs_is_abandoned(workers, mode):
    keywords = {"workers": workers, "step_timeout": LIMIT, "autoreset_mode": mode}
    with (
        pool(talkers(4), **keywords) as env,
        pool(talkers(4), autoreset_mode=mode) as twin,
    ):
        errors = fail_at(env, twin, "wait", mode, steps=(1,))
        assert errors == [f"timeout: step took longer than {LIMIT} s"]
        assert env.abandoned_threads == 1
        assert env.faults["timeout"] == 1
        RELEASE.set()
        # What the thread brings late goes nowhere.
        for batch in draw_actions("text", 4, 3):
            if mode is not DISABLED:
                assert rows_of(env.step(batch), OTHERS) == rows_of(
                    twin.step(batch), OTHERS
                )


def test_a_timeout_does_not_count_the_wait_for_the_worker():
    """All on one thread: each takes half of the limit, the last waits for the rest."""

    def slow():
        env = talkers(1)[0]()
        step = env.step
        env.step = lambda action: (threading.Event().wait(LIMIT / 2), step(action))[1]
        return env

    with pool([slow] * 4, workers=1, step_timeout=LIMIT) as env:
        env.reset(seed=0)
        env.step(("a",) * 4)
        assert env.fault_counts.tolist() == [0] * 4


def test_results_that_came_in_time_are_no_timeouts_however_late_they_are_looked_at(
    monkeypatch,
):
    with pool(talkers(4), workers=2, step_timeout=LIMIT, reset_timeout=20) as env:
        env.reset(seed=0)
        env.send(("a",) * 4, range(4))
        queues = env.engine.handles.workers._queues
        while sum(queue.num_posted - queue.num_received for queue in queues) < 4:
            threading.Event().wait(0.001)
        later = time.monotonic() + 1000
        monkeypatch.setattr("roll_vec.pool.worker_queue.time.monotonic", lambda: later)
        env.recv(min_envs=None)
        assert env.fault_counts.tolist() == [0] * 4


def test_a_thread_belongs_to_an_environment_for_good():
    def pinned():
        env = talkers(1)[0]()
        env.home = threading.get_ident()
        env.add = lambda number: (threading.get_ident(), env.home)
        close = env.close
        env.close = lambda: (closed.append((threading.get_ident(), env.home)), close())
        return env

    closed = []
    with pool([pinned] * 5, workers=2) as env:
        env.reset(seed=0)
        seen = env.call("add", 0)
        assert all(here == home for here, home in seen)
        homes = [home for _, home in seen]
        assert homes == [homes[0], homes[1], homes[0], homes[1], homes[0]]
        assert threading.get_ident() not in homes
    assert len(closed) == 5
    assert all(here == home for here, home in closed)


def test_a_reset_that_hangs_in_a_thread():
    keywords = {"workers": 2, "reset_timeout": LIMIT}
    with pool(talkers(2), **keywords) as env:
        env.set_attr("fail_resets", ["hang", 0])
        _, infos = env.reset(seed=1)
        assert infos["error"][0] == f"timeout: reset took longer than {LIMIT} s"
        assert env.abandoned_threads == 4
        assert env.faults["reset"] == 1
        RELEASE.set()
        env.set_attr("fail_resets", 0)
        _, infos = env.reset()
        assert infos["level"].tolist() == [episode_seed(1, 4), episode_seed(2, 1)]
