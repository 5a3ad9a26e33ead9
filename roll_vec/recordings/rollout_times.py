"""Times of a rollout: of the game, its levels, the policy and the recording."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

_PARTS = ("game", "drawing levels", "policy", "recording")


class RolloutTimes:
    """Measures each call of a rollout: a reset or a step, and the work around it.

    Attributes
    ----------
    startup : float
        Seconds of the first reset and step, and of calls that loaded or compiled
        kernels.
    parts : dict of str to float
        Seconds of all other calls.  ``game``: resets and steps; ``drawing levels``, if
        steps do not draw them in a kernel; ``policy``; ``recording``: the account of
        episodes and the recorder.
    env_steps : int
        Steps of single environments in these calls.
    """

    def __init__(self) -> None:
        self.startup, self.env_steps = 0.0, 0
        self.parts, self._call = dict.fromkeys(_PARTS, 0.0), dict.fromkeys(_PARTS, 0.0)
        self._mark, self._num_kernels = perf_counter(), _count_kernels()

    @property
    def seconds(self) -> float:
        """Seconds of all parts together."""
        return sum(self.parts.values())

    def end_part(self, name: str) -> None:
        """Add the time since the last part to a part of this call."""
        now = perf_counter()
        self._call[name] += now - self._mark
        self._mark = now

    def end_call(self, env_steps: int, is_startup: bool) -> None:
        """Add the parts of this call, and begin the next one."""
        before, self._num_kernels = self._num_kernels, _count_kernels()
        if is_startup or self._num_kernels != before:
            self.startup += sum(self._call.values())
        else:
            self.env_steps += env_steps
            for name, seconds in self._call.items():
                self.parts[name] += seconds
        self._call = dict.fromkeys(_PARTS, 0.0)

    @contextmanager
    def measure_levels(self, env: Any) -> Iterator[None]:
        """Add the time in which a batch of arrays draws levels to that part."""
        engine = getattr(env.unwrapped, "engine", None)
        provider: Any = getattr(engine, "level_provider", None)
        draw: Any = getattr(provider, "generate", None)

        def timed_draw(seeds: Any) -> Any:
            self.end_part("game")
            levels = draw(seeds)
            self.end_part("drawing levels")
            return levels

        if draw is not None:
            provider.generate = timed_draw
        try:
            yield
        finally:
            if draw is not None:
                provider.generate = draw


def _count_kernels() -> int:
    """Return how many kernels this process has loaded or compiled."""
    # An import would load numba, which not every batch needs.
    module = sys.modules.get("roll_vec.kernels._notice")
    return 0 if module is None else module.NOTICE.num_kernels
