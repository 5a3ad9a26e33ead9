"""Gymnasium's vector environments, and one FrozenLake-v1."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from benchmarks.spaces import describe, draw_actions
from benchmarks.tasks import Figure, Rate, Unavailable

SETTINGS = {"observation": "position, int64", "levels": "the 4x4 map"}


def steps(
    num_envs: int,
    mode: str = "sync",
    id: str = "FrozenLake-v1",
    levels_are: str = SETTINGS["levels"],
    keywords: Mapping[str, Any] = {},
) -> Rate:
    """Step a vector environment with actions drawn in advance.

    ``mode`` is Gymnasium's ``vectorization_mode``; ``id`` may be a class's
    ``module:name``, which takes the keywords.
    """
    game = EnvSpec("Plain-v0", entry_point=id) if ":" in id else id
    try:
        env = gymnasium.make_vec(
            game, num_envs=num_envs, vectorization_mode=mode, **keywords
        )
    except gymnasium.error.Error as error:
        raise Unavailable(str(error)) from None
    # About 0.02 s a call, at 100,000 steps a second.
    steps = max(2048 // num_envs, 2)
    batches = itertools.cycle(draw_actions(env.single_action_space, 128, num_envs))
    env.reset(seed=0)

    def work() -> int:
        for batch in itertools.islice(batches, steps):
            env.step(batch)
        return steps * num_envs

    # After 100 steps the environments are in different steps of their episodes.
    for _ in range(100 // steps + 1):
        work()
    settings = {"observation": describe(env.single_observation_space)}
    return Rate(work, "steps/s", {"batch": num_envs, **settings, "levels": levels_are})


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
