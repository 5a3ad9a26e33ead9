"""The pool returns the same as Gymnasium's SyncVectorEnv, by `step` and by `recv`."""

import copy

import numpy as np

from tests.contract.cases import MODES, assert_same
from tests.pool import cases
from tests.pool.envs import RELEASE, Drifter, drifters, talkers
from tests.thinning import one_in

pytestmark = cases.FAULTS_ON_PURPOSE


def step_by_recv(env, batch):
    """Step by `send` and `recv`; the caller overwrites the actions in between."""
    env.send(batch, range(env.num_envs))
    for part in batch.values() if isinstance(batch, dict) else [batch]:
        if isinstance(part, np.ndarray):
            part[:] = 0
    *result, infos = env.recv(min_envs=None)
    del infos["env_id"], infos["_env_id"]
    return *result, infos


@one_in(3, "workers, mode, kind", cases.NAMED_EXECUTORS, MODES, [*cases.KINDS])
def test_lockstep_any_space(kind, mode, workers):
    """Environments may write into one array; nothing that was returned changes.

    SyncVectorEnv would return the reset's observation as the final one, so its own
    environments copy.
    """
    is_drifter = kind not in ("text", "counter")
    fns = drifters(kind, 3, reuses=True) if is_drifter else cases.KINDS[kind](3)
    keywords = {"autoreset_mode": mode}
    with (
        cases.pool(fns, **keywords, **workers) as env,
        cases.sync(cases.KINDS[kind](3), **keywords) as by,
    ):
        results = [(env.reset(seed=1), copy.deepcopy(by.reset(seed=1)))]
        for t, batch in enumerate(cases.draw_actions(kind, 3, 16)):
            expected = by.step(copy.deepcopy(batch))
            result = step_by_recv(env, batch) if t % 3 == 2 else env.step(batch)
            results.append((result, copy.deepcopy(expected)))
            assert_same(*results[-1])
            partial = cases.reset_ended(by, expected, {"why": "ended"})
            if partial is not None:
                expected = copy.deepcopy(partial)
                results.append(
                    (cases.reset_ended(env, result, {"why": "ended"}), expected)
                )
        for seed in (None, [5, None, 2**40]):
            results.append((env.reset(seed=seed), copy.deepcopy(by.reset(seed=seed))))
        for result, expected in results:
            assert_same(result, expected)


@cases.EACH_EXECUTOR
def test_an_unseeded_foreign_environment_is_reset_without_a_seed(workers):
    def seeded():
        env = Drifter("box")
        env.reset(seed=11)
        return env

    with cases.pool([seeded] * 2, **workers) as env, cases.sync([seeded] * 2) as twin:
        assert_same(env.reset(), twin.reset())


def test_ready_environments_do_not_wait_for_the_others():
    with cases.pool(talkers(3), workers=3) as env:
        env.reset(seed=1)
        env.send(["fault:wait", "a", "b"], [0, 1, 2])
        assert env.recv(min_envs=2)[4]["env_id"].tolist() == [1, 2]
        observations, rewards, *_, infos = env.recv(timeout=0)
        assert observations == ()
        assert rewards.shape == infos["env_id"].shape == (0,)
        env.send(["c"], [2])
        assert env.recv()[4]["env_id"].tolist() == [2]
        RELEASE.set()
        assert env.recv(min_envs=None)[4]["env_id"].tolist() == [0]


@cases.EACH_WORKER
def test_a_timeout_of_one(workers):
    command = "wait" if workers == cases.THREADS else "loop"
    with cases.pool(talkers(3), step_timeout=0.4, reset_timeout=20, **workers) as env:
        env.reset(seed=1)
        env.send([f"fault:{command}", "a", "b"], [0, 1, 2])
        has_failed = {}
        while len(has_failed) < 3:
            *_, truncations, infos = env.recv()
            env_ids = infos["env_id"].tolist()
            has_failed |= dict(zip(env_ids, truncations.tolist(), strict=True))
        # The process of the environments 0 and 2 is killed.
        is_killed = workers != cases.THREADS
        assert has_failed == {0: True, 1: False, 2: is_killed}
        assert env.get_attr("turn") == (None, 1, None if is_killed else 1)


def test_many_long_actions_do_not_block():
    """More than a pipe holds, to a worker that is busy."""
    with cases.pool(talkers(8), workers=1, executor="process") as env:
        env.reset(seed=1)
        long = "x" * 300_000
        for env_id in range(8):
            env.send([long], [env_id])
        assert set(env.recv(None)[0]) == {f"1: {long}"}
