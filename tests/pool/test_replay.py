"""Replay logs: they restore the environments of a dead worker, and stay small."""

import os

import gymnasium
import numpy as np
import pytest

from roll_vec.pool import replay
from tests.pool.cases import (
    COPIES,
    FAULTS_ON_PURPOSE,
    ONE_PROCESS,
    draw_actions,
    kill_workers,
    play,
    pool,
    values_of,
)
from tests.pool.envs import Drifter, drifters, talkers
from tests.pool.snapshot_envs import Forgetful, Locked, Stateful

pytestmark = FAULTS_ON_PURPOSE


class Liar(Drifter):
    """Loses its clock where it is pickled."""

    def __init__(self):
        super().__init__("discrete")

    def __getstate__(self):
        return {**self.__dict__, "clock": 50}


class Deadly(Drifter):
    """Kills the process that pickles it."""

    def __init__(self):
        super().__init__("discrete")

    def __getstate__(self):
        os._exit(7)


class Huge(Drifter):
    """Is too large for a snapshot."""

    def __init__(self):
        super().__init__("discrete")
        self.ballast = bytes(100_000)


@pytest.fixture
def limit(monkeypatch):
    """Let snapshots be due every few steps."""
    monkeypatch.setattr(replay, "MIN_BYTES", 400)
    monkeypatch.setattr(replay, "MAX_BYTES", 400)
    return 400


def logs_of(env):
    """Return the replay logs of a pool."""
    return env.engine.handles.workers._recovery.logs


def kill(env, batch):
    """Kill the workers in a task, or snapshot, of the first environment."""
    kill_workers(env)
    if isinstance(batch, dict):
        first = {key: part[:1] for key, part in batch.items()}
    else:
        first = batch[:1]
    env.send(first, [0])
    env.recv()


def in_wrapper():
    return gymnasium.wrappers.TimeLimit(Drifter("box"), 5)


@pytest.mark.parametrize(
    ("kind", "fns"),
    [
        ("box", drifters("box", 3)),
        ("dict", drifters("dict", 3)),
        ("box", [in_wrapper] * 3),
        ("text", talkers(3)),
        ("text", [Stateful] * 3),
    ],
    ids=["box", "dict", "in wrapper", "resuming", "own states"],
)
def test_the_log_is_bounded_and_restores(kind, fns, limit):
    with pool(fns, **ONE_PROCESS) as env, pool(fns) as twin:
        for one in (env, twin):
            one.reset(seed=9)
            one.set_attr("scale" if kind != "text" else "motto", 2.0)
            if kind == "text":
                one.set_attr("length", 60)
                one.reset(seed=9)
        snapshots = 0
        for step, batch in enumerate(draw_actions(kind, 3, 40)):
            if step in (11, 12, 13, 30):
                kill(env, batch)
            result, twin_result = env.step(batch), twin.step(batch)
            assert values_of(result, [1, 2]) == values_of(twin_result, [1, 2])
            for log in logs_of(env):
                assert sum(map(len, log._calls)) <= limit + 4000
            snapshots += logs_of(env)[2]._snapshot is not None
        assert snapshots
        assert env.fault_counts[1:].tolist() == [0, 0]
        name = "motto" if kind == "text" else "scale"
        assert env.get_attr(name) == (2.0, 2.0, 2.0)


def test_many_calls_without_a_step_are_bounded_too(limit):
    with pool(drifters("discrete", 2), **ONE_PROCESS) as env:
        env.reset(seed=1)
        for number in range(30):
            env.set_attr("scale", float(number))
            env.reset()
        assert all(len(log._calls) < 20 for log in logs_of(env))
        kill(env, np.zeros(2, int))
        assert env.fault_counts[1] == 0
        assert env.get_attr("scale")[1] == 29.0


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (Locked, "there is no snapshot: exception in snapshot: TypeError: cannot pick"),
        (Forgetful, "TypeError: Forgetful is pickled without its state"),
        (Huge, "ValueError: it takes 1"),
        (Deadly, "exit code 7 during snapshot"),
        (Liar, "the same actions led to another observation"),
    ],
)
def test_without_a_snapshot_the_episode_is_lost_with_the_worker(build, why, limit):
    """The next one begins, and a seeded reset begins a new log."""
    with pool([build] * 2, **ONE_PROCESS) as env:
        env.reset(seed=1)
        steps = 0
        while logs_of(env)[1]._snapshot is None and not logs_of(env)[1].obstacle:
            assert steps < 200
            env.step(np.zeros(2, int))
            steps += 1
        counts = env.fault_counts
        kill(env, np.zeros(2, int))
        *_, infos = env.step(np.zeros(2, int))
        assert (env.fault_counts - counts).tolist() == [1, 1]
        assert infos["error"][1].startswith("worker death: could not be restored (")
        assert why in infos["error"][1]
        assert "error" not in env.step(np.zeros(2, int))[4]
        env.reset(seed=1)
        counts = env.fault_counts
        kill(env, np.zeros(2, int))
        env.step(np.zeros(2, int))
        assert (env.fault_counts - counts).tolist() == [1, 0]


@pytest.mark.parametrize("how", COPIES)
def test_workers_of_a_copy_know_the_attributes(how):
    """Also the attributes that were set before the copy was made."""
    with pool(drifters("box", 3), **ONE_PROCESS) as env:
        env.reset(seed=1)
        env.set_attr("scale", [2.0, 3.0, 4.0])
        other = COPIES[how](env)
        other.reset(seed=5)
        actions = draw_actions("box", 3, 3)
        play(other, actions[:2])
        kill(other, actions[2])
        assert other.get_attr("scale")[1:] == (3.0, 4.0)
        assert other.fault_counts.tolist() == [1, 0, 0]
        other.close()


def test_the_limit_of_a_pool_is_shared():
    assert replay.calls_limit(1) == replay.calls_limit(64) == 1 << 20
    assert replay.calls_limit(256) == 1 << 18
    assert replay.calls_limit(10**6) == 1 << 16
