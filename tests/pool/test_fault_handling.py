"""Faults of steps and resets: the lost episode, the replacement, the error."""

import copy
import gc
import itertools
import warnings

import numpy as np
import pytest

from roll_vec.errors import (
    EnvironmentFaultError,
    EnvironmentFaultWarning,
    ResetNeededError,
)
from roll_vec.seeding import episode_seed
from tests.contract.cases import assert_same
from tests.pool.cases import (
    DISABLED,
    EACH_EXECUTOR,
    EXECUTORS,
    FAULTS_ON_PURPOSE,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    draw_actions,
    info_of,
    pool,
    reset_ended,
    values_of,
    with_fault,
)
from tests.pool.envs import EXCEPTIONS, Picky, Talker, drifters, talkers

pytestmark = FAULTS_ON_PURPOSE


def error_of(infos, env_id):
    """Return the error of an environment, which has no other info."""
    info = info_of(infos, env_id)
    assert info.keys() <= {"error", "final_info", "final_obs"}
    return info["error"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("workers", "command"),
    [
        *(({}, command) for command in EXCEPTIONS),
        *((kind, command) for kind in EXECUTORS[1:] for command in ("exit", "reward")),
    ],
)
def test_a_fault_ends_one_episode(command, mode, workers):
    with (
        pool(talkers(4), autoreset_mode=mode, **workers) as env,
        pool(talkers(4), autoreset_mode=mode) as twin,
    ):
        before, _ = env.reset(seed=20)
        twin.reset(seed=20)
        num_resets = env.get_attr("resets")
        num_faults = 0
        levels = []
        for step, batch in enumerate(draw_actions("text", 4, 12)):
            is_fault = step in (0, 5)
            result = env.step(with_fault(batch, 1, command) if is_fault else batch)
            twin_result = twin.step(batch)
            assert values_of(result, [0, 2, 3]) == values_of(twin_result, [0, 2, 3])
            if (is_fault and mode is not NEXT_STEP) or step == 0:
                num_faults += 1
                observations, rewards, terminations, truncations, infos = result
                assert (rewards[1], terminations[1], truncations[1]) == (0, False, True)
                if mode is SAME_STEP:
                    assert infos["final_obs"][1] == before[1]
                    error = infos["final_info"]["error"][1]
                else:
                    assert observations[1] == before[1]
                    error = error_of(infos, 1)
                assert error.startswith(EXCEPTIONS[command])
            reset_ended(twin, twin_result)
            result = reset_ended(env, result) or result
            before, infos = result[0], result[-1]
            if "level" in infos and infos["_level"][1]:
                levels.append(infos["level"][1])
        assert env.fault_counts.tolist() == [0, env.faults["exception"], 0, 0]
        assert env.faults["exception"] >= num_faults >= 1
        assert levels == [episode_seed(21, k + 1) for k in range(len(levels))]
        assert levels
        assert num_resets[1] == 1


@EACH_EXECUTOR
def test_a_new_environment_object_has_the_attributes(workers):
    with pool(talkers(2), **workers) as env:
        env.reset(seed=0)
        env.set_attr("length", [1, 2])
        env.set_attr("motto", ["x", "y"])
        env.reset()
        assert env.get_attr("resets") == (2, 2)
        env.step(("fault:raise",) * 2)
        env.step(("go",) * 2)
        assert env.get_attr("resets") == (1, 1)
        assert env.get_attr("length") == (1, 2)
        assert env.get_attr("motto") == ("x", "y")
        env.reset()
        assert env.get_attr("resets") == (2, 2)


@EACH_EXECUTOR
@pytest.mark.parametrize("kind", ["box", "dict", "tuple"])
def test_the_last_valid_observation_is_a_copy(kind, workers):
    """The environment writes into its array before it fails."""
    with pool(drifters(kind, 3, reuses=True), **workers) as env:
        env.reset(seed=5)
        actions = draw_actions(kind, 3, 2)
        before = env.step(actions[0])
        if kind == "dict":
            actions[1]["by"][1] = 9.0
        else:
            actions[1][1] = 1.0
        result = env.step(actions[1])
        assert result[3][1]
        assert values_of(result, [1])[0][0] == values_of(before, [1])[0][0]
        assert env.fault_counts[1] == 1


