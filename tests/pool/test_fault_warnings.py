"""The warning of a pool's first fault, and the tracebacks of errors."""

import copy
import gc
import warnings

import gymnasium
import pytest

from roll_vec.errors import EnvironmentFaultError, EnvironmentFaultWarning
from tests.pool.cases import (
    EACH_EXECUTOR,
    FAULTS_ON_PURPOSE,
    pool,
)
from tests.pool.envs import Talker, talkers


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
    with pool(talkers(2), **workers) as env:
        env.reset(seed=1)
        env.send(("fault:four", "a"), [0, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(EnvironmentFaultWarning, match="returned 4 values, exp"):
                env.recv(2)
        # A warning that raises has lost nothing.
        assert env.recv(2)[4]["env_id"].tolist() == [0, 1]


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


@FAULTS_ON_PURPOSE
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


@FAULTS_ON_PURPOSE
def test_a_fault_keeps_no_environment_alive():
    """Neither the counts nor the warning hold the frames of the exception."""
    with pool(talkers(1)) as env:
        env.reset(seed=1)
        env.step(("fault:raise",))
        env.step(("go",))
        gc.collect()
        objects = [one for one in gc.get_objects() if type(one) is Talker]
        assert objects == env.envs
        assert isinstance(objects[0], gymnasium.Env)
