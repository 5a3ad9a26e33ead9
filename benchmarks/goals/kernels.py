"""The share of a step that is spent in compiled code."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from benchmarks import batches
from benchmarks.tasks import Rate


@contextmanager
def time_kernels() -> Iterator[list[float]]:
    """Time all calls of kernels from Python in the block; yield the sum of seconds.

    Each name of a kernel in a module of roll_vec stands for a timed call meanwhile.
    """
    seconds = [0.0]

    def wrap(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return kernel(*arguments)
            finally:
                seconds[0] += time.perf_counter() - start

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


class KernelShare(Rate):
    """The share of `step` in compiled code, in ``%``, on one thread."""

    def __init__(self, id: str, num_envs: int, **keywords: Any) -> None:
        self._env = batches.make(id, num_envs, num_threads=1, **keywords)
        self._actions = batches.draw_actions(self._env, 8)
        levels = "6x6, 3 boxes, rooms drawn before"
        if id == batches.FROZEN_LAKE:
            levels = "the 4x4 map"
        super().__init__(lambda: 0, "%", batches.settings_of(self._env, levels))

    def measure(self, seconds: float) -> float:
        """Step for about ``seconds``; return the percentage."""
        step, elapsed = self._env.step, 0.0
        with time_kernels() as inside:
            while elapsed < seconds or not elapsed:
                start = time.perf_counter()
                for actions in self._actions:
                    step(actions)
                elapsed += time.perf_counter() - start
        return 100 * inside[0] / elapsed


def kernel_share(id: str, num_envs: int, **keywords: Any) -> Rate:
    """Measure how much of a step is compiled code."""
    return KernelShare(id, num_envs, **keywords)
