"""Faults of steps and resets: the lost episode, the replacement, the error.

Stalled environments cannot be built or reset; the others go on.
"""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest

from roll_vec.errors import EnvironmentFaultError, EnvironmentFaultWarning
from roll_vec.pool import PoolVectorEnv
from roll_vec.seeding import episode_seed
from tests.contract.cases import DISABLED, MODES, NEXT_STEP, SAME_STEP, assert_same
from tests.pool import cases
from tests.pool.envs import EXCEPTIONS, Picky, Talker, drifters, talkers
from tests.thinning import one_in

pytestmark = cases.FAULTS_ON_PURPOSE


@one_in(3, "workers, mode, command", cases.NAMED_EXECUTORS, MODES, [*EXCEPTIONS])
def test_a_fault_ends_one_episode(command, mode, workers):
    with cases.twins(talkers(4), 1, mode, **workers) as (env, twin):
        errors = cases.play_with_faults(env, twin, command, (0, 5))
        assert errors
        assert all(error.startswith(EXCEPTIONS[command]) for error in errors)
        assert env.fault_counts.tolist() == [0, len(errors), 0, 0]


@one_in(
    3,
    "workers, by_recv, kind",
    cases.NAMED_EXECUTORS,
    [False, True],
    ["box", "dict", "tuple"],
)
def test_the_last_valid_observation_is_a_copy(kind, by_recv, workers):
    """The environment writes into its array before it fails."""
    with cases.pool(drifters(kind, 3, reuses=True), **workers) as env:
        env.reset(seed=5)
        first, second = cases.draw_actions(kind, 3, 2)
        if by_recv:
            env.send(first, [0, 1, 2])
        before = env.recv(3) if by_recv else env.step(first)
        if kind == "dict":
            second["by"][1] = 9.0
        else:
            second[1] = 1.0
        result = env.step(second)
        assert result[3][1]
        assert cases.values_of(result, [1])[0][0] == cases.values_of(before, [1])[0][0]
        assert env.fault_counts[1] == 1


@cases.EACH_EXECUTOR
def test_a_new_foreign_environment_gets_the_seed_of_its_episode(workers):
    with cases.pool(drifters("box", 2), **workers) as env:
        env.reset(seed=30)
        action = np.zeros((2, 3), np.float32)
        action[1] = 1.0
        env.step(action)
        observations = env.step(np.zeros((2, 3), np.float32))[0]
        other = drifters("box", 1)[0]()
        assert_same(observations[1], other.reset(seed=episode_seed(31, 1))[0])
        env.step(action)
        observations, _ = env.reset(seed=2**40)
        assert_same(observations[1], other.reset(seed=2**40 + 1)[0])


@one_in(3, "workers, mode, bad", cases.NAMED_EXECUTORS, MODES, ["at", "seen"])
def test_an_observation_that_does_not_fit(bad, mode, workers):
    """In its first part, or after others have been written."""
    fns = drifters("dict", 3)
    with (
        cases.pool(fns, autoreset_mode=mode, **workers) as env,
        cases.pool(fns) as twin,
    ):
        before = env.reset(seed=2)
        twin.reset(seed=2)
        observe = {"at": _observe_large, "seen": _observe_many}[bad]
        env.set_attr("_observe", [_observe, observe, _observe])
        twin.set_attr("_observe", _observe)
        batch = cases.draw_actions("dict", 3, 1)[0]
        result = env.step(batch)
        twin_values, _ = cases.values_of(twin.step(batch), [0, 2])
        assert cases.values_of(result, [0, 2])[0][1:] == twin_values[1:]
        assert result[3].tolist() == [False, True, False]
        assert env.fault_counts[1] >= 1
        if mode is not SAME_STEP:
            assert (
                cases.values_of(result, [1])[0][0] == cases.values_of(before, [1])[0][0]
            )


def _observe():
    return {"at": np.zeros(3, np.float32), "seen": 1, "said": ""}


def _observe_large():
    return {"at": np.zeros(4, np.float32), "seen": 1, "said": ""}


def _observe_many():
    return {"at": np.ones(3, np.float32), "seen": [1, 2], "said": ""}


