"""Tasks: the same in every version, process, thread and order of levels."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from roll_vec.envs.countdown import Countdown
from roll_vec.errors import LevelGenerationError
from tests.conftest import JIT_OFF, ROOT
from tests.envs.countdown.tasks import list_tasks

# These never change: other tasks need a new version of the id.
PINNED = {
    0: ([70, 71, 22, 12], 67),
    1: ([93, 15, 70, 69], 31),
    2: ([86, 44, 56, 45], 90),
    3: ([79, 67, 64, 99], 81),
    10: ([15, 14, 71], 71),
    12345: ([97, 6, 67, 68], 63),
    2**32 - 1: ([20, 16, 81], 45),
    2**40: ([85, 54, 56, 14], 35),
}
PINNED_STREAM = [
    (7, [69, 51, 93, 80], 62),
    (3098854039, [25, 67, 8, 17], 66),
    (2790458877, [52, 80, 41], 13),
]
PINNED_OTHERS = [
    (
        {"num_numbers": 6, "number_range": (1, 100), "target_range": (100, 999)},
        [([71, 72, 22, 12, 84, 18], 746), ([94, 15, 71, 70, 100, 31], 314)],
    ),
    (
        {
            "num_numbers": (1, 2),
            "operators": "-",
            "number_range": (0, 9),
            "target_range": (-5, 5),
        },
        [([7, 7], 0), ([5, 9], 4), ([8, 4], 4)],
    ),
]


def test_tasks_are_pinned():
    env = Countdown()
    assert list_tasks(env, PINNED) == list(PINNED.values())
    assert list_tasks(env, reversed(PINNED)) == list(PINNED.values())[::-1]
    for keywords, expected in PINNED_OTHERS:
        assert list_tasks(Countdown(**keywords), range(len(expected))) == expected


def test_a_stream_is_pinned():
    env = Countdown()
    env.reset(seed=7)
    for expected in PINNED_STREAM:
        assert (env.level_seed, env.nums, env.target) == expected
        env.step("")
        env.reset()


def test_other_rewards_and_limits_leave_the_tasks_alone():
    env = Countdown(
        operators="/*-+", max_steps=3, score=5.0, max_tokens=99, unary_minus=True
    )
    assert list_tasks(env, PINNED) == list(PINNED.values())


CODE = """
from roll_vec.envs.countdown import Countdown
env = Countdown()
for seed in range(20):
    env.reset(seed=seed)
    print(env.nums, env.target, env.oracle_action)
"""


def test_processes_agree_whatever_their_hash_seed():
    variables = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": str(ROOT)}
    output = subprocess.run(
        [sys.executable, "-c", CODE],
        env=variables,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    env = Countdown()
    assert output.count("\n") == 20
    for seed, line in enumerate(output.splitlines()):
        env.reset(seed=seed)
        assert line == f"{env.nums} {env.target} {env.oracle_action}"


# numpy's error state, which the suite sets for uint64 to wrap, is one thread's.
@pytest.mark.skipif(JIT_OFF, reason="uint64 wraps silently only when compiled")
def test_threads_agree():
    def play(_):
        one = Countdown()
        other = Countdown(num_numbers=5, target_range=(1, 999))
        results = []
        for seed in range(60):
            results += list_tasks(one, [seed]) + list_tasks(other, [seed])
            results.append(one.step("1+2")[1:])
            results.append(other.step(other.oracle_action)[1:])
        return results

    expected = play(0)
    with ThreadPoolExecutor(8) as pool:
        for results in pool.map(play, range(16)):
            assert results == expected


def test_a_finite_set_of_levels():
    every = Countdown()
    env = Countdown(num_levels=5, start_level=100)
    assert list_tasks(env, range(12)) == list_tasks(
        every, [100 + s % 5 for s in range(12)]
    )
    assert env.level_seed == 11
    env.reset(seed=3)
    tasks = set()
    for _ in range(50):
        env.reset()
        tasks.add((tuple(env.nums), env.target))
    assert len(tasks) == 5


def test_options_without_a_task_move_nothing():
    env = Countdown(
        num_numbers=2, operators="+", number_range=(1, 4), target_range=(8, 9)
    )
    seeds = iter(range(10**6))
    # A sum of 8 is 4 + 4: rare for a draw, but there within a thousand of them.
    env.reset(seed=next(seeds))
    assert (env.nums, env.target) == ([4, 4], 8)

    env = Countdown(num_numbers=2, operators="+", target_range=(199, 200))
    with pytest.raises(LevelGenerationError, match=r"target_range=\(199, 200\)"):
        env.reset(seed=0)
    assert env.level_seed is None

    # Hardly any: some levels have a task, and one that has none comes after it.
    env = Countdown(
        num_numbers=2, operators="*", number_range=(0, 70), target_range=(4899, 4900)
    )
    num_tasks = num_errors = 0
    state = None
    for seed in range(50):
        try:
            env.reset(seed=seed)
        except LevelGenerationError:
            num_errors += 1
            if state is not None:
                assert env.get_state() == state
                assert env.step("70*70")[1] == 1.0
                state = None
        else:
            num_tasks += 1
            state = env.get_state()
    assert num_tasks
    assert num_errors
