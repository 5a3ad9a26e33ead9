"""Fixtures: sizes for measuring or for a mere run, rates in the reports."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    # As plain Python the kernels are too slow to measure.
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def measuring(benchmark: Any) -> bool:
    """Return whether times are measured; if not, everything should be tiny."""
    return benchmark.enabled


@pytest.fixture
def report_rate(benchmark: Any) -> Callable[[str, float], None]:
    """Return a function that records a rate: a count over the median time."""

    def report(name: str, count: float) -> None:
        if benchmark.enabled:
            benchmark.extra_info[name] = count / benchmark.stats.stats.median

    return report
