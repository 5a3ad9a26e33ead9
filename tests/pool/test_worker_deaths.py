"""Worker processes that hang or die: which episodes are lost, which are restored.

The journals, from which environments are restored, stay small.
"""

import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from contextlib import closing

import gymnasium
import numpy as np
import pytest

from roll_vec.errors import ResetNeededError
from roll_vec.pool import journal, processes
from roll_vec.pool.observations import same_data
from roll_vec.pool.snapshots import EnvSnapshot
from roll_vec.seeding import episode_seed
from tests.contract.cases import (
    DISABLED,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    play,
)
from tests.pool.cases import (
    FAULTS_ON_PURPOSE,
    LIMIT,
    ONE_PROCESS,
    PROCESSES,
    draw_actions,
    kill_workers,
    play_with_faults,
    pool,
    queues_of,
    reset_ended,
    twins,
    values_of,
)
from tests.pool.envs import Drifter, Talker, drifters, talkers
from tests.pool.snapshot_envs import Forgetful, HalfStateful, Locked, Stateful
from tests.thinning import one_in

pytestmark = FAULTS_ON_PURPOSE


MESSAGES = {
    "os._exit": "worker death: its process ended with exit code 3 during step",
    "kill": "worker death: its process ended with exit code -9 during step",
    "loop": f"timeout: step took longer than {LIMIT} s",
}


@one_in(3, "command, workers, mode", [*MESSAGES], [1, 4], MODES)
def test_a_process_that_dies_or_hangs_is_replaced(command, workers, mode):
    hangs = command == "loop"
    keywords = {"workers": workers, "executor": "process", "autoreset_mode": mode}
    keywords |= {"step_timeout": LIMIT, "reset_timeout": 20} if hangs else {}
    with twins(talkers(4), **keywords) as (env, twin):
        errors = play_with_faults(env, twin, command, (1,) if hangs else (1, 6))
        assert set(errors) == {MESSAGES[command]}
        expected = dict.fromkeys(("exception", "timeout", "worker_death", "reset"), 0)
        kind = "timeout" if hangs else "worker_death"
        assert env.faults == {**expected, kind: len(errors)}


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_a_worker_killed_before_a_reset_loses_no_seeds_of_others(mode):
    with pool(talkers(3), autoreset_mode=mode, **ONE_PROCESS) as env:
        env.reset(seed=1)
        kill_workers(env)
        _, infos = env.reset(seed=5)
        # The first attempt of the first one was the culprit's.
        assert infos["level"].tolist() == [episode_seed(5, 1), 6, 7]
        kill_workers(env)
        _, infos = env.reset()
        levels = [episode_seed(5, 3), episode_seed(6, 1), episode_seed(7, 1)]
        assert infos["level"].tolist() == levels


def test_an_environment_that_dies_in_its_resets_is_stalled():
    with pool(talkers(2), **ONE_PROCESS) as env, pool(talkers(2)) as twin:
        twin.reset(seed=3)
        env.set_attr("fail_resets", ["die", 0])
        _, infos = env.reset(seed=3)
        assert "exit code 5 during reset" in infos["error"][0]
        assert (env.faults["worker_death"], env.faults["reset"]) == (4, 1)
        env.set_attr("fail_resets", 0)
        for batch in draw_actions("text", 2, 5):
            result, twin_result = env.step(batch), twin.step(batch)
            assert values_of(result, [1]) == values_of(twin_result, [1])


class Forking(Talker):
    """Leaves a process that holds its pipes, and ends its own."""

    def __init__(self, file):
        super().__init__()
        self.file = file

    def step(self, action):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pid = os.fork()
        if pid == 0:
            signal.pause()
        self.file.write_text(str(pid))
        os._exit(1)


def test_a_death_is_noticed_though_the_pipe_stays_open(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "ALIVE_CHECK_INTERVAL", 0.05)
    file = tmp_path / "pid"
    with pool([lambda: Forking(file)], **ONE_PROCESS) as env:
        env.reset(seed=0)
        env.send(["a"], [0])
        try:
            for _ in range(500):
                *_, truncations, _ = env.recv(1, 0.01)
                if len(truncations):
                    break
        finally:
            os.kill(int(file.read_text()), signal.SIGKILL)
    assert truncations.tolist() == [True]


