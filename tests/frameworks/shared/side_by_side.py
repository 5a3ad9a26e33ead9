"""Measurement in turns, and rows of results, for the programs of frameworks.

They run ``from side_by_side import measure, write``.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write(rows: list[dict[str, Any]]) -> None:
    """Write rows, as in `tests.frameworks.results`, to the file of the command line."""
    Path(sys.argv[1]).write_text(f"{json.dumps(rows)}\n", "utf-8")


def measure(
    what: str,
    theirs: Callable[[], int],
    ours: Callable[[], int],
    unit: str = "steps/s",
    result: str = "measured",
    seconds: float = 1.0,
    rounds: int = 5,
) -> dict[str, Any]:
    """Return a row with the median rates of two functions that are called in turns.

    They do some work, at least for ``seconds`` a round, and return how much: a number
    of steps, say.
    """
    for work in (theirs, ours):  # compiles, and fills caches
        work()
    rates: dict[str, list[float]] = {"theirs": [], "ours": []}
    for _ in range(rounds):
        for name, work in (("theirs", theirs), ("ours", ours)):
            gc.collect()
            count, start = 0, time.perf_counter()
            while True:
                count += work()
                duration = time.perf_counter() - start
                if duration >= seconds:
                    break
            rates[name].append(count / duration)
    medians = {name: float(f"{statistics.median(r):.4g}") for name, r in rates.items()}
    return {"what": what, "result": result, "unit": unit, **medians}
