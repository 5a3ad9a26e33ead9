"""Trajectories depend on seeds and actions: not on processes, threads or batches.

Run as ``python -m tests.contract.test_determinism`` it is the new process: it reads
cases and files of snapshots from stdin, and writes digests of what it plays.
"""

import hashlib
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import roll_vec
from roll_vec import VectorState
from roll_vec.stacked import row_threads
from roll_vec.stacked.thread_team import ThreadTeam
from tests.conftest import JIT_OFF, ROOT
from tests.contract.cases import (
    ALL_CASES,
    CASES,
    SAME_STEP,
    assert_same,
    close_batches,
    draw_actions,
    explicit_action_start,
    make_batch,
    play,
)
from tests.splits import split_all

# Rows enough for several threads, for what is split: steps, rooms, maps, pictures.
WIDE = [
    ("roll_vec/FrozenLake-v1", 3000, {}),
    ("roll_vec/Sokoban-v0", 64, {"num_levels": 50}),
    ("roll_vec/Sokoban-v0", 64, {"dim_room": (5, 5), "num_boxes": 1}),
    ("roll_vec/Sokoban-v0", 2000, {"num_levels": 20, "obs_mode": "planes"}),
    ("roll_vec/RandomFrozenLake-v0", 300, {"obs_mode": "text"}),
    ("roll_vec/RandomFrozenLake-v0", 3000, {"num_levels": 200}),
]


def to_text(value):
    """Return a value as a text that shows every bit, dtype and key of it."""
    if isinstance(value, dict):
        items = sorted((key, to_text(item)) for key, item in value.items())
        return f"dict {items}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} {[to_text(item) for item in value]}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, np.ndarray):
        return f"objects {value.shape} {to_text(value.ravel().tolist())}"
    return f"{type(value).__name__} {value!r}"


def digests_of(runs):
    """Return a digest of all that each run gives: of a case, from a file or a reset."""
    digests = []
    for case, path in runs:
        env = make_batch(case, 8, autoreset_mode=SAME_STEP)
        if path is None:
            results = [env.reset(seed=9)]
        else:
            results = [env.set_state(VectorState.load(path, allow_pickle=True))]
        results.append(play(env, draw_actions(env, 24, seed=9)))
        digests.append(hashlib.sha256(to_text(results).encode()).hexdigest())
        close_batches()
    return digests


@pytest.mark.skipif(JIT_OFF, reason="children do not silence integers that wrap")
@pytest.mark.parametrize(
    ("hash_seed", "num_threads", "cases"),
    [
        ("1", "3", CASES),
        *(
            # Each process takes some seconds.
            pytest.param(*row, ALL_CASES, marks=pytest.mark.slow)
            for row in (("0", "1"), ("random", None), ("2", "2"))
        ),
    ],
)
def test_a_new_process_plays_the_same_and_goes_on_from_files(
    hash_seed, num_threads, cases, tmp_path
):
    runs = [(case, None) for case in cases]
    for i, case in enumerate(cases):
        env = make_batch(case, 8, autoreset_mode=SAME_STEP)
        env.reset(seed=5)
        play(env, draw_actions(env, 15 + i))
        runs.append((case, str(tmp_path / f"{i}.npz")))
        env.get_state().save(runs[-1][1])
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    environment.pop(row_threads.ENVIRONMENT_VARIABLE, None)
    if num_threads is not None:
        environment[row_threads.ENVIRONMENT_VARIABLE] = num_threads
    process = subprocess.run(
        [sys.executable, "-m", "tests.contract.test_determinism"],
        input=json.dumps(runs),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
        text=True,
    )
    digests = digests_of(runs)
    assert json.loads(process.stdout) == digests
    # Batches that differ in their workers play the same, and others do not.
    assert len(set(digests)) > len(digests) // 2


@pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")
@pytest.mark.parametrize(("id", "rows", "more"), WIDE)
def test_work_is_split_and_the_split_does_not_show(id, rows, more, monkeypatch):
    jobs = []
    run = ThreadTeam.run

    def counted(team, *job):
        jobs.append(job)
        run(team, *job)

    monkeypatch.setattr(ThreadTeam, "run", counted)
    results, more = [], {**more, **explicit_action_start(id)}
    for num_threads in (1, 5):
        split_all(monkeypatch, num_threads)
        env = roll_vec.make_vec(
            id, rows, max_episode_steps=7, num_threads=num_threads, **more
        )
        results.append([env.reset(seed=9), play(env, draw_actions(env, 9))])
        assert bool(jobs) == (num_threads > 1)
        env.close()
    assert_same(*results)


@pytest.mark.parametrize("case", CASES)
def test_global_generators_are_neither_read_nor_seeded(case):
    states, results = [], []
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


if __name__ == "__main__":
    sys.stdout.write(json.dumps(digests_of(json.load(sys.stdin))))
