"""Worker processes that hang or die: which episodes are lost, and how they go on."""

import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from contextlib import ExitStack, closing

import numpy as np
import pytest

from roll_vec.errors import ResetNeededError
from roll_vec.pool import processes
from roll_vec.seeding import episode_seed
from tests.contract.cases import DISABLED, MODES, NEXT_STEP, SAME_STEP, assert_same
from tests.pool import cases
from tests.pool.envs import Talker, drifters, talkers
from tests.pool.snapshot_envs import Stateful
from tests.thinning import one_in

pytestmark = cases.FAULTS_ON_PURPOSE


MESSAGES = {
    "os._exit": "worker death: its process ended with exit code 3 during step",
    "kill": "worker death: its process ended with exit code -9 during step",
    "loop": f"timeout: step took longer than {cases.LIMIT} s",
}
LOST = "worker death: its process ended in a task of another environment ({})"


@one_in(3, "command, mode", [*MESSAGES], MODES)
def test_a_process_that_dies_or_hangs_is_replaced(command, mode):
    hangs = command == "loop"
    keywords = {"workers": 4, "executor": "process", "autoreset_mode": mode}
    keywords |= {"step_timeout": cases.LIMIT, "reset_timeout": 20} if hangs else {}
    with cases.twins(talkers(4), **keywords) as (env, twin):
        errors = cases.play_with_faults(env, twin, command, (1,) if hangs else (1, 6))
        assert set(errors) == {MESSAGES[command]}
        assert env.fault_counts.sum() == len(errors)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_a_worker_killed_before_a_reset_loses_no_seeds_of_others(mode):
    with cases.pool(talkers(3), autoreset_mode=mode, **cases.ONE_PROCESS) as env:
        env.reset(seed=1)
        cases.kill_workers(env)
        _, infos = env.reset(seed=5)
        # The first attempt of the first one was the culprit's.
        assert infos["level"].tolist() == [episode_seed(5, 1), 6, 7]
        cases.kill_workers(env)
        _, infos = env.reset()
        levels = [episode_seed(5, 3), episode_seed(6, 1), episode_seed(7, 1)]
        assert infos["level"].tolist() == levels


def test_an_environment_that_dies_in_its_resets_is_stalled():
    with (
        cases.pool(talkers(2), **cases.ONE_PROCESS) as env,
        cases.pool(talkers(2)) as twin,
    ):
        twin.reset(seed=3)
        env.set_attr("fail_resets", ["die", 0])
        _, infos = env.reset(seed=3)
        assert "exit code 5 during reset" in infos["error"][0]
        assert env.fault_counts.tolist() == [4, 0]
        env.set_attr("fail_resets", 0)
        for batch in cases.draw_actions("text", 2, 5):
            result, twin_result = env.step(batch), twin.step(batch)
            assert cases.values_of(result, [1]) == cases.values_of(twin_result, [1])


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
    with cases.pool([lambda: Forking(file)], **cases.ONE_PROCESS) as env:
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

    with cases.pool(talkers(2), **cases.PROCESSES) as env:
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
    """Finished steps of the worker's others are returned; these end in the next one."""
    with cases.twins(talkers(4), **cases.ONE_PROCESS) as (env, twin):
        result = env.step(("a", "b", "c", "fault:kill"))
        twin_result = twin.step(("a", "b", "c", "d"))
        assert cases.values_of(result, [0, 1, 2]) == cases.values_of(
            twin_result, [0, 1, 2]
        )
        assert env.get_attr("resets") == (None,) * 4
        assert env.render() == (None,) * 4
        observations, rewards, _, truncations, infos = env.step(("e",) * 4)
        assert observations[:3] == result[0][:3]
        assert rewards.tolist() == [0.0] * 4
        assert truncations.tolist() == [True, True, True, False]
        assert set(infos["error"][:3]) == {LOST.format(MESSAGES["kill"])}
        assert infos["level"].tolist() == [0, 0, 0, episode_seed(4, 1)]
        assert env.fault_counts.sum() == 4
        levels = [episode_seed(seed, 1) for seed in (1, 2, 3)]
        assert env.step(("f",) * 4)[4]["level"].tolist()[:3] == levels


