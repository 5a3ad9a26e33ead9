"""Tasks of roll_vec's Countdown.

Countdown's tasks have 3 or 4 numbers from 1 to 99 and a target from 10 to 100.
`episodes` steps a batch in SAME_STEP mode with correct answers, so that each step of an
environment is a whole episode: answer, reward, the next task.
"""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import roll_vec  # noqa: F401 - registers the ids
from benchmarks.tasks import Rate
from roll_vec.envs.countdown import Countdown, solve
from roll_vec.envs.countdown.grading import AnswerGrader

ID = "roll_vec/Countdown-v0"
LEVELS = "3-4 numbers of 1-99, to 10-100"
SETTINGS = {"batch": 1, "observation": "text", "levels": LEVELS}


def tasks() -> Rate:
    """Draw one task a seed."""
    env, seeds = Countdown(), itertools.count()

    def work() -> int:
        for _ in range(1000):
            env.reset(seed=next(seeds))
        return 1000

    return Rate(work, "tasks/s", SETTINGS)


def scores() -> Rate:
    """Score correct answers."""
    env = Countdown()
    grader = AnswerGrader()
    solved = []
    for seed in range(1000):
        env.reset(seed=seed)
        solved.append((env.nums, env.target, str(env.oracle_action)))

    def work() -> int:
        correct = 0
        for nums, target, answer in solved:
            grader.set_task(nums, target)
            correct += grader.grade(answer)[0] == 0
        return correct

    return Rate(work, "scores/s", SETTINGS)


def episodes(num_envs: int, sync: bool = False, num_steps: int = 8) -> Rate:
    """Play a batch of roll_vec, or Gymnasium's SyncVectorEnv of its environments."""
    mode = AutoresetMode.SAME_STEP
    env: Any
    if sync:
        env = SyncVectorEnv(
            [lambda: gymnasium.make(ID)] * num_envs, autoreset_mode=mode
        )
    else:
        env = gymnasium.make_vec(ID, num_envs=num_envs, autoreset_mode=mode)
    answers = []
    observations, _ = env.reset(seed=0)
    for _ in range(num_steps):
        answers.append(tuple(map(_answer, observations)))
        observations = env.step(answers[-1])[0]

    def work() -> float:
        env.reset(seed=0)
        # The reward of a correct answer is 1.
        return float(sum(env.step(batch)[1].sum() for batch in answers))

    return Rate(work, "episodes/s", {**SETTINGS, "batch": num_envs})


def _answer(observation: str) -> str:
    """Return a correct answer to ``Target: 24, nums: [3, 8, 1]``."""
    target, _, nums = observation.removeprefix("Target: ").partition(", nums: ")
    return str(solve([int(n) for n in nums.strip("[]").split(", ")], int(target)))