def test_a_worker_that_cannot_be_started(monkeypatch):
    """The pool can be closed, or reset once it works again."""

    def refuse(*_):
        raise BlockingIOError

    with pool(talkers(2), **PROCESSES) as env:
        env.reset(seed=1)
        with monkeypatch.context() as patch:
            patch.setattr(multiprocessing.process.BaseProcess, "start", refuse)
            with pytest.raises(BlockingIOError):
                env.step(("fault:kill", "a"))
        with pytest.raises(ResetNeededError):
            env.step(("a", "a"))
        _, infos = env.reset()
        assert infos["level"].tolist() == [episode_seed(1, 1), episode_seed(2, 1)]


def test_results_before_a_death_are_not_lost():
    """Finished steps of the worker's others are returned, and not done twice."""
    with twins(talkers(4), **ONE_PROCESS) as (env, twin):
        result = env.step(("a", "b", "c", "fault:kill"))
        twin_result = twin.step(("a", "b", "c", "d"))
        assert values_of(result, [0, 1, 2]) == values_of(twin_result, [0, 1, 2])
        assert env.get_attr("resets") == (1, 1, 1, None)
        assert env.render()[3] is None


def test_unpicklable_results_are_faults_of_one():
    class Opaque(Talker):
        def step(self, action):
            return *super().step(action)[:4], {"lock": threading.Lock()}

    with pool([Opaque, Talker], **ONE_PROCESS) as env:
        env.reset(seed=2)
        *_, truncations, infos = env.step(("a", "b"))
        assert truncations.tolist() == [True, False]
        assert "cannot be pickled" in infos["error"][0]


def test_another_start_method():
    with twins(talkers(3), context="spawn", **ONE_PROCESS) as (env, twin):
        assert_same(env.step(("a", "", "b")), twin.step(("a", "", "b")))
        assert type(queues_of(env)[0].process).__name__ == "SpawnProcess"


# ------------------------------------------------------------------- restored


class Liar(Drifter):
    """Loses its clock where it is pickled."""

    def __init__(self):
        super().__init__("discrete")

    def __getstate__(self):
        return {**self.__dict__, "clock": 50}


class Deadly(Liar):
    """Kills the process that pickles it."""

    def __getstate__(self):
        os._exit(7)


class Huge(Drifter):
    """Is too large for a snapshot."""

    def __init__(self):
        super().__init__("discrete")
        self.ballast = bytes(100_000)


def let_snapshots_be_due_after(monkeypatch, num_bytes):
    """Let a log have so many bytes of calls before a snapshot takes their place."""
    monkeypatch.setattr(journal, "MIN_BYTES", num_bytes)
    monkeypatch.setattr(journal, "MAX_BYTES", num_bytes)


@pytest.fixture
def _frequent_snapshots(monkeypatch):
    let_snapshots_be_due_after(monkeypatch, 400)


def journals_of(env):
    """Return the journals of a pool."""
    return env.engine.members.workers._recovery.journals


def has_snapshot(env, env_id):
    return isinstance(journals_of(env)[env_id].base, EnvSnapshot)


def kill(env, batch):
    """Kill the workers in a task, or snapshot, of the first environment."""
    kill_workers(env)
    is_dict = isinstance(batch, dict)
    env.send({k: v[:1] for k, v in batch.items()} if is_dict else batch[:1], [0])
    env.recv()
    if env.metadata["autoreset_mode"] is DISABLED:
        env.reset(options={"reset_mask": np.arange(env.num_envs) == 0})


def in_wrapper():
    return gymnasium.wrappers.TimeLimit(Drifter("box"), 5)


RESTORED = {
    "box": ("box", drifters("box", 3)),
    "dict": ("dict", drifters("dict", 3)),
    "in wrapper": ("box", [in_wrapper] * 3),
    "resuming": ("text", talkers(3)),
    "own states": ("text", [Stateful] * 3),
}


