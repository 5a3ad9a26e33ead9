"""Trajectories depend on seeds and actions: not on processes, threads or batches."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from roll_vec.stacked import row_threads as threads
from roll_vec.stacked.thread_team import ThreadTeam
from tests.conftest import JIT_OFF, ROOT
from tests.contract.cases import (
    CASES,
    POOLS,
    assert_same,
    draw_actions,
    make_batch,
    play,
)
from tests.contract.trajectories import WIDE, all_digests, digest_of
from tests.splits import split_all

# PYTHONHASHSEED, ROLL_VEC_NUM_THREADS, sizes of the batches.  Each process takes some
# seconds, so that all but one are slow.
PROCESSES = [
    pytest.param("1", "2", [3, 5]),
    pytest.param("0", "1", [8], marks=pytest.mark.slow),
    pytest.param("random", None, [1, 6, 1], marks=pytest.mark.slow),
]


def digests_of_process(hash_seed, num_threads, sizes):
    """Return the digests that a new process computes."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    environment.pop(threads.ENVIRONMENT_VARIABLE, None)
    if num_threads is not None:
        environment[threads.ENVIRONMENT_VARIABLE] = num_threads
    process = subprocess.run(
        [sys.executable, "-m", "tests.contract.trajectories", *map(str, sizes)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
        text=True,
    )
    return json.loads(process.stdout)


@pytest.fixture(scope="module")
def digests():
    """Digests of this process, which also compiles the kernels for the others."""
    return all_digests([8])


@pytest.mark.slow
@pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")
@pytest.mark.parametrize(("hash_seed", "num_threads", "sizes"), PROCESSES)
def test_processes_threads_and_splits_agree(hash_seed, num_threads, sizes, digests):
    assert digests_of_process(hash_seed, num_threads, sizes) == digests


@pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")
def test_workers_of_a_pool_make_no_difference(digests):
    expected = dict(digests)
    pools = [name for name in expected if " in " in name]
    assert len(pools) == 2 * (sum(" in " in name for name in POOLS) + 1)
    for name in pools:
        case, _, worked = name.partition(" in ")
        alone = f"{case} {worked.split()[1]}"
        assert expected.pop(name) == expected[alone]
    assert len(set(expected.values())) == len(expected)


@pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")
@pytest.mark.parametrize(("case", "rows", "more"), WIDE)
def test_work_is_split_and_the_split_does_not_show(case, rows, more, monkeypatch):
    jobs = []
    run = ThreadTeam.run

    def counted(team, *job):
        jobs.append(job)
        run(team, *job)

    monkeypatch.setattr(ThreadTeam, "run", counted)
    digests = {}
    for num_threads in (1, 5):
        split_all(monkeypatch, num_threads)
        digests[num_threads] = digest_of(
            case, [rows], 8, "SameStep", num_threads=num_threads, **more
        )
        assert bool(jobs) == (num_threads > 1)
    assert len(set(digests.values())) == 1


@pytest.mark.parametrize("case", CASES)
def test_global_generators_are_neither_read_nor_seeded(case):
    import random

    states = []
    results = []
    other = make_batch(case)
    other.reset(seed=1000)
    for seed in (0, 1):
        random.seed(seed)
        np.random.seed(seed)
        env = make_batch(case)
        env.reset(seed=0)
        # Another batch beside the second run makes no difference either.
        results.append([])
        for row in draw_actions(env, 30):
            results[-1] += play(env, [row])
            if seed:
                other.step(row[::-1].copy())
        states.append((random.getstate(), np.random.get_state()[1].tolist()))
        random.seed(seed)
        np.random.seed(seed)
        fresh = random.getstate(), np.random.get_state()[1].tolist()
        assert states[-1] == fresh
    assert_same(results[0], results[1])
