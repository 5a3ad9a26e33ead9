"""Steps of any id: its own batch, or Gymnasium's SyncVectorEnv of its environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.vector import SyncVectorEnv

import roll_vec  # noqa: F401 - registers the ids
from benchmarks.batches import settings_of
from benchmarks.tasks import Rate

# Keywords of a batch, which `gymnasium.make` does not take.
BATCH_KEYWORDS = {
    *("context", "executor", "num_threads", "reset_timeout"),
    *("step_timeout", "workers"),
}


def steps(
    id: str, num_envs: int, keywords: Mapping[str, Any], sync: bool = False
) -> Rate:
    """Step with actions drawn from the action space in advance."""
    env: Any
    if sync:
        single = {key: keywords[key] for key in keywords.keys() - BATCH_KEYWORDS}
        env = SyncVectorEnv([lambda: gymnasium.make(id, **single)] * num_envs)
    else:
        env = gymnasium.make_vec(id, num_envs=num_envs, **keywords)
    env.action_space.seed(0)
    batches = [env.action_space.sample() for _ in range(max(512 // num_envs, 2))]
    env.reset(seed=0)

    def work() -> int:
        for batch in batches:
            env.step(batch)
        return len(batches) * num_envs

    return Rate(work, "steps/s", settings_of(env, f"as {id} has them", "array"))
