"""Speed, as ratios in one process with wide margins: a loop in Python fails."""

import time
from contextlib import closing

import gymnasium
import numpy as np
import pytest

from benchmarks import batches
from tests.conftest import JIT_OFF


def best_rate(work, amount, times=7):
    """Return the best of several rates: other load can only make them worse."""
    work()
    rates = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        rates.append(amount / (time.perf_counter() - start))
    return max(rates)


@pytest.fixture(scope="module")
def sync_rate():
    """Return the env-steps/s of Gymnasium's SyncVectorEnv on FrozenLake-v1."""
    env = gymnasium.make_vec("FrozenLake-v1", num_envs=64, vectorization_mode="sync")
    with closing(env):
        env.reset(seed=0)
        actions = np.random.default_rng(0).integers(0, 4, (20, 64))
        return best_rate(lambda: [env.step(batch) for batch in actions], actions.size)


# A tenth of what is usual, or less: a machine that is busy must not fail, a loop over
# environments in Python must.
@pytest.mark.skipif(JIT_OFF, reason="as plain Python the kernels have no speed")
@pytest.mark.parametrize(
    ("id", "keywords", "least"),
    [
        (batches.FROZEN_LAKE, {}, 60),
        (batches.SOKOBAN, {"num_levels": 256}, 40),
        (batches.SOKOBAN, {}, 4),
        (batches.SOKOBAN, {"num_levels": 256, "obs_mode": "text"}, 6),
    ],
)
def test_batches_are_a_multiple_of_sync_vector_env(sync_rate, id, keywords, least):
    with closing(batches.make(id, 4096, **keywords)) as env:
        actions = batches.draw_actions(env, 8)
        rate = best_rate(lambda: [env.step(batch) for batch in actions], actions.size)
    assert rate > least * sync_rate


@pytest.mark.slow
@pytest.mark.skipif(JIT_OFF, reason="as plain Python the kernels have no speed")
def test_unrolling_is_no_slower_than_stepping():
    with closing(batches.make(batches.FROZEN_LAKE, 64)) as env:
        actions = batches.draw_actions(env, 128)
        step_rate = best_rate(
            lambda: [env.step(batch) for batch in actions], actions.size
        )
        unroll_rate = best_rate(lambda: env.unwrapped.unroll(actions), actions.size)
    assert unroll_rate > step_rate
