"""`send` and `recv`: each environment's trajectory is the one that `step` gives it."""

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
    EXECUTOR_IDS,
    EXECUTORS,
    FAULTS_ON_PURPOSE,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    WORKER_IDS,
    WORKERS,
    draw_actions,
    pool,
    rows_of,
)
from tests.pool.envs import RELEASE, drifters, talkers

pytestmark = FAULTS_ON_PURPOSE

EACH_EXECUTOR = pytest.mark.parametrize("workers", EXECUTORS, ids=EXECUTOR_IDS)
STEPS = 12


def words(row, steps=STEPS):
    return [f"{row} says {step}" for step in range(steps)]


def lockstep(fns, mode, script, seed=3):
    """Return the trajectory of each environment under `step`."""
    trajectories = [[] for _ in fns]
    with pool(fns, autoreset_mode=mode) as env:
        env.reset(seed=seed)
        for actions in zip(*script, strict=True):
            result = env.step(actions)
            for row, seen in enumerate(trajectories):
                seen.append(rows_of(result, [row]))
            mask = result[2] | result[3]
            if mode is DISABLED and mask.any():
                env.reset(options={"reset_mask": mask})
    return trajectories


def receive(env, trajectories, **keywords):
    """Add what is received to the trajectories; return the rows."""
    result = env.recv(**keywords)
    ids = result[4].pop("env_id")
    assert ids.dtype == np.int64
    assert ids.tolist() == sorted(ids.tolist())
    assert result[4].pop("_env_id").all()
    assert all(len(value) == len(ids) for value in result[:4])
    for at, row in enumerate(ids.tolist()):
        trajectories[row].append(rows_of(result, [at]))
    return ids.tolist()


