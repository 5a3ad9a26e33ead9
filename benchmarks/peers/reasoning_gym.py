"""reasoning-gym's Countdown, with the ranges of roll_vec's."""

from __future__ import annotations

import itertools
from typing import Any

from reasoning_gym.games.countdown import CountdownConfig, CountdownDataset

from benchmarks.tasks import Rate

SETTINGS = {
    "batch": 1,
    "observation": "text",
    "levels": "3-4 numbers of 1-99, to 10-100",
}


def _dataset() -> Any:
    return CountdownDataset(
        CountdownConfig(
            min_numbers=3,
            max_numbers=4,
            min_value=1,
            max_value=99,
            min_target=10,
            max_target=100,
            seed=0,
            size=1 << 30,
        )
    )


def tasks() -> Rate:
    """Draw tasks one by one."""
    dataset, numbers = _dataset(), itertools.count()

    def work() -> int:
        for _ in range(20):
            dataset[next(numbers)]
        return 20

    return Rate(work, "tasks/s", SETTINGS)


def scores() -> Rate:
    """Score the correct answers that the dataset contains."""
    dataset = _dataset()
    entries = [dataset[i] for i in range(200)]

    def work() -> int:
        for entry in entries:
            dataset.score_answer(entry["metadata"]["expression"], entry)
        return len(entries)

    return Rate(work, "scores/s", SETTINGS)
