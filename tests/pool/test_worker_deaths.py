"""Worker processes that hang or die: which episodes are lost, which are restored."""

import multiprocessing
import os
import signal
import threading
import warnings

import gymnasium
import numpy as np
import pytest

from roll_vec.errors import ResetNeededError
from roll_vec.pool import processes
from roll_vec.pool.observations import same_data
from roll_vec.seeding import episode_seed
from tests.contract.cases import assert_same
from tests.pool.cases import (
    FAULTS_ON_PURPOSE,
    LIMIT,
    MODES,
    NEXT_STEP,
    ONE_PROCESS,
    PROCESSES,
    SAME_STEP,
    draw_actions,
    kill_workers,
    play_with_faults,
    pool,
    reset_ended,
    values_of,
)
from tests.pool.envs import drifters, talkers
from tests.thinning import one_in

pytestmark = FAULTS_ON_PURPOSE


MESSAGES = {
    "os._exit": "worker death: its process ended with exit code 3 during step",
    "kill": "worker death: its process ended with exit code -9 during step",
    "loop": f"timeout: step took longer than {LIMIT} s",
}


def check_replacement(workers, command, mode, kind, fault_steps, **limits):
    """Check what a pool says of an environment whose process ends or is stopped."""
    keywords = {"workers": workers, "executor": "process", "autoreset_mode": mode}
    with (
        pool(talkers(4), **keywords, **limits) as env,
        pool(talkers(4), autoreset_mode=mode) as twin,
    ):
        errors = play_with_faults(env, twin, command, fault_steps)
        assert len(errors) in (1, 2)
        assert set(errors) == {MESSAGES[command]}
        expected = dict.fromkeys(("exception", "timeout", "worker_death", "reset"), 0)
        assert env.faults == {**expected, kind: len(errors)}


@one_in(3, "command, workers, mode", ["os._exit", "kill"], [1, 4], MODES)
def test_a_process_that_died_is_replaced(command, workers, mode):
    check_replacement(workers, command, mode, "worker_death", (1, 6))


@pytest.mark.parametrize(
    ("workers", "mode"),
    [(2, SAME_STEP), pytest.param(1, NEXT_STEP, marks=pytest.mark.slow)],
)
def test_a_process_that_hangs_is_stopped_and_replaced(workers, mode):
    limits = {"step_timeout": LIMIT, "reset_timeout": 20}
    check_replacement(workers, "loop", mode, "timeout", (1,), **limits)


@one_in(2, "mode, kind", MODES, ["box", "dict"])
def test_foreign_environments_of_a_dead_worker_are_restored(kind, mode):
    """By all actions since their last seeded reset, through later episodes."""
    fns = drifters(kind, 3)
    with (
        pool(fns, autoreset_mode=mode, **ONE_PROCESS) as env,
        pool(fns, autoreset_mode=mode) as twin,
    ):
        for one in (env, twin):
            one.reset(seed=9)
            one.set_attr("scale", 2.0)
        for step, batch in enumerate(draw_actions(kind, 3, 30)):
            if step in (14, 20):
                kill_workers(env)
            result, twin_result = env.step(batch), twin.step(batch)
            assert values_of(result, [1, 2]) == values_of(twin_result, [1, 2])
            reset_ended(env, result)
            reset_ended(twin, twin_result)
        assert env.fault_counts.tolist() == [2, 0, 0]
        assert env.get_attr("scale") == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("mode", MODES)
def test_workers_that_are_killed_while_idle(mode):
    """The first environment that is stepped then loses its episode."""
    fns = talkers(4)
    with (
        pool(fns, autoreset_mode=mode, **PROCESSES) as env,
        pool(fns, autoreset_mode=mode) as twin,
    ):
        env.reset(seed=1)
        twin.reset(seed=1)
        env.step(("a",) * 4)
        twin.step(("a",) * 4)
        kill_workers(env)
        result, twin_result = env.step(("b",) * 4), twin.step(("b",) * 4)
        assert values_of(result, [2, 3]) == values_of(twin_result, [2, 3])
        assert env.fault_counts.tolist() == [1, 1, 0, 0]
        infos = result[4].get("final_info", result[4])
        assert "exit code -9" in infos["error"][0]


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
        result = env.reset(seed=3)
        assert "exit code 5 during reset" in result[1]["error"][0]
        assert env.faults["worker_death"] == 4
        assert env.faults["reset"] == 1
        env.set_attr("fail_resets", 0)
        for batch in draw_actions("text", 2, 5):
            result, twin_result = env.step(batch), twin.step(batch)
            assert values_of(result, [1]) == values_of(twin_result, [1])


class Forking(gymnasium.Wrapper):
    """Leaves a process that holds its pipes, and ends its own."""

    def __init__(self, env, file):
        super().__init__(env)
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
    make_env = talkers(1)[0]
    with pool([lambda: Forking(make_env(), file)], **ONE_PROCESS) as env:
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


def arrange(number):
    """Return an observation with a number in all kinds of places."""
    boxed = np.empty(1, object)
    boxed[0] = [number]
    return {"part": (number, complex(0, number)), "boxed": boxed, "list": [number]}