@one_in(3, "num_bytes, mode, name", [400, 1 << 20], MODES, [*RESTORED])
def test_environments_of_a_dead_worker_are_restored(num_bytes, mode, name, monkeypatch):
    """By a snapshot, or by all actions since a seeded reset, through later episodes."""
    let_snapshots_be_due_after(monkeypatch, num_bytes)
    kind, fns = RESTORED[name]
    attribute = "motto" if kind == "text" else "scale"
    with twins(fns, 9, mode, **ONE_PROCESS) as (env, twin):
        for one in (env, twin):
            one.set_attr(attribute, 2.0)
            if kind == "text":
                one.set_attr("length", 60)
                one.reset(seed=9)
        num_snapshots = 0
        for step, batch in enumerate(draw_actions(kind, 3, 40)):
            if step in (11, 12, 30):
                kill(env, batch)
            result, twin_result = env.step(batch), twin.step(batch)
            assert values_of(result, [1, 2]) == values_of(twin_result, [1, 2])
            reset_ended(env, result)
            reset_ended(twin, twin_result)
            for one in journals_of(env):
                assert sum(map(len, one.calls)) <= num_bytes + 4000
            num_snapshots += has_snapshot(env, 2)
        assert bool(num_snapshots) == (num_bytes == 400)
        assert env.fault_counts[1:].tolist() == [0, 0]
        assert env.get_attr(attribute) == (2.0, 2.0, 2.0)


@pytest.mark.usefixtures("_frequent_snapshots")
def test_many_calls_without_a_step_are_bounded_too():
    with pool(drifters("discrete", 2), **ONE_PROCESS) as env:
        env.reset(seed=1)
        for number in range(30):
            env.set_attr("scale", float(number))
            env.reset()
        assert all(len(one.calls) < 20 for one in journals_of(env))
        kill(env, np.zeros(2, int))
        assert env.fault_counts[1] == 0
        assert env.get_attr("scale")[1] == 29.0


def test_the_limit_of_a_pool_is_shared():
    limits = [journal.calls_limit(number) for number in (1, 64, 256, 10**6)]
    assert limits == [1 << 20, 1 << 20, 1 << 18, 1 << 16]


@pytest.mark.usefixtures("_frequent_snapshots")
@pytest.mark.parametrize(
    ("build", "why"),
    [
        (Locked, "there is no snapshot: exception in snapshot: Unsupp"),
        (Forgetful, "TypeError: Forgetful is pickled without its state"),
        (Huge, "ValueError: it takes 1"),
        (Deadly, "exit code 7 during snapshot"),
        (Liar, "the same actions led to another observation"),
    ],
)
def test_without_a_snapshot_the_episode_is_lost_with_the_worker(build, why):
    """The next one begins, and a seeded reset begins a new log."""
    still = np.zeros(2, int)
    with pool([build] * 2, **ONE_PROCESS) as env:
        env.reset(seed=1)
        steps = 0
        while not has_snapshot(env, 1) and not journals_of(env)[1].obstacle:
            assert steps < 200
            env.step(still)
            steps += 1
        for is_lost in (True, False):
            counts = env.fault_counts
            kill(env, still)
            *_, infos = env.step(still)
            assert (env.fault_counts - counts).tolist() == [1, is_lost]
            if is_lost:
                error = infos["error"][1]
                assert error.startswith("worker death: could not be restored (")
                assert why in error
                assert "error" not in env.step(still)[4]
            env.reset(seed=1)


@pytest.mark.parametrize(
    ("kind", "build"),
    [
        ("text", Stateful),
        ("discrete", HalfStateful),
        ("box", drifters("box", 1, reuses=True)[0]),
    ],
)
def test_a_worker_that_dies_after_set_state_is_restored(kind, build):
    """The log of each environment begins at the snapshot."""
    actions = draw_actions(kind, 3, 12)
    with pool([build] * 3) as env, pool([build] * 3, **ONE_PROCESS) as other:
        env.reset(seed=11)
        play(env, actions[:4])
        other.reset(seed=99)
        play(other, actions[4:9])
        other.set_state(env.get_state())
        for t in range(3):
            kill_workers(other)
            # The one whose task was running is lost.
            other.send([actions[t][t]], [t])
            other.recv()
            others = [i for i in range(3) if i != t]
            other.send([actions[t][i] for i in others], others)
            result, expected = other.recv(None), env.step(actions[t])
            assert values_of(result, [0, 1])[0] == values_of(expected, others)[0]
            other.set_state(env.get_state())
        assert other.fault_counts.tolist() == [1, 1, 1]


