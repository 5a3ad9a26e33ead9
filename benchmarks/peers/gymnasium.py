"""Gymnasium's FrozenLake-v1: SyncVectorEnv, AsyncVectorEnv, and one environment."""

from __future__ import annotations

import gymnasium
import numpy as np

from benchmarks.tasks import Figure, Rate, Unavailable

SETTINGS = {"observation": "position, int64", "levels": "the 4x4 map"}


def frozen_lake(num_envs: int, mode: str = "sync") -> Rate:
    """Step a vector environment with actions drawn in advance."""
    env = gymnasium.make_vec(
        "FrozenLake-v1", num_envs=num_envs, vectorization_mode=mode
    )
    # About 0.02 s a call, at 100,000 steps a second.
    steps = max(2048 // num_envs, 2)
    actions = np.random.default_rng(0).integers(0, 4, (steps, num_envs))
    env.reset(seed=0)

    def work() -> int:
        for batch in actions:
            env.step(batch)
        return steps * num_envs

    # After 100 steps the environments are in different steps of their episodes.
    for _ in range(100 // steps + 1):
        work()
    return Rate(work, "steps/s", {"batch": num_envs, **SETTINGS})


def ruler(id: str, num_envs: int) -> Figure:
    """Measure with Gymnasium's own `benchmark_vector_step`, which samples actions."""
    try:
        from gymnasium.utils.performance import benchmark_vector_step
    except ImportError:
        raise Unavailable("benchmark_vector_step: needs gymnasium 1.4") from None
    env = gymnasium.make_vec(id, num_envs=num_envs)

    def measure(seconds: float) -> float:
        return benchmark_vector_step(env, seconds, seed=0)

    return Figure(measure, "steps/s", {"batch": num_envs, **SETTINGS})


def single(id: str = "FrozenLake-v1") -> Rate:
    """Step one environment without wrappers, reset when an episode ends."""
    env = gymnasium.make(id).unwrapped
    actions = [int(a) for a in np.random.default_rng(0).integers(0, 4, 10_000)]
    env.reset(seed=0)

    def work() -> int:
        step = env.step
        for action in actions:
            _, _, terminated, truncated, _ = step(action)
            if terminated or truncated:
                env.reset()
        return len(actions)

    return Rate(work, "steps/s", {"batch": 1, **SETTINGS})
