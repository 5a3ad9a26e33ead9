"""Python calls of a step, the caller's side: what `sys.setprofile` counts.

They cost more than what they do wherever a step takes microseconds, and unlike a time
they are the same on any machine.

    python -m benchmarks.step_calls
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import roll_vec

NUM_TEXTS = 64


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


if __name__ == "__main__":
    print(f"{NUM_TEXTS} Countdown, no workers:   {count_text_step(0):5}")
    print(f"{NUM_TEXTS} Countdown, 4 threads:    {count_text_step(4):5}")
