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
    """

    work: Callable[[], float]
    unit: str
    settings: dict[str, Any] = field(default_factory=dict)

    def measure(self, seconds: float) -> float:
        """Work for about `seconds`; return the rate."""
        amount = 0.0
        start = time.perf_counter()
        while True:
            amount += self.work()
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                return amount / elapsed


# Of the times of a round; they differ if a few calls take far longer.
STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "99 %": lambda times: sorted(times)[int(0.99 * (len(times) - 1))],
    "most": max,
}
UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6}


@dataclass
class Latency(Rate):
    """Work that is timed call by call; the unit is one of `UNITS`.

    The time of a call is divided by the amount that `work` returns.
    """

    statistic: str = "median"

    def measure(self, seconds: float) -> float:
        """Work for about `seconds`; return the time of a call."""
        times: list[float] = []
        spent = 0.0
        while spent < seconds or not times:
            start = time.perf_counter()
            amount = self.work()
            elapsed = time.perf_counter() - start
            times.append(elapsed / amount)
            spent += elapsed
        return STATISTICS[self.statistic](times) * UNITS[self.unit]


@dataclass
class Figure:
    """A figure that is no rate: a ratio of two sides in one process, or a share.

    Parameters
    ----------
    measure : callable
        Works for about so many seconds, for 0.0 as little as possible; returns the
        figure.
    unit, settings
        As of `Rate`.
    """

    measure: Callable[[float], float]
    unit: str
    settings: dict[str, Any] = field(default_factory=dict)


def in_turns(
    works: list[Callable[[], Any]], seconds: float, chunk: float = 0.008
) -> list[float]:
    """Return the seconds of a call of each work: medians of chunks in turns.

    Ratios of two processes spread more than a few per cent; those of one do not.
    """
    counts = []
    for work in works:
        start = time.perf_counter()
        work()
        counts.append(max(round(chunk / (time.perf_counter() - start)), 1))
    times: list[list[float]] = [[] for _ in works]
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop or not times[-1]:
        # Each is first in some of the rounds.
        shift = len(times[0]) % len(works)
        for side in [*range(shift, len(works)), *range(shift)]:
            start = time.perf_counter()
            for _ in range(counts[side] if seconds else 1):
                works[side]()
            elapsed = time.perf_counter() - start
            times[side].append(elapsed / (counts[side] if seconds else 1))
    return [statistics.median(each) for each in times]
