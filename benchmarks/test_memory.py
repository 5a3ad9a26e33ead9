"""Memory of an environment in a batch that has been stepped."""

import tracemalloc
from contextlib import closing

import pytest

from benchmarks.workloads import OURS, StepLoop

SMALL, LARGE = 4096, 16384
LIMIT = 1024


def held_bytes(workload, num_envs):
    """Return the bytes that a batch and the results of its last step hold."""
    tracemalloc.start()
    try:
        with closing(workload.make(num_envs, num_levels=64)) as env:
            env.reset(seed=0)
            results = env.step(env.action_space.sample())
            held, _ = tracemalloc.get_traced_memory()
            del results
            return held
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("workload", OURS[:2], ids=[w.name for w in OURS[:2]])
@pytest.mark.benchmark(group="memory")
def test_bytes_per_environment(benchmark, workload):
    """Grow a batch and see what it takes.

    What is the same for every batch, like scratch memory and levels, cancels out.
    """
    with closing(StepLoop(workload, 64, 1, 64)):
        small = held_bytes(workload, SMALL)
    large = benchmark.pedantic(held_bytes, (workload, LARGE))
    per_env = (large - small) / (LARGE - SMALL)
    benchmark.extra_info["bytes_per_env"] = per_env
    assert 0 < per_env <= LIMIT