def test_numbers_of_observations_are_compared_by_their_bits():
    assert same_data(arrange(float("nan")), arrange(float("nan")))
    assert not same_data(arrange(float("nan")), arrange(-float("nan")))
    assert not same_data(arrange(0.0), arrange(-0.0))


class Blind(gymnasium.Env):
    """Observes nothing; the action 1 ends its process."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.turn = 0
        return float("nan"), {}

    def step(self, action):
        if action == 1:
            os._exit(1)
        self.turn += 1
        return float("nan"), self.turn, False, False, {}


def test_an_environment_that_observes_nan_is_restored():
    with pool([Blind] * 2, **ONE_PROCESS) as env:
        env.reset(seed=0)
        env.step([0, 0])
        _, rewards, _, truncations, _ = env.step([1, 0])
        assert truncations.tolist() == [True, False]
        assert rewards.tolist() == [0, 2]


def test_an_environment_that_repeats_otherwise_is_not_restored():
    """An environment with a clock of its own comes to another observation."""

    def clocked():
        env = talkers(1)[0]()
        step = env.step
        env.step = lambda action: (os.urandom(8).hex(), *step(action)[1:])
        return env

    with pool([*talkers(1), clocked, *talkers(1)], **ONE_PROCESS) as env:
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

    def slow_again():
        env = talkers(1)[0]()
        step = env.step

        def stepping(action):
            if mark.exists():
                threading.Event().wait()
            return step(action)

        env.step = stepping
        return env

    keywords = {"step_timeout": LIMIT, "reset_timeout": LIMIT, **ONE_PROCESS}
    fns = [*talkers(1), slow_again, *talkers(1)]
    with pool(fns, **keywords) as env, pool(talkers(3)) as twin:
        env.reset(seed=1)
        twin.reset(seed=1)
        env.step(("a", "b", "c"))
        twin.step(("a", "b", "c"))
        mark.touch()
        result = env.step(("fault:os._exit", "b", "c"))
        assert result[3].tolist() == [True, True, False]
        assert "could not be restored (timeout" in result[4]["error"][1]
        assert values_of(result, [2]) == values_of(twin.step(("a", "b", "c")), [2])


def test_a_worker_that_cannot_be_started(monkeypatch):
    """The pool can be closed, or reset once it works again."""
    with pool(talkers(2), **PROCESSES) as env:
        env.reset(seed=1)
        with monkeypatch.context() as patch:

            def refuse(*_):
                raise BlockingIOError

            patch.setattr(multiprocessing.process.BaseProcess, "start", refuse)
            with pytest.raises(BlockingIOError):
                env.step(("fault:kill", "a"))
        with pytest.raises(ResetNeededError):
            env.step(("a", "a"))
        _, infos = env.reset()
        assert infos["level"].tolist() == [episode_seed(1, 1), episode_seed(2, 1)]


def test_results_before_a_death_are_not_lost():
    """Finished steps of the worker's others are returned, and not done twice."""
    fns = talkers(4)
    with pool(fns, **ONE_PROCESS) as env, pool(fns) as twin:
        env.reset(seed=2)
        twin.reset(seed=2)
        result = env.step(("a", "b", "c", "fault:kill"))
        twin_result = twin.step(("a", "b", "c", "d"))
        assert values_of(result, [0, 1, 2]) == values_of(twin_result, [0, 1, 2])
        assert env.get_attr("resets")[:3] == (1, 1, 1)
        assert env.get_attr("resets")[3] is None
        assert env.render()[3] is None


def test_an_environment_that_was_lost_is_restored_after_its_reset():
    """And its next fault is its own."""
    with pool(talkers(2), **ONE_PROCESS) as env, pool(talkers(2)) as twin:
        for one, fault in ((env, "fault:kill"), (twin, "fault:raise")):
            one.reset(seed=2)
            one.step((fault, "b"))
            one.step(("c", "d"))
        result, twin_result = env.step(("e", "fault:kill")), twin.step(("e", "f"))
        assert values_of(result, [0]) == values_of(twin_result, [0])
        *_, infos = env.step(("fault:raise", "g"))
        assert infos["error"][0] == "exception in step: ValueError: as told"


def test_unpicklable_results_are_faults_of_one():
    def opaque():
        env = talkers(1)[0]()
        step = env.step
        env.step = lambda action: (*step(action)[:4], {"lock": threading.Lock()})
        return env

    with pool([opaque, *talkers(1)], **ONE_PROCESS) as env:
        env.reset(seed=2)
        *_, truncations, infos = env.step(("a", "b"))
        assert truncations.tolist() == [True, False]
        assert "cannot be pickled" in infos["error"][0]


@pytest.mark.parametrize(
    "context", ["spawn", pytest.param("forkserver", marks=pytest.mark.slow)]
)
def test_start_methods(context):
    with (
        pool(talkers(3), context=context, **ONE_PROCESS) as env,
        pool(talkers(3)) as twin,
    ):
        assert_same(env.reset(seed=1), twin.reset(seed=1))
        result = env.step(("a", "fault:kill", "b"))
        twin_result = twin.step(("a", "", "b"))
        assert values_of(result, [0, 2]) == values_of(twin_result, [0, 2])
        assert env.faults["worker_death"] == 1
