"""FrozenLake-v1 by Gymnasium's `gymnasium.utils.performance`, which samples actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import pytest

from benchmarks.conftest import OURS, Versus

IDS = {OURS: "roll_vec/FrozenLake-v1", "Gymnasium": "FrozenLake-v1"}


def measure_with(name: str, env: Any) -> Callable[[], float]:
    """Return a function that returns the seconds of a step; the first call is over."""
    performance = pytest.importorskip("gymnasium.utils.performance")
    if not hasattr(performance, name):
        pytest.skip(f"no {name}: pip install 'gymnasium>=1.4'")
    ruler = getattr(performance, name)
    ruler(env, 0.01, seed=0)
    return lambda: 1 / ruler(env, 0.2, seed=0)


@pytest.mark.benchmark(group="ruler: benchmark_step, FrozenLake-v1")
@pytest.mark.parametrize("side", IDS)
def test_one(versus: Versus, side: str) -> None:
    env = gymnasium.make(IDS[side])
    versus.by_itself(measure_with("benchmark_step", env), "step")


@pytest.mark.benchmark(group="ruler: benchmark_vector_step, FrozenLake-v1")
@pytest.mark.parametrize("side", IDS)
def test_batch(versus: Versus, side: str) -> None:
    envs = gymnasium.make_vec(IDS[side], num_envs=4096 if side == OURS else 64)
    versus.by_itself(measure_with("benchmark_vector_step", envs), "step")
