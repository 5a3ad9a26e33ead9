"""Jumanji's games, vectorised and compiled by XLA for the CPU.

It is fastest as one scan over many steps whose observations are thrown away; a Python
loop with numpy arrays after each step is slower.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jumanji
import numpy as np
from jumanji.environments.routing.sokoban.env import Sokoban
from jumanji.environments.routing.sokoban.generator import HuggingFaceDeepMindGenerator
from jumanji.wrappers import VmapAutoResetWrapper

from benchmarks.spaces import draw_actions
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
    """Step Sokoban with the levels of a file."""
    game = Sokoban(generator=_generator(levels))
    levels_are = f"{len(np.load(levels))} given levels"
    return _step(game, num_envs, mode, levels_are, "two grids, 10x10x2 uint8")


def steps(num_envs: int, id: str, levels_are: str) -> Rate:
    """Step one of its games as one scan; ``levels_are`` is for the table."""
    return _step(jumanji.make(id), num_envs, "scan", levels_are)


def _step(
    game: Any, num_envs: int, mode: str, levels_are: str, observation: str = ""
) -> Rate:
    """Step as one scan (``scan``), or one call a step, to numpy (``step``)."""
    env = VmapAutoResetWrapper(game)
    steps = SCANNED_STEPS if mode == "scan" else max(8192 // num_envs, 2)
    actions = draw_actions(env.action_spec, steps, num_envs)
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

    if mode == "scan":
        observation = "not kept"
    settings = {"batch": num_envs, "observation": observation, "levels": levels_are}
    return Rate(work_scanned if mode == "scan" else work_by_step, "steps/s", settings)
