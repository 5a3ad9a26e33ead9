"""Costs of steps: a step of few environments, threads beside one thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from benchmarks import batches
from benchmarks.tasks import Rate

SIZES = (64, 256, 1024, 4096, 16384, 65536, 262144)
# Chunks of both sides at each size, one after the other, in every round.
CHUNKS = 21
CHUNK_SECONDS = 0.008


class StepTime(Rate):
    """The mean time of a step, in ``µs``; `work` returns the number of calls."""

    def measure(self, seconds: float) -> float:
        """Work for about `seconds`; return microseconds."""
        return 1e6 / super().measure(seconds)


class WorstRatio(Rate):
    """Rates of automatic threads over those of one thread: the least of some sizes.

    Both sides of a size take turns chunk by chunk, in one process: ratios of separate
    processes spread more than the 5 % that this looks for.  Its ``details`` have the
    ``ratios`` by size, each the median over the chunks.
    """

    def __init__(
        self, id: str, sizes: Sequence[int], settings: dict[str, Any], **keywords: Any
    ) -> None:
        super().__init__(lambda: 0, "× as fast", settings)
        self._pairs = {}
        for size in sizes:
            pair = [
                batches.make(id, size, num_threads=threads, **keywords)
                for threads in (None, 1)
            ]
            self._pairs[size] = pair, batches.draw_actions(pair[0], 16)

    def measure(self, seconds: float) -> float:
        """Measure all sizes; without any `seconds` in one chunk."""
        chunks = CHUNKS if seconds else 1
        ratios = {}
        for size, (pair, actions) in self._pairs.items():
            # All chunks of a size have as many steps.
            start = time.perf_counter()
            pair[1].step(actions[0])
            pair[1].step(actions[1])
            estimate = (time.perf_counter() - start) / 2
            num_steps = max(round(CHUNK_SECONDS / estimate), 2) if seconds else 1
            values = []
            for chunk in range(chunks):
                # Each side is first in half of the chunks.
                order = (0, 1) if chunk % 2 else (1, 0)
                times = {
                    side: self._time(pair[side], actions, num_steps) for side in order
                }
                values.append(times[1] / times[0])
            ratios[size] = statistics.median(values)
        rounded = {str(size): round(ratio, 3) for size, ratio in ratios.items()}
        self.details = {"ratios": rounded}
        return min(ratios.values())

    @staticmethod
    def _time(env: Any, actions: Any, num_steps: int) -> float:
        step = env.step
        step(actions[-1])
        start = time.perf_counter()
        for number in range(num_steps):
            step(actions[number % len(actions)])
        return time.perf_counter() - start


def step_time(id: str, num_envs: int, **keywords: Any) -> Rate:
    """Step some environments in different steps of their episodes; the mean."""
    env = batches.make(id, num_envs, **keywords)
    actions = batches.draw_actions(env, 256)

    def work() -> int:
        for batch in actions:
            env.step(batch)
        return len(actions)

    return StepTime(work, "µs", batches.settings_of(env, _levels(id)))


def worst_ratio(id: str, sizes: Sequence[int] = SIZES, **keywords: Any) -> Rate:
    """Compare automatic threads with one thread at several sizes; the least ratio."""
    settings = {
        "batch": max(sizes),
        "observation": "any of these sizes: " + ", ".join(f"{n:,}" for n in sizes),
        "levels": _levels(id),
    }
    return WorstRatio(id, sizes, settings, **keywords)


def _levels(id: str) -> str:
    if id == batches.FROZEN_LAKE:
        return "the 4x4 map"
    return "6x6, 3 boxes, rooms drawn before"
