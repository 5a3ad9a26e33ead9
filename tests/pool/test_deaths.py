"""Processes that hang or die: what is lost, what is not."""

import itertools
import multiprocessing
import os
import threading

import pytest

from roll_vec.errors import ResetNeededError
from roll_vec.seeding import episode_seed
from tests.contract.cases import assert_same
from tests.pool.cases import (
    DISABLED,
    FAULTS_ON_PURPOSE,
    LIMIT,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    draw_actions,
    fail_at,
    kill_workers,
    pool,
    rows_of,
)
from tests.pool.envs import drifters, talkers

pytestmark = FAULTS_ON_PURPOSE


@pytest.mark.parametrize(
    ("workers", "command", "mode"),
    [
        (1, "loop", NEXT_STEP),
        (2, "loop", SAME_STEP),
        *itertools.product([1, 4], ["os._exit", "kill"], MODES),
    ],
)
def test_a_process_is_stopped_and_replaced(workers, command, mode):
    keywords = {"workers": workers, "executor": "process", "autoreset_mode": mode}
    if command == "loop":
        keywords |= {"step_timeout": LIMIT, "reset_timeout": 20}
    with (
        pool(talkers(4), **keywords) as env,
        pool(talkers(4), autoreset_mode=mode) as twin,
    ):
        steps = (1,) if command == "loop" else (1, 6)
        errors = fail_at(env, twin, command, mode, steps)
        assert len(errors) in (1, 2)
        expected = {
            "loop": f"timeout: step took longer than {LIMIT} s",
            "os._exit": "worker death: its process ended with exit code 3 during step",
            "kill": "worker death: its process ended with exit code -9 during step",
        }[command]
        assert set(errors) == {expected}
        kind = "timeout" if command == "loop" else "worker_death"
        assert env.faults == {
            "exception": 0,
            "timeout": 0,
            "worker_death": 0,
            "reset": 0,
            kind: len(errors),
        }


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["box", "dict"])
def test_foreign_environments_of_a_dead_worker_are_restored(kind, mode):
    """By all actions since their last seeded reset, through later episodes."""
    keywords = {"workers": 1, "executor": "process", "autoreset_mode": mode}

    fns = drifters(kind, 3)
    with pool(fns, **keywords) as env, pool(fns, autoreset_mode=mode) as twin:
        for one in (env, twin):
            one.reset(seed=9)
            one.set_attr("scale", 2.0)
        actions = draw_actions(kind, 3, 30)
        for step, batch in enumerate(actions):
            if step in (14, 20):
                kill_workers(env)
            result, expected = env.step(batch), twin.step(batch)
            assert rows_of(result, [1, 2]) == rows_of(expected, [1, 2])
            if mode is DISABLED:
                masks = [result[2] | result[3], expected[2] | expected[3]]
                for one, mask in zip((env, twin), masks, strict=True):
                    if mask.any():
                        one.reset(options={"reset_mask": mask})
        assert env.fault_counts.tolist() == [2, 0, 0]
        assert env.get_attr("scale") == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("mode", MODES)
def test_workers_that_are_killed_while_idle(mode):
    """The first environment that is stepped then loses its episode."""
    keywords = {"workers": 2, "executor": "process", "autoreset_mode": mode}
    fns = talkers(4)
    with pool(fns, **keywords) as env, pool(fns, autoreset_mode=mode) as twin:
        env.reset(seed=1)
        twin.reset(seed=1)
        env.step(("a",) * 4)
        twin.step(("a",) * 4)
        kill_workers(env)
        result, expected = env.step(("b",) * 4), twin.step(("b",) * 4)
        assert rows_of(result, [2, 3]) == rows_of(expected, [2, 3])
        assert env.fault_counts.tolist() == [1, 1, 0, 0]
        told = result[4].get("final_info", result[4])
        assert "exit code -9" in told["error"][0]


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_a_worker_killed_before_a_reset_loses_no_seeds_of_others(mode):
    keywords = {"workers": 1, "executor": "process", "autoreset_mode": mode}
    with pool(talkers(3), **keywords) as env:
        env.reset(seed=1)
        kill_workers(env)
        _, infos = env.reset(seed=5)
        # The first attempt of the first one was the culprit's.
        assert infos["level"].tolist() == [episode_seed(5, 1), 6, 7]
        kill_workers(env)
        _, infos = env.reset()
        expected = [episode_seed(5, 3), episode_seed(6, 1), episode_seed(7, 1)]
        assert infos["level"].tolist() == expected


