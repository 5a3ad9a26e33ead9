"""Memory of an environment in a batch that has been stepped."""

import tracemalloc
from contextlib import closing

import numpy as np
import pytest

from benchmarks.batches import FROZEN_LAKE, SOKOBAN, make

SMALL, LARGE = 4096, 16384
LIMIT = 1024


def allocated_bytes(id, num_envs, keywords):
    """Return the bytes of the arrays of a batch and of the results of its last step.

    Those of numpy alone: a kernel that is compiled meanwhile is memory, too.
    """
    tracemalloc.start()
    try:
        with closing(make(id, num_envs, **keywords)) as env:
            results = env.step(env.action_space.sample())
            arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
            traces = tracemalloc.take_snapshot().filter_traces([arrays]).traces
            del results
            return sum(trace.size for trace in traces)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("id", "levels"), [(FROZEN_LAKE, 0), (SOKOBAN, 64)])
@pytest.mark.benchmark(group="memory")
def test_bytes_per_environment(benchmark, id, levels):
    """Compare the memory of two sizes of a batch.

    Memory that does not depend on the size, such as levels, cancels out.
    """
    keywords = {"num_levels": levels} if levels else {}
    # Kernels, and what all batches share; compiled, not traced, as that is slow.
    with closing(make(id, SMALL, **keywords)) as env:
        env.step(env.action_space.sample())
    # A thread that draws its first level keeps memory to work in: the least of some
    # measurements is of the batch alone.
    small = min(allocated_bytes(id, SMALL, keywords) for _ in range(4))
    large = benchmark.pedantic(
        lambda: min(allocated_bytes(id, LARGE, keywords) for _ in range(4))
    )
    per_env = (large - small) / (LARGE - SMALL)
    benchmark.extra_info["bytes_per_env"] = per_env
    assert 0 < per_env <= LIMIT
