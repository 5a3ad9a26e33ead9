"""Seeds, and that trajectories depend on them and on actions alone.

They do not depend on processes, threads or batches.  That each environment has a stream
of its own, which partial resets let go on, is what the public checker and the lockstep
with SyncVectorEnv say of every case.

Run as ``python -m tests.contract.test_determinism`` this is the new process: it reads
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
from tests.conftest import JIT_OFF, ROOT
from tests.contract import cases
from tests.golden import update_digest
from tests.splits import count_runs, split_all

# Rows enough for several threads, for what is split: steps, rooms, maps, pictures.
START = {"action_start": 1}
WIDE = [
    ("roll_vec/FrozenLake-v1", 3000, {}),
    ("roll_vec/CartPole-v1", 3000, {}),
    ("roll_vec/Sokoban-v0", 64, {"num_levels": 50, **START}),
    ("roll_vec/Sokoban-v0", 64, {"dim_room": (5, 5), "num_boxes": 1, **START}),
    ("roll_vec/Sokoban-v0", 2000, {"num_levels": 20, "obs_mode": "planes", **START}),
    ("roll_vec/RandomFrozenLake-v0", 300, {"obs_mode": "text", **START}),
    ("roll_vec/RandomFrozenLake-v0", 3000, {"num_levels": 200, **START}),
]


def digests_of(runs):
    """Return a digest of all that each run gives: of a case, from a file or a reset."""
    digests, before = [], global_generators()
    for case, path in runs:
        env = cases.make_batch(case, 8, autoreset_mode=cases.SAME_STEP)
        if path is None:
            results = [env.reset(seed=9)]
        else:
            results = [env.set_state(VectorState.load(path, allow_pickle=True))]
        results.append(cases.play(env, cases.draw_actions(env, 24, seed=9)))
        digest = hashlib.sha256()
        update_digest(digest, results)
        digests.append(digest.hexdigest())
        cases.close_batches()
    assert global_generators() == before
    return digests


def global_generators():
    """Return the states of the generators that belong to all of a process."""
    return random.getstate(), np.random.get_state()[1].tolist()


def play_in_a_new_process(runs, hash_seed, num_threads):
    """Return the digests of runs."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.contract.test_determinism"],
        input=json.dumps(runs),
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "ROLL_VEC_NUM_THREADS": num_threads,
        },
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
        text=True,
    )
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.skipif(JIT_OFF, reason="children do not silence integers that wrap")
@pytest.mark.parametrize(
    ("hash_seed", "num_threads", "names"),
    [
        ("1", "3", cases.CASES),
        # A process takes some seconds.
        pytest.param("random", "1", cases.ALL_CASES, marks=pytest.mark.slow),
    ],
)
def test_a_new_process_plays_the_same_and_goes_on_from_files(
    hash_seed, num_threads, names, tmp_path
):
    runs = [(case, None) for case in names]
    for i, case in enumerate(names):
        env = cases.make_batch(case, 8, autoreset_mode=cases.SAME_STEP)
        env.reset(seed=5)
        cases.play(env, cases.draw_actions(env, 15 + i))
        runs.append((case, str(tmp_path / f"{i}.npz")))
        env.get_state().save(runs[-1][1])
    digests = digests_of(runs)
    assert play_in_a_new_process(runs, hash_seed, num_threads) == digests
    # Batches that differ in their workers play the same, and others do not.
    assert len(set(digests)) > len(digests) // 2


@pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")
@pytest.mark.parametrize(("id", "rows", "more"), WIDE)
def test_work_is_split_and_the_split_does_not_show(id, rows, more, monkeypatch):
    runs = count_runs(monkeypatch)
    results = []
    # An unroll is split as well, and its environments wait for levels every 16 steps.
    monkeypatch.setattr("roll_vec.arrays.engine.STEPS_AT_ONCE", 1)
    monkeypatch.setattr("roll_vec.arrays.engine.STEP_ROWS_PER_THREAD", 0)
    for num_threads in (1, 5):
        split_all(monkeypatch, num_threads)
        keywords = {"max_episode_steps": 7, "num_threads": num_threads, **more}
        env = roll_vec.make_vec(id, rows, **keywords)
        results.append([env.reset(seed=9), cases.play(env, cases.draw_actions(env, 9))])
        assert bool(runs) == (num_threads > 1)
        results[-1].append(tuple(env.unroll(cases.draw_actions(env, 20, seed=1))))
        env.close()
        env = roll_vec.make_vec(id, rows, autoreset_mode=cases.SAME_STEP, **keywords)
        env.reset(seed=9)
        results[-1].append(cases.play(env, cases.draw_actions(env, 9)))
        env.close()
    cases.assert_same(*results)


@pytest.mark.parametrize("case", cases.ARRAY_AND_POOL)
def test_a_first_reset_without_seeds_draws_entropy(case):
    env, again, other = (cases.make_batch(case, 4, group_size=2) for _ in range(3))
    assert env.np_random_seed == (None,) * 4
    start = env.reset()
    seeds = env.np_random_seed
    assert all(type(seed) is int and 0 <= seed < 2**64 for seed in seeds)
    # One a group, that can be used again.
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
    cases.assert_same(again.reset(seed=seeds), start)
    actions = cases.draw_actions(env, 30)
    cases.assert_same(cases.play(again, actions), cases.play(env, actions))
    env.reset()
    assert env.np_random_seed == seeds
    other.reset(seed=[None, 7, None, None])
    drawn = other.np_random_seed
    assert drawn[1] == 7
    assert drawn[2] == drawn[3]
    assert len({*drawn, *seeds}) == 5


if __name__ == "__main__":
    sys.stdout.write(json.dumps(digests_of(json.load(sys.stdin))))
