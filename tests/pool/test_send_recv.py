"""`send` and `recv`: each environment has the trajectory that `step` gives it."""

import numpy as np
import pytest

from roll_vec.errors import (
    ResetNeededError,
)
from tests.contract.cases import assert_same
from tests.pool.cases import (
    DISABLED,
    EACH_EXECUTOR,
    EACH_WORKER,
    FAULTS_ON_PURPOSE,
    MODES,
    NAMED_EXECUTORS,
    THREADS,
    draw_actions,
    pool,
)
from tests.pool.envs import RELEASE, drifters, talkers
from tests.thinning import one_in

pytestmark = FAULTS_ON_PURPOSE

STEPS = 12


@one_in(2, "workers, mode, kind", NAMED_EXECUTORS, MODES[:2], ["box", "dict"])
def test_arrays(kind, mode, workers):
    """Actions may be overwritten after `send`; observations do not change later."""
    actions = draw_actions(kind, 3, STEPS)
    fns = drifters(kind, 3, reuses=True)
    keywords = {"autoreset_mode": mode, **workers}
    with pool(fns, **keywords) as env, pool(fns, autoreset_mode=mode) as twin:
        env.reset(seed=3)
        twin.reset(seed=3)
        pairs = []
        for batch in actions:
            twin_result = twin.step(batch)
            env.send(batch, [0, 1, 2])
            for part in batch.values() if isinstance(batch, dict) else [batch]:
                part[:] = 0
            *result, infos = env.recv(min_envs=None)
            del infos["env_id"], infos["_env_id"]
            assert_same((*result, infos), twin_result)
            pairs.append((result[0], twin_result[0]))
        for observations, twin_observations in pairs:
            assert_same(observations, twin_observations)
        assert_same(env.step(batch), twin.step(batch))


def test_ready_environments_do_not_wait_for_the_others():
    with pool(talkers(3), workers=3) as env:
        env.reset(seed=1)
        env.send(["fault:wait", "a", "b"], [0, 1, 2])
        assert env.recv(min_envs=2)[4]["env_id"].tolist() == [1, 2]
        observations, rewards, *_, infos = env.recv(timeout=0)
        assert observations == ()
        assert rewards.shape == (0,)
        assert infos["env_id"].shape == (0,)
        env.send(["c"], [2])
        assert env.recv()[4]["env_id"].tolist() == [2]
        RELEASE.set()
        assert env.recv(min_envs=None)[4]["env_id"].tolist() == [0]


@EACH_WORKER
def test_a_timeout_of_one(workers):
    command = "wait" if workers == THREADS else "loop"
    with pool(talkers(3), step_timeout=0.4, reset_timeout=20, **workers) as env:
        env.reset(seed=1)
        env.send([f"fault:{command}", "a", "b"], [0, 1, 2])
        by_env = {}
        while len(env._pending_steps):
            *_, truncations, infos = env.recv()
            env_ids = infos["env_id"].tolist()
            by_env |= dict(zip(env_ids, truncations.tolist(), strict=True))
        assert by_env == {0: True, 1: False, 2: False}
        assert env.get_attr("turn") == (None, 1, 1)


def test_disabled_mode_needs_its_resets():
    with pool(talkers(2), autoreset_mode=DISABLED) as env:
        env.reset(seed=1)
        env.send(["fault:raise"], [0])
        env.recv()
        with pytest.raises(ResetNeededError, match=r"\[0\]"):
            env.send(["a", "b"], [1, 0])
        assert env.get_attr("turn") == (1, 0)


def test_group_ids_of_resets():
    with pool(talkers(4), group_size=2, group_id_info=True) as env:
        env.reset(seed=1)
        env.step(("fault:raise",) * 4)
        env.send(["a", "b"], [1, 2])
        assert env.recv(None)[4]["group_id"].tolist() == [0, 1]


def test_many_long_actions_do_not_block():
    """More than a pipe holds, to a worker that is busy."""
    with pool(talkers(8), workers=1, executor="process") as env:
        env.reset(seed=1)
        long = "x" * 300_000
        for env_id in range(8):
            env.send([long], [env_id])
        observations, *_ = env.recv(None)
        assert set(observations) == {f"1: {long}"}


@pytest.mark.parametrize("reuses", [False, True])
@EACH_EXECUTOR
def test_a_fault_in_lockstep_returns_the_observation_of_the_last_recv(workers, reuses):
    still, fault = np.zeros(3, np.float32), np.ones(3, np.float32)
    with pool(drifters("box", 2, reuses), **workers) as env:
        env.reset(seed=1)
        env.step(np.stack([still, still]))
        env.send(still[None], [1])
        (last_observation,), *_ = env.recv()
        observations, *_ = env.step(np.stack([still, fault]))
        assert env.fault_counts.tolist() == [0, 1]
        assert_same(observations[1], last_observation)


@EACH_EXECUTOR
def test_a_timeout_beyond_any_clock_is_no_limit(workers):
    with pool(talkers(1), **workers) as env:
        env.reset(seed=1)
        for timeout in (float("inf"), 1e300, 10**400, np.float32("inf")):
            env.send(("a",), [0])
            assert env.recv(timeout=timeout)[4]["env_id"].tolist() == [0]
