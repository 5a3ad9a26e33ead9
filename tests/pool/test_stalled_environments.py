"""Stalled environments: they cannot be built or reset, and the others go on."""

import pytest

from roll_vec.errors import EnvironmentFaultError
from roll_vec.pool import PoolVectorEnv
from roll_vec.seeding import episode_seed
from tests.pool.cases import (
    COPIES,
    EACH_EXECUTOR,
    FAULTS_ON_PURPOSE,
    MODES,
    NEXT_STEP,
    draw_actions,
    info_of,
    pool,
    reset_ended,
    values_of,
)
from tests.pool.envs import Picky, Talker, talkers

pytestmark = FAULTS_ON_PURPOSE


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


def step_both(env, twin, batch):
    """Step, compare the other environments, and return the info of the middle one."""
    result, twin_result = env.step(batch), twin.step(batch)
    assert values_of(result, [0, 2]) == values_of(twin_result, [0, 2])
    reset_ended(twin, twin_result)
    partial = reset_ended(env, result)
    info = {} if partial is None else info_of(partial[1], 1)
    return info or info_of(result[4], 1)


@EACH_EXECUTOR
@pytest.mark.parametrize(
    ("mode", "how"),
    [*((mode, None) for mode in MODES), (NEXT_STEP, "pickle")],
)
def test_an_environment_that_cannot_be_built_again_is_stalled(
    mode, how, workers, broken
):
    """The others go on, a copy goes on alike, and it is tried again later."""
    env = PoolVectorEnv(fns_beside(broken), autoreset_mode=mode, **workers)
    with pool(talkers(3), autoreset_mode=mode) as twin:
        env.reset(seed=1)
        twin.reset(seed=1)
        broken.touch()
        actions = draw_actions("text", 3, 12)
        fault = ("go", "fault:raise", "go")
        result, twin_result = env.step(fault), twin.step(fault[:1] * 3)
        assert values_of(result, [0, 2]) == values_of(twin_result, [0, 2])
        reset_ended(env, result)
        for batch in actions[:6]:
            info = step_both(env, twin, batch)
            assert info["error"] == "exception in reset: OSError: broken"
        assert env.faults["reset"] >= 1
        assert env.call("add", 1)[1] is None
        if how is not None:
            other = COPIES[how](env)
            env.close()
            env = other
            info = step_both(env, twin, actions[6])
            assert info["error"] == "exception in reset: OSError: broken"
        broken.unlink()
        infos = [step_both(env, twin, batch) for batch in actions[7:]]
        assert "level" in infos[0] or "level" in infos[1]
        assert "error" not in infos[-1]
        env.close()


@EACH_EXECUTOR
def test_send_and_recv_beside_a_stalled_environment(workers, broken):
    with pool(fns_beside(broken), **workers) as env:
        env.reset(seed=1)
        broken.touch()
        env.step(("go", "fault:raise", "go"))
        for _ in range(2):
            env.step(("go",) * 3)
        env.send(("go",), [0])
        assert env.recv()[4]["env_id"].tolist() == [0]
        for _ in range(3):
            env.send(("go",) * 3, [0, 1, 2])
            infos = env.recv(3)[4]
            assert infos["env_id"].tolist() == [0, 1, 2]
            assert infos["_error"].tolist() == [False, True, False]
        broken.unlink()
        for _ in range(2):
            env.send(("go",) * 3, [0, 1, 2])
            infos = env.recv(3)[4]
        assert "_error" not in infos


@EACH_EXECUTOR
def test_whether_all_failed_is_decided_when_all_have_ended(workers):
    """All are stalled; the last attempt of the first one fails before the others'."""
    with pool([lambda: Picky(None)] * 3, **workers) as env:
        with pytest.raises(EnvironmentFaultError):
            env.reset(seed=1)
        first = [{episode_seed(seed, k) for k in range(3)} for seed in (5, 6)]
        env.set_attr("never", [None, *first])
        _, infos = env.reset(seed=[4, 5, 6])
        assert infos["_error"].tolist() == [True, False, False]
        assert infos["level"][1:].tolist() == [episode_seed(5, 3), episode_seed(6, 3)]


class Scribe(Talker):
    """Notes the steps that it takes in a file of its own."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def step(self, action):
        with self.path.open("a") as file:
            file.write(f"{action} ")
        return super().step(action)


@EACH_EXECUTOR
def test_a_fault_of_an_autoreset_is_raised_after_the_steps_of_the_others(
    workers, tmp_path
):
    """In NEXT_STEP mode, where both are parts of one call."""
    paths = [tmp_path / name for name in "abc"]
    fns = [lambda path=path: Scribe(path) for path in paths]
    with pool(fns, on_error="raise", **workers) as env:
        env.set_attr("length", [1, 9, 9])
        env.reset(seed=[0, 5, 6])
        while not env.step(("go",) * 3)[2][0]:
            pass
        env.set_attr("fail_resets", [True, False, False])
        with pytest.raises(EnvironmentFaultError, match=r"\[0\].*reset of"):
            env.step(("last",) * 3)
        last_actions = [path.read_text().split()[-1] for path in paths]
        assert last_actions == ["go", "last", "last"]
        env.set_attr("fail_resets", False)
        _, infos = env.reset()
        assert infos["level"][1:].tolist() == [episode_seed(5, 1), episode_seed(6, 1)]
        assert infos["_level"].all()


class Stubborn(Talker):
    """Its motto cannot be set."""

    @property
    def motto(self):
        return "mine"


@EACH_EXECUTOR
def test_an_attribute_that_one_refuses_is_set_in_the_others(workers):
    """Also by those of them that are built again later."""
    with pool([Talker, Stubborn, Talker], **workers) as env:
        env.reset(seed=1)
        with pytest.raises(AttributeError):
            env.set_attr("motto", ["a", "b", "c"])
        env.step(("fault:raise", "go", "go"))
        env.step(("go",) * 3)
        assert env.get_attr("motto") == ("a", "mine", "c")