@pytest.mark.parametrize("workers", WORKERS, ids=WORKER_IDS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", [None, "raise"])
def test_trajectories_are_those_of_step(fault, mode, workers):
    script = [words(row) for row in range(4)]
    if fault:
        script[1][2] = script[2][7] = f"fault:{fault}"
    expected = lockstep(talkers(4), mode, script)
    trajectories = [[] for _ in range(4)]
    with pool(talkers(4), autoreset_mode=mode, **workers) as env:
        env.reset(seed=3)
        env.send([lines[0] for lines in script], range(4))
        while any(len(seen) < STEPS for seen in trajectories):
            rows = receive(env, trajectories)
            if mode is DISABLED:
                over = [row for row in rows if ended(trajectories[row][-1])]
                if over:
                    # Nothing else may be under way when some are reset.
                    while len(env._pending_steps):
                        rows += receive(env, trajectories, min_envs=None)
                    mask = np.array([ended(seen[-1]) for seen in trajectories])
                    env.reset(options={"reset_mask": mask})
            left = [row for row in rows if len(trajectories[row]) < STEPS]
            env.send([script[row][len(trajectories[row])] for row in left], left)
    assert trajectories == expected


def ended(result):
    """Whether an episode ended with this result of one environment."""
    (_, _, [terminated], [truncated]), _ = result
    return terminated or truncated


@EACH_EXECUTOR
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("kind", ["box", "dict"])
def test_arrays(kind, mode, workers):
    """Actions may be written over once they are sent; observations are kept."""
    actions = draw_actions(kind, 3, STEPS)
    fns = drifters(kind, 3, reuses=True)
    keywords = {"autoreset_mode": mode, **workers}
    with pool(fns, **keywords) as env, pool(fns, autoreset_mode=mode) as twin:
        env.reset(seed=3)
        twin.reset(seed=3)
        kept = []
        for batch in actions:
            expected = twin.step(batch)
            env.send(batch, [0, 1, 2])
            for part in batch.values() if isinstance(batch, dict) else [batch]:
                part[:] = 0
            *result, infos = env.recv(min_envs=None)
            del infos["env_id"], infos["_env_id"]
            assert_same((*result, infos), expected)
            kept.append((result[0], expected[0]))
        for observations, expected in kept:
            assert_same(observations, expected)
        assert_same(env.step(batch), twin.step(batch))


@EACH_EXECUTOR
def test_send_and_step_in_turns(workers):
    with pool(talkers(3), **workers) as env, pool(talkers(3)) as twin:
        env.reset(seed=3)
        twin.reset(seed=3)
        for step, batch in enumerate(draw_actions("text", 3, 20)):
            expected = twin.step(batch)
            if step % 3:
                assert_same(env.step(batch), expected)
            else:
                env.send([batch[2], batch[0], batch[1]], [2, 0, 1])
                got = env.recv(None)
                assert rows_of(got, [0, 1, 2])[0] == rows_of(expected, [0, 1, 2])[0]


def test_those_that_are_ready_do_not_wait_for_the_others():
    RELEASE.clear()
    with pool(talkers(3), workers=3) as env:
        env.reset(seed=1)
        env.send(["fault:wait", "a", "b"], [0, 1, 2])
        got = set(env.recv(min_envs=2)[4]["env_id"].tolist())
        assert got == {1, 2}
        observations, rewards, *_, infos = env.recv(timeout=0)
        assert observations == ()
        assert rewards.shape == (0,)
        assert infos["env_id"].shape == (0,)
        env.send(["c"], [2])
        assert env.recv()[4]["env_id"].tolist() == [2]
        RELEASE.set()
        assert env.recv(min_envs=None)[4]["env_id"].tolist() == [0]


@pytest.mark.parametrize(
    "workers",
    [{"workers": 2}, {"workers": 2, "executor": "process"}],
    ids=["threads", "processes"],
)
def test_a_timeout_of_one(workers):
    RELEASE.clear()
    command = "loop" if "executor" in workers else "wait"
    with pool(talkers(3), step_timeout=0.4, reset_timeout=20, **workers) as env:
        env.reset(seed=1)
        env.send([f"fault:{command}", "a", "b"], [0, 1, 2])
        seen = {}
        while len(env._pending_steps):
            *_, truncations, infos = env.recv()
            seen |= dict(
                zip(infos["env_id"].tolist(), truncations.tolist(), strict=True)
            )
        assert seen == {0: True, 1: False, 2: False}
    RELEASE.set()


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
            with pytest.raises(PendingResultsError) as caught:
                use()
            assert isinstance(caught.value, gymnasium.error.AlreadyPendingCallError)
        env.send(["a", "a"], [1, 2])
        got, expected = env.recv(None), twin.step(("a",) * 3)
        assert rows_of(got, [0, 1, 2])[0] == rows_of(expected, [0, 1, 2])[0]
        env.send(["a"], [0])  # and closed with that outstanding


def test_disabled_mode_wants_its_resets():
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
        for row in range(8):
            env.send([long], [row])
        observations, *_ = env.recv(None)
        assert all(seen == f"1: {long}" for seen in observations)


@pytest.mark.parametrize("reuses", [False, True])
@EACH_EXECUTOR
def test_a_fault_in_lockstep_shows_what_was_received_last(workers, reuses):
    still, fault = np.zeros(3, np.float32), np.ones(3, np.float32)
    with pool(drifters("box", 2, reuses), **workers) as env:
        env.reset(seed=1)
        env.step(np.stack([still, still]))
        env.send(still[None], [1])
        (received,), *_ = env.recv()
        observations, *_ = env.step(np.stack([still, fault]))
        assert env.fault_counts.tolist() == [0, 1]
        assert_same(observations[1], received)


@EACH_EXECUTOR
def test_a_timeout_that_never_ends_is_none(workers):
    with pool(talkers(1), **workers) as env:
        env.reset(seed=1)
        for timeout in (float("inf"), 1e300, 10**400, np.float32("inf")):
            env.send(("a",), [0])
            assert env.recv(timeout=timeout)[4]["env_id"].tolist() == [0]
