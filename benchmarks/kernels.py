"""The part of a step in compiled code, and what moving its bytes would cost."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import batches
from benchmarks.tasks import Figure, Latency


@contextmanager
def time_kernels() -> Iterator[dict[str, float]]:
    """Time all calls of kernels from Python in the block; yield seconds by name.

    Each name of a kernel in a module of roll_vec stands for a timed call meanwhile.
    """
    seconds: dict[str, float] = {}

    def wrap(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return kernel(*arguments)
            finally:
                elapsed = time.perf_counter() - start
                seconds[kernel.__name__] = seconds.get(kernel.__name__, 0.0) + elapsed

        return call

    with ExitStack() as patches:
        for name, module in [*sys.modules.items()]:
            if name.partition(".")[0] != "roll_vec":
                continue
            for attribute, value in [*vars(module).items()]:
                # A function that numba compiles.
                if hasattr(value, "py_func") and hasattr(value, "signatures"):
                    patch = mock.patch.object(module, attribute, wrap(value))
                    patches.enter_context(patch)
        yield seconds


def share(id: str, num_envs: int, **keywords: Any) -> Figure:
    """Measure the share of a step in compiled code, on one thread."""
    env = batches.make(id, num_envs, num_threads=1, **keywords)
    actions = batches.draw_actions(env, 8)

    def measure(seconds: float) -> float:
        elapsed = 0.0
        with time_kernels() as inside:
            while elapsed < seconds or not elapsed:
                start = time.perf_counter()
                for batch in actions:
                    env.step(batch)
                elapsed += time.perf_counter() - start
        return 100 * sum(inside.values()) / elapsed

    return Figure(measure, "%", batches.settings_of(env, batches.levels_of(id)))


def copy_time(num_envs: int, num_bytes: int) -> Latency:
    """Copy arrays in which a step reads and writes so many bytes an environment.

    A copy of as many bytes as a step has to move is the floor of its time.
    """
    source = np.ones(max(num_envs * num_bytes // 2, 1), np.uint8)
    target = source.copy()

    def work() -> int:
        for _ in range(16):
            np.copyto(target, source)
        return 16

    settings = {"batch": num_envs, "levels": f"{num_bytes} bytes"}
    return Latency(work, "µs", settings, "mean")