@one_in(3, "workers, mode", cases.NAMED_EXECUTORS, MODES)
def test_an_environment_that_cannot_be_reset_is_stalled(mode, workers):
    """One step, truncated, and the reset after that tries the next seeds."""
    never = {episode_seed(8, k) for k in range(8)}
    fns = [lambda: Picky(never), *talkers(1)]
    with cases.pool(fns, autoreset_mode=mode, **workers) as env:
        observations, infos = env.reset(seed=[8, 9])
        assert observations[0] == ""
        assert infos["_error"].tolist() == [True, False]
        assert env.fault_counts.tolist() == [4, 0]
        for number in (1, 2):
            last = episode_seed(8, 4 * number - 1)
            error = f"exception in reset: RuntimeError: never {last}"
            info = cases.info_of(infos, 0)
            assert info["error"] == error
            assert "level" not in info
            result = env.step(("a", "b"))
            assert result[3].tolist() == [True, False]
            assert result[1][0] == 0
            infos = result[4]
            assert infos.get("final_info", infos)["error"][0] == error
            if mode is DISABLED:
                _, infos = cases.reset_ended(env, result)
            elif mode is NEXT_STEP:
                *_, truncations, infos = env.step(("a", "b"))
                assert not truncations[0]
        assert infos["level"][0] == episode_seed(8, 8)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_step_raises_if_no_environment_can_be_reset(mode, monkeypatch):
    def refuse(*_, **__):
        message = "no reset"
        raise ValueError(message)

    def play(env):
        # Until both have ended.
        for _ in range(9):
            env.step(("a", "b"))

    with cases.pool([lambda: Talker(1)] * 2, autoreset_mode=mode) as env:
        env.reset(seed=1)
        with monkeypatch.context() as patch:
            patch.setattr(Talker, "reset", refuse)
            with pytest.raises(EnvironmentFaultError, match="no reset") as error:
                play(env)
        assert sorted(error.value.errors) == [0, 1]
        env.reset(seed=1)


@cases.EACH_EXECUTOR
def test_if_no_environment_can_be_reset_it_raises(workers):
    """In later steps as well: `test_a_step_raises_if_no_environment_can_be_reset`."""
    with cases.pool([lambda: Picky(None)] * 3, **workers) as env:
        with pytest.raises(EnvironmentFaultError, match="RuntimeError: never") as error:
            env.reset(seed=1)
        assert error.value.errors.keys() == {0, 1, 2}
        # The last attempt of the first one fails before the others'.
        never = [{episode_seed(seed, k) for k in range(3)} for seed in (5, 6)]
        env.set_attr("never", [None, *never])
        _, infos = env.reset(seed=[4, 5, 6])
        assert infos["_error"].tolist() == [True, False, False]
        assert infos["level"][1:].tolist() == [episode_seed(5, 3), episode_seed(6, 3)]
        assert env.fault_counts.tolist() == [8, 7, 7]
        env.set_attr("never", set())
        _, infos = env.reset(seed=1)
        assert infos["level"].tolist() == [1, 2, 3]


class Breakable(Talker):
    """Cannot be built while a file is there; workers of any kind see it."""

    def __init__(self, broken):
        if broken.exists():
            message = "broken"
            raise OSError(message)
        super().__init__()


@pytest.fixture
def broken(tmp_path):
    return tmp_path / "broken"


def fns_beside(broken):
    """Return constructors of three environments; the middle one can break."""
    return [Talker, lambda: Breakable(broken), Talker]


def step_both(env, twin, batch, by_recv=False):
    """Step, compare the other environments, and return the info of the middle one."""
    if by_recv:
        env.send(batch, range(3))
    result = env.recv(3) if by_recv else env.step(batch)
    for key in ("env_id", "_env_id"):
        result[4].pop(key, None)
    twin_result = twin.step(("go", "go", "go"))
    assert cases.values_of(result, [0, 2]) == cases.values_of(twin_result, [0, 2])
    cases.reset_ended(twin, twin_result)
    partial = cases.reset_ended(env, result)
    info = {} if partial is None else cases.info_of(partial[1], 1)
    return info or cases.info_of(result[4], 1)


