"""`send` and `recv` of environments that step in one call: what the batch keeps."""

import numpy as np
import pytest

import roll_vec
from roll_vec.errors import PendingResultsError
from tests.contract.cases import assert_same

LAKE = "roll_vec/FrozenLake-v1"


@pytest.fixture
def envs():
    envs = roll_vec.make_vec(LAKE, num_envs=4)
    envs.reset(seed=0)
    return envs


def test_send_keeps_nothing_of_the_callers(envs):
    actions, env_ids = np.array([2, 1]), np.array([0, 1])
    envs.send(actions, env_ids)
    actions[:], env_ids[:] = 0, 3
    with pytest.raises(PendingResultsError):
        envs.send([1], [1])
    observations, *_, infos = envs.recv(None)
    assert infos["env_id"].tolist() == [0, 1]
    twin = roll_vec.make_vec(LAKE, num_envs=4)
    twin.reset(seed=0)
    expected = twin.step([2, 1, 0, 0], mask=np.arange(4) < 2)[0]
    assert_same(observations, expected[:2])


def test_calls_of_send_may_have_actions_of_different_dtypes(envs):
    envs.send(np.array([1], np.uint64), [0])
    envs.send(np.array([1], np.int8), [2])
    envs.send([1], [1])
    assert envs.recv(None)[-1]["env_id"].tolist() == [0, 1, 2]


def test_actions_after_an_interrupt_of_recv_wait_for_the_next_step(envs):
    envs.send([1], [0])
    # Ctrl-C between the step and its results.
    envs._exchange.wait(1, None)
    envs._autoreset.is_ready = True
    envs.send([1], [2])
    assert envs.recv()[-1]["env_id"].tolist() == [0]
    assert envs.recv()[-1]["env_id"].tolist() == [2]


def test_a_recv_that_raises_leaves_the_batch_ready(envs, monkeypatch):
    envs.send([1], [0])
    before = envs.get_attr("num_env_steps")
    with monkeypatch.context() as patch:
        message = "actions: refused"

        def refuse(*_):
            raise roll_vec.errors.InvalidActionError(message)

        patch.setattr(envs.engine, "check_actions", refuse)
        with pytest.raises(roll_vec.errors.InvalidActionError, match=message):
            envs.recv()
    assert envs.get_attr("num_env_steps") == before
    envs.step([1] * 4)
