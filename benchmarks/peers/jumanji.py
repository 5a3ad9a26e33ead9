"""Jumanji's Sokoban-v0, vectorised and compiled by XLA for the CPU.

It is fastest as one scan over many steps whose observations are thrown away; a Python
loop with numpy arrays after each step is slower.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jumanji.environments.routing.sokoban.env import Sokoban
from jumanji.environments.routing.sokoban.generator import HuggingFaceDeepMindGenerator
from jumanji.wrappers import VmapAutoResetWrapper

from benchmarks.tasks import Rate

SCANNED_STEPS = 128


def _generator(levels: str) -> Any:
    """Return Jumanji's generator with the levels of a file.

    Its own constructor downloads them.
    """
    arrays = np.load(levels)
    generator = object.__new__(HuggingFaceDeepMindGenerator)
    generator._fixed_grids = jnp.asarray(arrays[..., 0], jnp.uint8)
    generator._variable_grids = jnp.asarray(arrays[..., 1], jnp.uint8)
    return generator


def sokoban(num_envs: int, levels: str, mode: str = "scan") -> Rate:
    """Step as one scan (``scan``), or one call a step, to numpy (``step``)."""
    env = VmapAutoResetWrapper(Sokoban(generator=_generator(levels)))
    steps = SCANNED_STEPS if mode == "scan" else max(8192 // num_envs, 2)
    actions = np.random.default_rng(0).integers(0, 4, (steps, num_envs), np.int32)
    keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
    state, _ = jax.jit(env.reset)(keys)

    def one(state: Any, batch: Any) -> Any:
        state, timestep = env.step(state, batch)
        return state, timestep.reward

    scan = jax.jit(lambda state, batches: jax.lax.scan(one, state, batches))
    step = jax.jit(env.step)
    on_device = jnp.asarray(actions)

    def work_scanned() -> int:
        nonlocal state
        state, rewards = scan(state, on_device)
        jax.block_until_ready((state, rewards))
        return steps * num_envs

    def work_by_step() -> int:
        nonlocal state
        for batch in actions:
            state, timestep = step(state, batch)
            np.asarray(timestep.observation.grid)
            np.asarray(timestep.reward)
        return steps * num_envs

    observation = "not kept" if mode == "scan" else "two grids, 10x10x2 uint8"
    settings = {"batch": num_envs, "observation": observation}
    settings["levels"] = f"{len(np.load(levels))} given levels"
    return Rate(work_scanned if mode == "scan" else work_by_step, "steps/s", settings)
