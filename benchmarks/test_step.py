"""env-steps/s through `gymnasium.make_vec`, ours and Gymnasium's own."""

from contextlib import closing

import pytest

from benchmarks.workloads import OURS, SYNC_FROZEN_LAKE, StepLoop

# Environments: steps a round, so that a round takes some tens of milliseconds.
STEPS = {1: 2000, 64: 1000, 1024: 500, 4096: 200, 16384: 100}
SYNC_STEPS = {64: 200, 4096: 20}
CASES = [(workload, n) for workload in OURS for n in STEPS]
CASES += [(SYNC_FROZEN_LAKE, n) for n in SYNC_STEPS]


@pytest.mark.parametrize(
    ("workload", "num_envs"), CASES, ids=[f"{w.name}-{n}" for w, n in CASES]
)
@pytest.mark.benchmark(group="step")
def test_step(benchmark, measuring, report_rate, workload, num_envs):
    """Step with actions drawn beforehand, autoreset on."""
    steps = (STEPS if workload.is_ours else SYNC_STEPS)[num_envs]
    size = (num_envs, steps) if measuring else (min(num_envs, 3), 2, 3)
    with closing(StepLoop(workload, *size)) as loop:
        benchmark.pedantic(loop.run, rounds=5, warmup_rounds=1)
        report_rate("env_steps_per_s", loop.env_steps)