@EACH_EXECUTOR
def test_a_new_foreign_environment_gets_the_seed_of_its_episode(workers):
    with pool(drifters("box", 2), **workers) as env:
        env.reset(seed=30)
        action = np.zeros((2, 3), np.float32)
        action[1] = 1.0
        env.step(action)
        observations = env.step(np.zeros((2, 3), np.float32))[0]
        other = drifters("box", 1)[0]()
        observation, _ = other.reset(seed=episode_seed(31, 1))
        assert_same(observations[1], observation)
        env.step(action)
        observations, _ = env.reset(seed=2**40)
        observation, _ = other.reset(seed=2**40 + 1)
        assert_same(observations[1], observation)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("which", "workers"),
    [*itertools.product(["first", "last"], EXECUTORS[:2]), ("last", EXECUTORS[2])],
)
def test_an_observation_that_does_not_fit(which, mode, workers):
    fns = drifters("dict", 3)
    with pool(fns, autoreset_mode=mode, **workers) as env, pool(fns) as twin:
        before = env.reset(seed=2)
        twin.reset(seed=2)
        bad = {"first": _bad_first, "last": _bad_last}[which]
        env.set_attr("_observe", [_proper, bad, _proper])
        twin.set_attr("_observe", _proper)
        batch = draw_actions("dict", 3, 1)[0]
        result = env.step(batch)
        twin_values, _ = values_of(twin.step(batch), [0, 2])
        assert values_of(result, [0, 2])[0][1:] == twin_values[1:]
        assert result[3].tolist() == [False, True, False]
        assert env.fault_counts[1] >= 1
        if mode is not SAME_STEP:
            assert values_of(result, [1])[0][0] == values_of(before, [1])[0][0]


def _proper():
    return {"at": np.zeros(3, np.float32), "seen": 1, "said": ""}


def _bad_first():
    return {"at": np.zeros(4, np.float32), "seen": 1, "said": ""}


def _bad_last():
    return {"at": np.ones(3, np.float32), "seen": [1, 2], "said": ""}


# ---------------------------------------------------------------- resets


@EACH_EXECUTOR
def test_a_failing_reset_is_tried_with_the_next_seeds(workers):
    def picky():
        return Picky({episode_seed(8, 0), episode_seed(8, 1), episode_seed(8, 2)})

    with pool([picky] * 2, **workers) as env:
        _, infos = env.reset(seed=[8, 9])
        assert infos["level"].tolist() == [episode_seed(8, 3), 9]
        assert "error" not in infos
        assert env.fault_counts.tolist() == [3, 0]
        assert env.faults == {
            "exception": 3,
            "timeout": 0,
            "worker_death": 0,
            "reset": 0,
        }


@EACH_EXECUTOR
@pytest.mark.parametrize("mode", MODES)
def test_an_environment_that_cannot_be_reset_is_stalled(mode, workers):
    """One step, truncated, and the reset after that tries the next seeds."""
    never = {episode_seed(8, k) for k in range(8)}
    fns = [lambda: Picky(never), *talkers(1)]
    with pool(fns, autoreset_mode=mode, **workers) as env:
        observations, infos = env.reset(seed=[8, 9])
        assert observations[0] == ""
        error = f"exception in reset: RuntimeError: never {episode_seed(8, 3)}"
        assert infos["error"].tolist() == [error, None]
        assert infos["_level"].tolist() == [False, True]
        assert env.fault_counts.tolist() == [4, 0]
        assert env.faults["reset"] == 1
        result = env.step(("a", "b"))
        assert result[3].tolist() == [True, False]
        assert result[1][0] == 0
        infos = result[4] if mode is not SAME_STEP else result[4]["final_info"]
        assert infos["error"][0] == error
        second = f"exception in reset: RuntimeError: never {episode_seed(8, 7)}"
        if mode is DISABLED:
            _, infos = env.reset(options={"reset_mask": np.array([True, False])})
        elif mode is NEXT_STEP:
            result = env.step(("a", "b"))
            assert not result[3][0]
            infos = result[4]
        else:
            infos = result[4]
        assert infos["error"][0] == second
        assert env.faults["reset"] == 2
        if mode is DISABLED:
            env.step(("a", "b"))
            _, infos = env.reset(options={"reset_mask": np.array([True, False])})
        else:
            infos = env.step(("a", "b"))[4]
            if mode is NEXT_STEP:
                infos = env.step(("a", "b"))[4]
        assert infos["level"][0] == episode_seed(8, 8)


@EACH_EXECUTOR
def test_if_no_environment_can_be_reset_it_raises(workers):
    with pool([lambda: Picky(None)] * 3, **workers) as env:
        with pytest.raises(EnvironmentFaultError, match="RuntimeError: never") as error:
            env.reset(seed=1)
        assert error.value.errors.keys() == {0, 1, 2}
        env.set_attr("never", set())
        _, infos = env.reset(seed=1)
        assert infos["level"].tolist() == [1, 2, 3]