@one_in(3, "workers, mode, is_copied", cases.NAMED_EXECUTORS, MODES, [False, True])
def test_an_environment_that_cannot_be_built_again_is_stalled(
    mode, is_copied, workers, broken
):
    """The others go on, a copy goes on alike, and it is tried again later."""
    env = PoolVectorEnv(fns_beside(broken), autoreset_mode=mode, **workers)
    with cases.pool(talkers(3), autoreset_mode=mode) as twin:
        env.reset(seed=1)
        twin.reset(seed=1)
        broken.touch()
        step_both(env, twin, ("go", "fault:raise", "go"))
        for number in range(6):
            info = step_both(env, twin, ("go",) * 3, by_recv=number % 2)
            assert info["error"] == "exception in reset: OSError: broken"
            if number == 4 and is_copied:
                other = pickle.loads(pickle.dumps(env))
                env.close()
                env = other
        assert env.call("add", 1)[1] is None
        broken.unlink()
        infos = [step_both(env, twin, ("go",) * 3) for _ in range(5)]
        assert "level" in infos[0] or "level" in infos[1]
        assert "error" not in infos[-1]
        env.close()


class Stubborn(Talker):
    """Its motto cannot be set."""

    @property
    def motto(self):
        return "mine"


@cases.EACH_EXECUTOR
def test_new_objects_have_the_attributes_but_one_that_they_refuse(workers):
    with cases.pool([Talker, Stubborn, Talker], **workers) as env:
        env.reset(seed=1)
        env.set_attr("length", [1, 2, 3])
        with pytest.raises(AttributeError):
            env.set_attr("motto", ["a", "b", "c"])
        env.reset()
        assert env.get_attr("resets") == (2, 2, 2)
        env.step(("fault:raise",) * 3)
        env.step(("go",) * 3)
        assert env.get_attr("resets") == (1, 1, 1)
        assert env.get_attr("length") == (1, 2, 3)
        assert env.get_attr("motto") == ("a", "mine", "c")


def fault_warnings(call):
    """Return the texts of the warnings of faults that a call gives."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        call()
    faults = [one for one in records if one.category is EnvironmentFaultWarning]
    assert all(one.filename == __file__ for one in faults)
    return [str(one.message) for one in faults]


def raised_in(call):
    """Return the error of a call without warnings, and the file that raised it.

    From a worker process that is the text of a traceback.
    """
    with pytest.raises(EnvironmentFaultError) as error:
        assert not fault_warnings(call)
    last = error.value.__cause__.__traceback__
    if last is None:
        return str(error.value.__cause__)
    while last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_code.co_filename


@cases.EACH_EXECUTOR
def test_the_first_fault_warns_with_its_traceback(workers):
    """Of a step, a reset or `recv`; an error has the traceback itself."""
    with cases.pool(talkers(2), **workers) as env:
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
    with cases.pool(talkers(2), **workers) as env:
        env.set_attr("fail_resets", ["short", 0])
        (text,) = fault_warnings(lambda: env.reset(seed=1))
        assert "reset returned 'no info', expected 2 values: observation, info" in text
        assert "a reset without an info returns (observation, {})" in text
        assert env.fault_counts.tolist() == [4, 0]
    with cases.pool(talkers(2), **workers) as env:
        env.reset(seed=1)
        env.send(("fault:four", "a"), [0, 1])
        (text,) = fault_warnings(lambda: env.recv(2))
        assert "returned 4 values, expected 5" in text
    with cases.pool(talkers(2), **workers) as env:
        env.set_attr("fail_resets", True)
        assert "envs.py" in raised_in(lambda: env.reset(seed=1))
        env.set_attr("fail_resets", False)
        assert not fault_warnings(lambda: env.reset(seed=1))


class Traced(Talker):
    """Is told from the environments of other tests."""


def test_a_fault_keeps_no_environment_alive():
    """Neither the counts nor the warning hold the frames of the exception."""
    with cases.pool([Traced]) as env:
        env.reset(seed=1)
        env.step(("fault:raise",))
        env.step(("go",))
        gc.collect()
        assert [one for one in gc.get_objects() if type(one) is Traced] == env.envs
