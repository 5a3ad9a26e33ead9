"""What a contender does when it is measured; needs nothing but Python."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Unavailable(Exception):
    """Raised when a contender cannot run here; the message is one line."""


@dataclass
class Rate:
    """Work that is counted: steps, rooms, tasks.

    Parameters
    ----------
    work : callable
        Do some work, for some hundredths of a second at most, and return how much.
    unit : str
        What a second of it is counted in, for example ``steps/s``.
    facts : dict
        What a reader must know besides: ``batch``, ``observation``, ``levels``.
    """

    work: Callable[[], float]
    unit: str
    facts: dict[str, Any] = field(default_factory=dict)

    def measure(self, seconds: float) -> float:
        """Work for about so many seconds; return the rate."""
        done = 0.0
        begun = time.perf_counter()
        while True:
            done += self.work()
            elapsed = time.perf_counter() - begun
            if elapsed >= seconds:
                return done / elapsed


@dataclass
class Latency(Rate):
    """Work that is timed call by call; its unit is ``ms``, of one call of a round.

    Parameters
    ----------
    statistic : "median" or "mean"
        Of the times of a round.  They differ where a few calls take far longer.
    """

    statistic: str = "median"

    def measure(self, seconds: float) -> float:
        """Work for about so many seconds; return the time of a call in ms."""
        times: list[float] = []
        while sum(times) < seconds or not times:
            begun = time.perf_counter()
            self.work()
            times.append(time.perf_counter() - begun)
        summary = statistics.median if self.statistic == "median" else statistics.fmean
        return summary(times) * 1e3
