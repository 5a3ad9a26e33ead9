"""Python calls of a step, the caller's side: what `sys.setprofile` counts.

They cost more than what they do wherever a step takes microseconds, and unlike a time
they are the same on any machine.

    python -m benchmarks.step_calls
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import roll_vec

NUM_TEXTS, NUM_ROOMS = 64, 4096


def count_calls(function: Callable[[], Any]) -> int:
    """Return the number of Python functions that are called in this thread."""
    count = 0

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count - 1


def count_text_step(workers: int) -> int:
    """Return the calls of a step of Countdown in which nobody begins."""
    with_answers = ("1 + 2",) * NUM_TEXTS
    envs = roll_vec.make_vec("roll_vec/Countdown-v0", NUM_TEXTS, workers=workers)
    envs.reset(seed=0)
    # The first two load what the others have.
    for _ in range(2):
        envs.step(with_answers)
    count = count_calls(lambda: envs.step(with_answers))
    envs.close()
    return count


def count_room_begins() -> int:
    """Return the calls that begin an episode in all rooms, drawn before."""
    envs = roll_vec.make_vec("roll_vec/Sokoban-v0", NUM_ROOMS, prefetch=True)
    envs.reset(seed=0)
    env_ids = np.arange(NUM_ROOMS)
    counts = []
    for _ in range(4):
        time.sleep(3)
        counts.append(count_calls(lambda: envs.engine.advance(env_ids)))
    envs.close()
    # A busy machine may not have drawn them all in time.
    return min(counts)


if __name__ == "__main__":
    print(f"{NUM_TEXTS} Countdown, no workers:   {count_text_step(0):5}")
    print(f"{NUM_TEXTS} Countdown, 4 threads:    {count_text_step(4):5}")
    print(f"{NUM_ROOMS:,} rooms begin:          {count_room_begins():5}")