def test_what_cannot_be_pickled_is_a_fault_of_one():
    class Opaque(Talker):
        def step(self, action):
            return *super().step(action)[:4], {"lock": threading.Lock()}

    with cases.pool([Opaque, Talker], **cases.ONE_PROCESS) as env:
        env.reset(seed=2)
        *_, truncations, infos = env.step(("a", "b"))
        assert truncations.tolist() == [True, False]
        assert "cannot be pickled" in infos["error"][0]
        with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
            env.call("add", lambda: 1)


def test_another_start_method():
    with cases.twins(talkers(3), context="spawn", **cases.ONE_PROCESS) as (env, twin):
        assert_same(env.step(("a", "", "b")), twin.step(("a", "", "b")))
        assert type(cases.queues_of(env)[0].process).__name__ == "SpawnProcess"


def first_action(batch):
    if isinstance(batch, dict):
        return {name: part[:1] for name, part in batch.items()}
    return batch[:1]


def let_steps_fail(twin, env_ids):
    """Let environments of a pool without workers raise in their next step."""
    for env_id in env_ids:
        twin.envs[env_id].unwrapped.step = lambda _: 1 / 0


def without_messages(result):
    *arrays, infos = result
    for one in (infos, infos.get("final_info", {})):
        if "error" in one:
            one["error"] = one["_error"]
    return *arrays, infos


KINDS_OF_OTHERS = {
    "text": ("text", talkers(3)),
    "box": ("box", drifters("box", 3)),
    "dict": ("dict", drifters("dict", 3)),
    "own states": ("text", [Stateful] * 3),
}


@one_in(3, "mode, name, copies", MODES, [*KINDS_OF_OTHERS], ["none", "state", "pickle"])
def test_the_others_of_a_dead_worker_play_as_after_another_fault(mode, name, copies):
    """They fail in the step of the death, or in their next one, and go on."""
    kind, fns = KINDS_OF_OTHERS[name]
    attribute = "motto" if kind == "text" else "scale"
    num_deaths = {"all step": 0, "one steps": 0}
    with ExitStack() as stack:
        env, twin = stack.enter_context(cases.twins(fns, 9, mode, **cases.ONE_PROCESS))
        for one in (env, twin):
            one.set_attr(attribute, 2.0)
        has_ended = np.zeros(3, bool)
        for step, batch in enumerate(cases.draw_actions(kind, 3, 19)):
            if step % 5 == 4 and not has_ended.any():
                cases.kill_workers(env)
                let_steps_fail(twin, range(3))
                num_deaths["all step"] += 1
            elif step % 5 == 2 and not has_ended.any():
                # The others have nothing to do when the worker dies.
                cases.kill_workers(env)
                let_steps_fail(twin, range(3))
                results = []
                for one in (env, twin):
                    one.send(first_action(batch), [0])
                    results.append(without_messages(one.recv()))
                    if mode is DISABLED:
                        one.reset(options={"reset_mask": np.arange(3) == 0})
                assert_same(*results)
                num_deaths["one steps"] += 1
                if copies == "state":
                    env.set_state(env.get_state())
                elif copies == "pickle" and name != "own states":
                    env = stack.enter_context(closing(pickle.loads(pickle.dumps(env))))
            result, twin_result = env.step(batch), twin.step(batch)
            assert_same(without_messages(result), without_messages(twin_result))
            has_ended = result[2] | result[3]
            if mode is DISABLED and has_ended.any():
                assert_same(
                    cases.reset_ended(env, result), cases.reset_ended(twin, twin_result)
                )
            if mode is not NEXT_STEP:
                has_ended[:] = False
        assert all(num_deaths.values())
        assert env.get_attr(attribute) == (2.0,) * 3
        if copies != "state":
            assert env.fault_counts.tolist() == twin.fault_counts.tolist()


def test_attributes_of_an_environment_without_an_object():
    """They are set on the next one."""
    with cases.pool(talkers(2), **cases.ONE_PROCESS) as env:
        env.reset(seed=1)
        env.step(("a", "fault:kill"))
        env.set_attr("length", 9)
        assert env.get_attr("length") == (None, None)
        env.reset()
        assert env.get_attr("length") == (9, 9)
