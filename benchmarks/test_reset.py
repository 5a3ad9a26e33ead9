"""Resets of a whole batch to given seeds."""

from contextlib import closing

import pytest

from benchmarks.workloads import OURS


@pytest.mark.parametrize("num_envs", [1024, 4096, 16384])
@pytest.mark.parametrize("workload", OURS, ids=[w.name for w in OURS])
@pytest.mark.benchmark(group="reset")
def test_reset(benchmark, measuring, report_rate, workload, num_envs):
    """Reset with levels drawn before, where they are a finite set."""
    num_envs, num_levels = (num_envs, 0) if measuring else (3, 3)
    with closing(workload.make(num_envs, num_levels)) as env:
        for first in range(0, workload.num_levels if measuring else 1, num_envs):
            env.reset(seed=first)
        benchmark.pedantic(env.reset, kwargs={"seed": 0}, rounds=5, warmup_rounds=1)
        report_rate("resets_per_s", num_envs)
