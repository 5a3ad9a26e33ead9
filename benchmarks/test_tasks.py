"""Countdown's tasks and grades beside reasoning-gym; episodes beside SyncVectorEnv.

Tasks have 3 or 4 numbers from 1 to 99 and a target from 10 to 100.
"""

from __future__ import annotations

import itertools
from contextlib import closing
from typing import Any

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import roll_vec
from benchmarks import peers
from benchmarks.conftest import OURS, Versus
from roll_vec.envs.countdown import Countdown
from roll_vec.envs.countdown.grading import AnswerGrader

ID = "roll_vec/Countdown-v0"
THEIRS = "reasoning-gym"


def their_tasks() -> Any:
    """Return reasoning-gym's data set of such tasks."""
    peers.require("reasoning_gym")
    from reasoning_gym.games.countdown import CountdownConfig, CountdownDataset

    bounds = {"min_numbers": 3, "max_numbers": 4, "min_value": 1, "max_value": 99}
    bounds |= {"min_target": 10, "max_target": 100, "seed": 0, "size": 1 << 30}
    return CountdownDataset(CountdownConfig(**bounds))


@pytest.mark.benchmark(group="Countdown: tasks")
@pytest.mark.parametrize("side", [OURS, THEIRS])
def test_tasks(versus: Versus, side: str) -> None:
    numbers = itertools.count()
    if side == OURS:
        env = Countdown()
        versus(lambda: env.reset(seed=next(numbers)), unit="task")
    else:
        tasks = their_tasks()
        versus(lambda: tasks[next(numbers)], unit="task")


@pytest.mark.benchmark(group="Countdown: grades")
@pytest.mark.parametrize("side", [OURS, THEIRS])
def test_grades(versus: Versus, side: str) -> None:
    if side == OURS:
        env, grader, answers = Countdown(), AnswerGrader(), []
        for seed in range(100):
            env.reset(seed=seed)
            answers.append((env.nums, env.target, str(env.oracle_action)))

        def grade() -> None:
            for numbers, target, answer in answers:
                grader.set_task(numbers, target)
                grader.grade(answer)
    else:
        tasks = their_tasks()
        entries = [tasks[number] for number in range(100)]

        def grade() -> None:
            for entry in entries:
                tasks.score_answer(entry["metadata"]["expression"], entry)

    versus(grade, 100, "grade")


@pytest.mark.benchmark(group="Countdown: episodes, 1,024 environments")
@pytest.mark.parametrize("side", [OURS, "SyncVectorEnv"])
def test_episodes(versus: Versus, side: str) -> None:
    mode, num_envs = AutoresetMode.SAME_STEP, 1024
    envs: Any
    if side == OURS:
        envs = gymnasium.make_vec(ID, num_envs=num_envs, autoreset_mode=mode)
    else:
        makers = [lambda: gymnasium.make(ID)] * num_envs
        envs = SyncVectorEnv(makers, autoreset_mode=mode)
    answers = []
    with closing(roll_vec.make_vec(ID, num_envs, autoreset_mode=mode)) as copies:
        copies.reset(seed=0)
        for _ in range(8):
            answers.append(tuple(texts[0] for texts in copies.solve()))
            copies.step(answers[-1])

    def play() -> None:
        # An episode is one correct answer.
        envs.reset(seed=0)
        for texts in answers:
            envs.step(texts)

    versus(play, 8 * num_envs, "episode", close=envs.close)