def test_an_instance_that_dies_in_its_resets_stands_still():
    keywords = {"workers": 1, "executor": "process"}
    with pool(talkers(2), **keywords) as env, pool(talkers(2)) as twin:
        twin.reset(seed=3)
        env.set_attr("fail_resets", ["die", 0])
        result = env.reset(seed=3)
        assert "exit code 5 during reset" in result[1]["error"][0]
        assert env.faults["worker_death"] == 4
        assert env.faults["reset"] == 1
        env.set_attr("fail_resets", 0)
        for batch in draw_actions("text", 2, 5):
            got = rows_of(env.step(batch), [1])
            assert got == rows_of(twin.step(batch), [1])


def test_what_repeats_otherwise_is_not_taken_for_restored():
    """An environment with a clock of its own comes to another observation."""

    def clocked():
        env = talkers(1)[0]()
        step = env.step
        env.step = lambda action: (os.urandom(8).hex(), *step(action)[1:])
        return env

    keywords = {"workers": 1, "executor": "process"}
    with pool([*talkers(1), clocked, *talkers(1)], **keywords) as env:
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

    keywords = {
        "workers": 1,
        "executor": "process",
        "step_timeout": LIMIT,
        "reset_timeout": LIMIT,
    }
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
        assert rows_of(result, [2]) == rows_of(twin.step(("a", "b", "c")), [2])


def test_a_worker_that_cannot_be_started(monkeypatch):
    """The pool can be closed, or reset once it works again."""
    keywords = {"workers": 2, "executor": "process"}
    with pool(talkers(2), **keywords) as env:
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
    """What others of the worker had finished is returned, and not done twice."""
    fns = talkers(4)
    keywords = {"workers": 1, "executor": "process"}
    with pool(fns, **keywords) as env, pool(fns) as twin:
        env.reset(seed=2)
        twin.reset(seed=2)
        result = env.step(("a", "b", "c", "fault:kill"))
        expected = twin.step(("a", "b", "c", "d"))
        assert rows_of(result, [0, 1, 2]) == rows_of(expected, [0, 1, 2])
        assert env.get_attr("resets")[:3] == (1, 1, 1)
        assert env.get_attr("resets")[3] is None
        assert env.render()[3] is None


def test_unpicklable_results_are_faults_of_one():
    def opaque():
        env = talkers(1)[0]()
        step = env.step
        env.step = lambda action: (*step(action)[:4], {"lock": threading.Lock()})
        return env

    keywords = {"workers": 1, "executor": "process"}
    with pool([opaque, *talkers(1)], **keywords) as env:
        env.reset(seed=2)
        *_, truncations, infos = env.step(("a", "b"))
        assert truncations.tolist() == [True, False]
        assert "cannot be pickled" in infos["error"][0]


@pytest.mark.parametrize(
    "context", ["fork", "spawn", pytest.param("forkserver", marks=pytest.mark.slow)]
)
def test_start_methods(context):
    keywords = {"workers": 2, "executor": "process", "context": context}
    with pool(talkers(3), **keywords) as env, pool(talkers(3)) as twin:
        assert_same(env.reset(seed=1), twin.reset(seed=1))
        result, expected = env.step(("a", "fault:kill", "b")), twin.step(("a", "", "b"))
        assert rows_of(result, [0, 2]) == rows_of(expected, [0, 2])
        assert env.faults["worker_death"] == 1
