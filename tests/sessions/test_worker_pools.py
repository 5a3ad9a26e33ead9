"""Sessions over pools with workers: a slow environment holds up nobody else."""

import asyncio
import threading
import time
from functools import partial

import gymnasium
import pytest

from roll_vec.errors import ClosedError, InvalidActionError, ResetNeededError
from roll_vec.pool import PoolVectorEnv
from roll_vec.sessions import Sessions
from tests.sessions.test_sessions import (
    Gate,
    open_started,
    run_in_thread,
    together,
    wait_until,
)


class FileGate(gymnasium.Env):
    """Its step 5 waits for a file."""

    observation_space = gymnasium.spaces.Discrete(10)
    action_space = gymnasium.spaces.Discrete(10)

    def __init__(self, path):
        self.path = path

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        while action == 5 and not self.path.exists():
            time.sleep(0.005)
        return action, 1.0, False, False, {}

    def render(self):
        return "a picture"


def make_sessions(cls=Gate, num_envs=3, **keywords):
    envs = PoolVectorEnv([cls] * num_envs, autoreset_mode="Disabled", **keywords)
    return Sessions(envs)


@pytest.fixture
def gates():
    sessions = make_sessions(workers=3)
    envs = sessions.envs.envs
    yield sessions, envs
    for env in envs:
        env.may_go.set()
    sessions.close()


def test_a_slow_step_holds_up_nobody_else(gates):
    sessions, envs = gates
    slow, other, third = open_started(sessions, 3)
    future = run_in_thread(slow.step, 5)
    assert envs[0].entered.wait(5)
    # The thread that takes results waits for the slow one: it is woken.
    assert run_in_thread(other.step, 3).result(5)[0] == 3
    results = together(other.step_async(4), third.step_async(2))
    assert [result[0] for result in results] == [4, 2]
    assert not future.done()
    envs[0].may_go.set()
    assert future.result(5)[0] == 5


def test_a_slow_process_holds_up_nobody_else(tmp_path):
    envs = PoolVectorEnv(
        [partial(FileGate, tmp_path / "gate")] * 2,
        autoreset_mode="Disabled",
        workers=2,
        executor="process",
    )
    with Sessions(envs) as sessions:
        slow, other = open_started(sessions, 2)
        future = run_in_thread(slow.step, 5)
        wait_until(lambda: sessions._rows.active)
        for action in range(1, 4):
            assert run_in_thread(other.step, action).result(20)[0] == action
        assert not future.done()
        (tmp_path / "gate").touch()
        assert future.result(20)[0] == 5


def test_errors_belong_to_their_own_callers(gates):
    sessions, envs = gates
    one, other, _ = open_started(sessions, 3)
    error, result = together(one.step_async(99), other.step_async(2))
    assert isinstance(error, InvalidActionError)
    assert result[0] == 2
    assert one.step(3)[0] == 3
    # They do not wait for the steps of others.
    future = run_in_thread(other.step, 5)
    assert envs[1].entered.wait(5)
    assert isinstance(run_in_thread(one.step, 99).exception(5), InvalidActionError)
    assert not future.done()
    envs[1].may_go.set()
    future.result(5)


def test_rendering_waits_until_nothing_is_active(tmp_path):
    # One worker: it renders after the step that it has begun.
    make_env = partial(FileGate, tmp_path / "gate")
    with make_sessions(make_env, 2, workers=1) as sessions:
        slow, other = open_started(sessions, 2)
        future = run_in_thread(slow.step, 5)
        wait_until(lambda: sessions._rows.active)
        picture = run_in_thread(other.render)
        wait_until(lambda: sessions._calls._waiting)
        (tmp_path / "gate").touch()
        assert picture.result(5) == "a picture"
        assert future.result(5)[0] == 5


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
@pytest.mark.parametrize("workers", [0, 1])
def test_the_last_environment_that_fails_fails_alone(workers):
    with make_sessions(num_envs=1, workers=workers) as sessions:
        (session,) = open_started(sessions, 1)
        # Its reset raises four times: the episode ends with its first step.
        _, info = session.reset(options={"message": "no luck"})
        assert "no luck" in info["error"]
        assert session.step(1)[3]
        with pytest.raises(ResetNeededError):
            session.step(1)
        session.reset(seed=1)
        assert session.step(1)[0] == 1


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
def test_a_step_that_takes_too_long_ends_its_own_episode(tmp_path):
    make_env = partial(FileGate, tmp_path / "gate")
    sessions = make_sessions(make_env, 2, workers=2, step_timeout=0.4)
    slow, other = open_started(sessions, 2)
    result = slow.step(5)
    assert result[3]
    assert "timeout" in result[4]["error"]
    assert other.step(1)[0] == 1
    (tmp_path / "gate").touch()
    sessions.close()


def test_an_environment_is_used_again_when_its_last_step_has_ended(gates):
    sessions, envs = gates
    opened = open_started(sessions, 3)

    async def cancel():
        task = asyncio.ensure_future(opened[0].step_async(5))
        while not envs[0].entered.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    with pytest.raises(ResetNeededError):
        opened[0].step(1)
    opened[0].close()
    successor = sessions.open(timeout=5)
    future = run_in_thread(successor.reset, 7)
    # Others go on meanwhile.
    assert run_in_thread(opened[1].step, 3).result(5)[0] == 3
    assert not future.done()
    envs[0].may_go.set()
    expected = Gate().reset(seed=7)
    assert future.result(5) == expected
    assert successor.step(2)[0] == 2


def test_close_wakes_also_those_whose_steps_have_begun(gates):
    sessions, envs = gates
    opened = open_started(sessions, 2)
    future = run_in_thread(opened[0].step, 5)
    assert envs[0].entered.wait(5)
    closing = run_in_thread(sessions.close)
    assert isinstance(future.exception(5), ClosedError)
    envs[0].may_go.set()
    closing.result(10)
    for call in (sessions.open, partial(opened[1].step, 1)):
        with pytest.raises(ClosedError):
            call()


def test_the_thread_ends_when_nothing_is_left_to_do(gates):
    sessions, _ = gates
    open_started(sessions, 3)
    wait_until(lambda: sessions._calls._is_idle.is_set())
    wait_until(
        lambda: "roll_vec-sessions" not in {one.name for one in threading.enumerate()}
    )
