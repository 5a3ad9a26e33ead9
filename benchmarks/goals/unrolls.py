"""Unrolls of many steps beside steps whose results are stored."""

from __future__ import annotations

import time

import numpy as np

from benchmarks import unroll_scale
from benchmarks.batches import settings_of
from benchmarks.tasks import Rate


class UnrollRatio(Rate):
    """The time of steps whose results are stored over that of one `unroll`.

    Both write into arrays that exist already, and take turns.
    """

    def __init__(self, game: str, num_envs: int, num_steps: int) -> None:
        self._env = unroll_scale.make(game, num_envs, None, "NextStep")
        low = int(self._env.single_action_space.start)
        rng = np.random.default_rng(0)
        self._plan = rng.integers(low, low + 4, (num_steps, num_envs))
        self._outs = [self._env.unroll(self._plan) for _ in range(2)]
        levels = "the 4x4 map"
        if "num_levels" in unroll_scale.GAMES[game][1]:
            levels = "4096 levels drawn before"
        super().__init__(lambda: 0, "× as fast", settings_of(self._env, levels))

    def measure(self, seconds: float) -> float:
        """Take turns for about ``seconds``; return the ratio of the sums."""
        sums = [0.0, 0.0]
        while sum(sums) < seconds or not sums[0]:
            for side, work in enumerate((self._step, self._unroll)):
                start = time.perf_counter()
                work()
                sums[side] += time.perf_counter() - start
        return sums[0] / sums[1]

    def _step(self) -> None:
        unroll_scale.step_all(self._env, self._plan, self._outs[0])

    def _unroll(self) -> None:
        self._env.unroll(self._plan, out=self._outs[1])


def unroll_ratio(game: str, num_envs: int = 4096, num_steps: int = 128) -> Rate:
    """Compare `unroll` with ``out`` with steps; a game of `unroll_scale.GAMES`."""
    return UnrollRatio(game, num_envs, num_steps)
