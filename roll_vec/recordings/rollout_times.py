"""Times of a rollout: of the game, its levels, the policy and the recording."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any


@dataclass
class RolloutTimes:
    """The seconds of a rollout, and the steps that were timed.

    Attributes
    ----------
    startup : float
        Of the first reset and step, and of calls that loaded or compiled kernels.
    game, levels, policy, recording : float
        Of all other calls: resets and steps; drawing levels, where no kernel draws them
        within the steps; the policy; the account of episodes and the recorder.
    env_steps : int
        Steps of single environments in these calls.
    """

    startup: float = 0.0
    game: float = 0.0
    levels: float = 0.0
    policy: float = 0.0
    recording: float = 0.0
    env_steps: int = 0

    @property
    def timed(self) -> float:
        """Seconds of the four parts together."""
        return self.game + self.levels + self.policy + self.recording


class RolloutClock:
    """Measures the parts of each call of a rollout.

    Attributes
    ----------
    times : RolloutTimes
        Of the calls that have ended.
    """

    def __init__(self) -> None:
        self.times = RolloutTimes()
        self._mark, self._num_kernels = perf_counter(), _count_kernels()
        self._parts = dict.fromkeys(("game", "levels", "policy", "recording"), 0.0)

    def end_part(self, name: str) -> None:
        """Add the time since the last part to a part of this call."""
        now = perf_counter()
        self._parts[name] += now - self._mark
        self._mark = now

    def end_call(self, env_steps: int, is_startup: bool) -> None:
        """Add the parts to the times, and begin the next call."""
        times, num_kernels = self.times, _count_kernels()
        if is_startup or num_kernels != self._num_kernels:
            self._num_kernels = num_kernels
            times.startup += sum(self._parts.values())
        else:
            times.env_steps += env_steps
            for name, seconds in self._parts.items():
                setattr(times, name, getattr(times, name) + seconds)
        self._parts = dict.fromkeys(self._parts, 0.0)

    @contextmanager
    def levels_of(self, env: Any) -> Iterator[None]:
        """Measure the time in which a batch of arrays draws levels."""
        engine = getattr(env.unwrapped, "engine", None)
        provider: Any = getattr(engine, "level_provider", None)
        draw = getattr(provider, "generate", None)
        if draw is None:
            yield
            return

        def timed_draw(seeds: Any) -> Any:
            self.end_part("game")
            try:
                return draw(seeds)
            finally:
                self.end_part("levels")

        provider.generate = timed_draw
        try:
            yield
        finally:
            provider.generate = draw


def _count_kernels() -> int:
    """Return how often this process has loaded or compiled a kernel."""
    # An import would load numba, which not every batch needs.
    module = sys.modules.get("roll_vec.kernels._notice")
    return 0 if module is None else module.NOTICE.num_kernels
