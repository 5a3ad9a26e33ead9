"""Resets of a whole batch to given seeds."""

from contextlib import closing

import gymnasium
import pytest

from benchmarks.batches import FROZEN_LAKE, SOKOBAN

WORKLOADS = {
    "frozen_lake": (FROZEN_LAKE, {}),
    "sokoban_4096_levels": (SOKOBAN, {"num_levels": 4096}),
    "sokoban_fresh": (SOKOBAN, {}),
}


@pytest.mark.parametrize("num_envs", [1024, 4096, 16384])
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.benchmark(group="reset")
def test_reset(benchmark, measuring, report_rate, workload, num_envs):
    """Reset; all levels of a finite set have been drawn in advance."""
    num_envs = num_envs if measuring else 3
    id, keywords = WORKLOADS[workload]
    num_levels = keywords.get("num_levels", 0) if measuring else 1
    with closing(gymnasium.make_vec(id, num_envs=num_envs, **keywords)) as env:
        for first in range(0, num_levels, num_envs):
            env.reset(seed=first)
        benchmark.pedantic(env.reset, kwargs={"seed": 0}, rounds=5, warmup_rounds=1)
        report_rate("resets_per_s", num_envs)