def test_workers_of_a_copy_restore_its_environments():
    """They begin with the objects and the attributes that the copy got."""
    actions = draw_actions("box", 3, 4)
    with pool(drifters("box", 3), **ONE_PROCESS) as env:
        env.reset(seed=1)
        env.set_attr("scale", [2.0, 3.0, 4.0])
        play(env, actions[:3])
        with closing(pickle.loads(pickle.dumps(env))) as other:
            kill_workers(other)
            result, expected = other.step(actions[3]), env.step(actions[3])
            assert values_of(result, [1, 2]) == values_of(expected, [1, 2])
            assert other.get_attr("scale")[1:] == (3.0, 4.0)
            assert other.fault_counts.tolist() == [1, 0, 0]


def arrange(number):
    """Return an observation with a number in all kinds of places."""
    boxed = np.empty(1, object)
    boxed[0] = [number]
    return {"part": (number, complex(0, number)), "boxed": boxed, "list": [number]}


def test_numbers_of_observations_are_compared_by_their_bits():
    assert same_data(arrange(float("nan")), arrange(float("nan")))
    assert not same_data(arrange(float("nan")), arrange(-float("nan")))
    assert not same_data(arrange(0.0), arrange(-0.0))


class Clocked(Talker):
    """Comes to another observation each time, as one with a clock of its own."""

    def step(self, action):
        return os.urandom(8).hex(), *super().step(action)[1:]


def test_an_environment_that_repeats_otherwise_is_not_restored():
    with pool([Talker, Clocked, Talker], **ONE_PROCESS) as env:
        env.reset(seed=1)
        env.step(("a", "b", "c"))
        *_, truncations, infos = env.step(("fault:os._exit", "b", "c"))
        assert truncations.tolist() == [True, True, False]
        assert infos["error"][1] == (
            "worker death: could not be restored (exception in restore: RuntimeError: "
            "the same actions led to another observation)"
        )
        *_, infos = env.step(("a", "b", "c"))
        assert infos["level"].tolist()[:2] == [episode_seed(1, 1), episode_seed(2, 1)]


def test_an_environment_that_hangs_while_it_is_restored(tmp_path):
    """It is stopped as well, and the third one is restored after all."""
    mark = tmp_path / "mark"

    class Slow(Talker):
        def step(self, action):
            if mark.exists():
                threading.Event().wait()
            return super().step(action)

    keywords = {"step_timeout": LIMIT, "reset_timeout": LIMIT, **ONE_PROCESS}
    with twins([Talker, Slow, Talker], **keywords) as (env, twin):
        for one in (env, twin):
            one.step(("a", "b", "c"))
        twin_result = twin.step(("a", "b", "c"))
        mark.touch()
        result = env.step(("fault:os._exit", "b", "c"))
        assert result[3].tolist() == [True, True, False]
        assert "could not be restored (timeout" in result[4]["error"][1]
        assert values_of(result, [2]) == values_of(twin_result, [2])


def test_an_environment_that_was_lost_is_restored_after_its_reset():
    """And its next fault is its own."""
    with twins(talkers(2), 2, **ONE_PROCESS) as (env, twin):
        for one, fault in ((env, "fault:kill"), (twin, "fault:raise")):
            one.step((fault, "b"))
            one.step(("c", "d"))
        result, twin_result = env.step(("e", "fault:kill")), twin.step(("e", "f"))
        assert values_of(result, [0]) == values_of(twin_result, [0])
        *_, infos = env.step(("fault:raise", "g"))
        assert infos["error"][0] == "exception in step: ValueError: as told"
