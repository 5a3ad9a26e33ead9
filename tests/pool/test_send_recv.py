"""`send` and `recv`: each environment has the trajectory that `step` gives it."""

import gymnasium
import numpy as np
import pytest

from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidActionError,
    InvalidOptionError,
    PendingResultsError,
    ResetNeededError,
)
from tests.contract.cases import assert_same
from tests.pool.cases import (
    DISABLED,
    EACH_EXECUTOR,
    EACH_WORKER,
    FAULTS_ON_PURPOSE,
    MODES,
    NAMED_WORKERS,
    NEXT_STEP,
    SAME_STEP,
    THREADS,
    draw_actions,
    pool,
    reset_ended,
    values_of,
)
from tests.pool.envs import RELEASE, drifters, talkers
from tests.thinning import one_in

pytestmark = FAULTS_ON_PURPOSE

STEPS = 12


def words(env_id):
    """Return the text actions of one environment."""
    return [f"{env_id} says {step}" for step in range(STEPS)]


def lockstep(fns, mode, script, seed=3):
    """Return the trajectory of each environment under `step`."""
    trajectories = [[] for _ in fns]
    with pool(fns, autoreset_mode=mode) as env:
        env.reset(seed=seed)
        for actions in zip(*script, strict=True):
            result = env.step(actions)
            for env_id, trajectory in enumerate(trajectories):
                trajectory.append(values_of(result, [env_id]))
            reset_ended(env, result)
    return trajectories


def receive(env, trajectories, **keywords):
    """Add what `recv` returns to the trajectories; return the environments."""
    result = env.recv(**keywords)
    ids = result[4].pop("env_id")
    assert ids.dtype == np.int64
    assert ids.tolist() == sorted(ids.tolist())
    assert result[4].pop("_env_id").all()
    assert all(len(value) == len(ids) for value in result[:4])
    for i, env_id in enumerate(ids.tolist()):
        trajectories[env_id].append(values_of(result, [i]))
    return ids.tolist()


@one_in(3, "workers, mode", NAMED_WORKERS, MODES)
def test_trajectories_are_those_of_step(mode, workers):
    """Also those of environments 0 and 3, which have no faults."""
    script = [words(env_id) for env_id in range(4)]
    script[1][2] = script[2][7] = "fault:raise"
    trajectories = [[] for _ in range(4)]
    with pool(talkers(4), autoreset_mode=mode, **workers) as env:
        env.reset(seed=3)
        env.send([lines[0] for lines in script], range(4))
        while any(len(trajectory) < STEPS for trajectory in trajectories):
            env_ids = receive(env, trajectories)
            if mode is DISABLED and any(is_end(trajectories[i][-1]) for i in env_ids):
                # No environment may be between send and recv when some are reset.
                while len(env._pending_steps):
                    env_ids += receive(env, trajectories, min_envs=None)
                mask = np.array([is_end(trajectory[-1]) for trajectory in trajectories])
                env.reset(options={"reset_mask": mask})
            env_ids = [i for i in env_ids if len(trajectories[i]) < STEPS]
            env.send([script[i][len(trajectories[i])] for i in env_ids], env_ids)
    assert trajectories == lockstep(talkers(4), mode, script)


def is_end(result):
    """Return whether an episode ended with this result of one environment."""
    (_, _, [terminated], [truncated]), _ = result
    return terminated or truncated


@EACH_EXECUTOR
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("kind", ["box", "dict"])
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


@EACH_EXECUTOR
def test_send_and_step_in_turns(workers):
    with pool(talkers(3), **workers) as env, pool(talkers(3)) as twin:
        env.reset(seed=3)
        twin.reset(seed=3)
        for step, batch in enumerate(draw_actions("text", 3, 20)):
            twin_result = twin.step(batch)
            if step % 3:
                assert_same(env.step(batch), twin_result)
            else:
                env.send([batch[2], batch[0], batch[1]], [2, 0, 1])
                values, _ = values_of(env.recv(None), [0, 1, 2])
                assert values == values_of(twin_result, [0, 1, 2])[0]


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


@EACH_EXECUTOR
def test_misuse_moves_nothing(workers):
    with pool(talkers(3), **workers) as env, pool(talkers(3)) as twin:
        with pytest.raises(ResetNeededError):
            env.send(["a"], [0])
        for one in (env, twin):
            one.reset(seed=2)
        for ids, error in (
            ([3], InvalidOptionError),
            ([-1], InvalidOptionError),
            ([0, 0], InvalidOptionError),
            ([0.5], InvalidOptionError),
            ([[0]], InvalidOptionError),
            ("a", InvalidOptionError),
            ([0, 1], InvalidActionError),
        ):
            with pytest.raises(error):
                env.send(["a"] * (2 if ids == [0, 0] else 1), ids)
        with pytest.raises(InvalidActionError):
            env.send([3], [0])
        for keywords in (
            {},
            {"min_envs": 0},
            {"min_envs": "a"},
            {"min_envs": None},
        ):
            with pytest.raises(InvalidOptionError):
                env.recv(**keywords)
        env.send(["a"], [0])
        with pytest.raises(InvalidOptionError):
            env.recv(min_envs=2)
        for timeout in (-1, -float("inf"), float("nan"), "x", 1j, np.array([1])):
            with pytest.raises(InvalidOptionError):
                env.recv(timeout=timeout)
        for use in (
            lambda: env.step(("a",) * 3),
            lambda: env.reset(),
            lambda: env.call("add", 1),
            lambda: env.get_attr("turn"),
            lambda: env.set_attr("length", 3),
            lambda: env.render(),
            lambda: env.send(["a"], [0]),
            lambda: env.send(["a", "b"], [1, 0]),
            lambda: env.__getstate__(),
        ):
            with pytest.raises(PendingResultsError) as error:
                use()
            assert isinstance(error.value, gymnasium.error.AlreadyPendingCallError)
        env.send(["a", "a"], [1, 2])
        result, twin_result = env.recv(None), twin.step(("a",) * 3)
        assert values_of(result, [0, 1, 2])[0] == values_of(twin_result, [0, 1, 2])[0]
        env.send(["a"], [0])  # and closed with that outstanding


def test_disabled_mode_needs_its_resets():
    with pool(talkers(2), autoreset_mode=DISABLED) as env:
        env.reset(seed=1)
        env.send(["fault:raise"], [0])
        env.recv()
        with pytest.raises(ResetNeededError, match=r"\[0\]"):
            env.send(["a", "b"], [1, 0])
        assert env.get_attr("turn") == (1, 0)


@EACH_EXECUTOR
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_faults_that_are_raised(mode, workers):
    keywords = {"autoreset_mode": mode, "on_error": "raise", **workers}
    with pool(talkers(3), **keywords) as env:
        env.reset(seed=1)
        env.send(["a", "fault:raise", "b"], [0, 1, 2])
        with pytest.raises(EnvironmentFaultError, match="as told"):  # noqa: PT012
            while True:
                env.recv()
        with pytest.raises(ResetNeededError):
            env.send(["a"], [0])
        env.reset()
        env.send(["a"], [0])
        env.recv()


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