@EACH_EXECUTOR
@pytest.mark.parametrize("mode", MODES)
def test_later_failures_of_all_raise_too(mode, workers):
    with pool([lambda: Picky(set())] * 2, autoreset_mode=mode, **workers) as env:
        env.reset(seed=1)
        env.set_attr("never", None)
        with pytest.raises(EnvironmentFaultError):  # noqa: PT012
            for _ in range(40):
                result = env.step(("fault:raise",) * 2)
                if mode is DISABLED:
                    env.reset(options={"reset_mask": result[3]})


# ------------------------------------------------------------- raise mode


@EACH_EXECUTOR
def test_raising_a_fault_of_a_reset(workers):
    with pool(talkers(2), on_error="raise", **workers) as env:
        env.set_attr("fail_resets", [True, 0])
        with pytest.raises(EnvironmentFaultError, match="reset of 1"):
            env.reset(seed=1)
        assert env.fault_counts.tolist() == [1, 0]
        with pytest.raises(ResetNeededError):
            env.step(("a", "b"))


def test_a_constructor_that_fails_raises_as_it_is():
    def broken():
        message = "no such thing"
        raise OSError(message)

    for workers in EXECUTORS:
        with pytest.raises(OSError, match="no such thing"):
            pool([*talkers(2), broken], **workers)


# ---------------------------------------------------- warnings and tracebacks


def fault_warnings(call):
    """Return the texts of the warnings of faults that a call gives."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        call()
    faults = [one for one in records if one.category is EnvironmentFaultWarning]
    assert all(one.filename == __file__ for one in faults)
    return [str(one.message) for one in faults]


@EACH_EXECUTOR
def test_the_first_fault_warns_with_its_traceback(workers):
    with pool(talkers(2), **workers) as env:
        assert not fault_warnings(lambda: env.reset(seed=1))
        (text,) = fault_warnings(lambda: env.step(("a", "fault:raise")))
        assert text.startswith(
            "environment 1 failed: exception in step: ValueError: as told\n"
        )
        assert "\n\nTraceback (most recent call last):\n" in text
        assert "tests/pool/envs.py" in text
        assert "roll_vec/pool/" not in text
        other = copy.deepcopy(env)
        for one in (env, other):
            one.reset()
            assert not fault_warnings(lambda one=one: one.step(("fault:raise", "a")))
        other.close()


@EACH_EXECUTOR
def test_faults_of_resets_and_of_recv_warn_as_well(workers):
    with pool(talkers(2), **workers) as env:
        env.set_attr("fail_resets", ["short", 0])
        (text,) = fault_warnings(lambda: env.reset(seed=1))
        assert "reset returned 'no info', expected 2 values: observation, info" in text
        assert "a reset without an info returns (observation, {})" in text
        assert env.fault_counts.tolist() == [4, 0]
    with pool(talkers(2), **workers) as env:
        env.reset(seed=1)
        env.send(("fault:four", "a"), [0, 1])
        (text,) = fault_warnings(lambda: env.recv(2))
        assert "returned 4 values, expected 5" in text


@EACH_EXECUTOR
def test_an_error_has_the_traceback_itself(workers):
    """For an exception in a worker process it is a text."""
    with pool(talkers(2), on_error="raise", **workers) as env:
        env.reset(seed=1)
        with pytest.raises(EnvironmentFaultError) as error:
            assert not fault_warnings(lambda: env.step(("a", "fault:raise")))
        assert "envs.py" in _traceback_of(error.value)
    with pool(talkers(2), **workers) as env:
        env.set_attr("fail_resets", True)
        with pytest.raises(EnvironmentFaultError) as error:
            assert not fault_warnings(lambda: env.reset(seed=1))
        assert "envs.py" in _traceback_of(error.value)
        env.set_attr("fail_resets", False)
        assert not fault_warnings(lambda: env.reset(seed=1))


def _traceback_of(error):
    """Return the file that raised, or the text of the traceback."""
    cause = error.__cause__
    if cause.__traceback__ is None:
        return str(cause)
    last = cause.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_code.co_filename


@EACH_EXECUTOR
@pytest.mark.parametrize("observation", [(1, 2), "ab", {"a": 1, "b": 2}, (1, 2, 3)])
def test_a_reset_without_an_info_gets_a_hint(observation, workers):
    class Bare(Talker):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return observation

    with (
        pool([Bare], **workers) as env,
        pytest.raises(EnvironmentFaultError, match=r"\(observation, \{\}\)"),
    ):
        env.reset(seed=1)


class Traced(Talker):
    """Is told from the environments of other tests."""


def test_a_fault_keeps_no_environment_alive():
    """Neither the counts nor the warning hold the frames of the exception."""
    with pool([Traced]) as env:
        env.reset(seed=1)
        env.step(("fault:raise",))
        env.step(("go",))
        gc.collect()
        assert [one for one in gc.get_objects() if type(one) is Traced] == env.envs
