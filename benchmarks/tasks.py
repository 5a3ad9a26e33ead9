"""The work of a contender that is measured; imports only the standard library."""

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
    """Work whose rate is measured: steps, rooms, tasks.

    Parameters
    ----------
    work : callable
        Does some work, for some hundredths of a second at most, and returns its amount.
    unit : str
        Unit of the rate, for example ``steps/s``.
    settings : dict
        Shown beside the rate: ``batch``, ``observation``, ``levels``.

    Attributes
    ----------
    details : dict
        Other figures of the last measurement, for the result.
    """

    work: Callable[[], float]
    unit: str
    settings: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict, init=False)

    def measure(self, seconds: float) -> float:
        """Work for about `seconds`; return the rate."""
        amount = 0.0
        start = time.perf_counter()
        while True:
            amount += self.work()
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                return amount / elapsed


@dataclass
class Latency(Rate):
    """Work that is timed call by call, in ``ms``.

    Parameters
    ----------
    statistic : "median" or "mean"
        Summary of the times of a round; they differ if a few calls take far longer.
    """

    statistic: str = "median"

    def measure(self, seconds: float) -> float:
        """Work for about `seconds`; return the time of a call in ms."""
        times: list[float] = []
        while sum(times) < seconds or not times:
            start = time.perf_counter()
            self.work()
            times.append(time.perf_counter() - start)
        summary = statistics.median if self.statistic == "median" else statistics.fmean
        return summary(times) * 1e3
