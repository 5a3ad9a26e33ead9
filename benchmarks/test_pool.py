"""Pools of Python objects beside Gymnasium's vector environments of the same objects.

Cheap ones (CartPole of Gymnasium), ones that compute for a millisecond, and ones that
wait for ten, as for a model behind a network.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from benchmarks.batches import steps
from benchmarks.conftest import OURS, Versus
from roll_vec import PoolVectorEnv

# Workers are no forks: libraries of other groups may run threads.
CONTEXT = "forkserver"
multiprocessing.set_forkserver_preload(["gymnasium.vector", "roll_vec.pool"])


CART_POLE = partial(gymnasium.make, "CartPole-v1", disable_env_checker=True)


class Slow(gymnasium.Env[Any, Any]):
    """An environment whose step computes, or waits, for some seconds."""

    action_space = Discrete(2)
    observation_space = Box(0.0, 1.0, (4,), np.float32)

    def __init__(self, computes: float = 0.0, waits: float = 0.0) -> None:
        self.computes, self.waits = computes, waits
        self.num_steps = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Begin an episode of 50 steps."""
        super().reset(seed=seed)
        self.num_steps = 0
        return np.zeros(4, np.float32), {}

    def step(self, action: Any) -> Any:
        """Compute and wait."""
        stop = time.perf_counter() + self.computes
        while time.perf_counter() < stop:
            pass
        if self.waits:
            time.sleep(self.waits)
        self.num_steps += 1
        return np.zeros(4, np.float32), 1.0, self.num_steps == 50, False, {}


def measure(versus: Versus, envs: Any, num_steps: int) -> None:
    envs.reset(seed=0)
    versus(*steps(envs, num_steps), close=envs.close)


def make(side: str, makers: list[Callable[[], Any]], **keywords: Any) -> Any:
    """Return a vector environment; the keywords are those of the pool."""
    if side == OURS:
        return PoolVectorEnv(makers, **keywords)
    if side == "AsyncVectorEnv":
        return AsyncVectorEnv(makers, context=CONTEXT)
    return SyncVectorEnv(makers)


@pytest.mark.benchmark(group="pool: 256 CartPoles of Gymnasium, no workers")
@pytest.mark.parametrize("side", [OURS, "SyncVectorEnv"])
def test_cheap(versus: Versus, side: str) -> None:
    measure(versus, make(side, [CART_POLE] * 256), 16)


@pytest.mark.benchmark(group="pool: 16 that compute 1 ms, two processes")
@pytest.mark.parametrize("side", [OURS, "AsyncVectorEnv", "SyncVectorEnv"])
def test_processes(versus: Versus, side: str) -> None:
    workers = {"workers": 2, "executor": "process", "context": CONTEXT}
    measure(versus, make(side, [partial(Slow, computes=0.001)] * 16, **workers), 4)


@pytest.mark.benchmark(group="pool: 16 that wait 10 ms, 16 threads")
@pytest.mark.parametrize("side", [OURS, "AsyncVectorEnv", "SyncVectorEnv"])
def test_threads(versus: Versus, side: str) -> None:
    measure(versus, make(side, [partial(Slow, waits=0.01)] * 16, workers=16), 1)
