"""gymnax's games, vectorised and compiled by XLA for the CPU.

The map, chances of slipping, rewards and step limit of FrozenLake-misc are those of
FrozenLake-v1.  Three things differ, in all games.  It resets within the step that ends
an episode, and draws the start of a next episode in every step.  Its random numbers are
JAX's, from one key a step.  Its positions are int32, its floats float32.

It is fastest as one scan over many steps whose results are thrown away.
"""

from __future__ import annotations

from typing import Any

import gymnax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.spaces import draw_actions
from benchmarks.tasks import Rate

SCANNED_STEPS = 128
# By mode, what is left of the results of a scan, or given to the caller by a step.
OBSERVATIONS = {
    "scan": "not kept, the sum of rewards alone",
    "kept": "position, int32, kept in JAX's arrays",
    "step": "position, int32, as numpy",
}


def steps(
    num_envs: int,
    mode: str = "scan",
    id: str = "FrozenLake-misc",
    levels_are: str = "the 4x4 map",
    **keywords: Any,
) -> Rate:
    """Step one of its games.

    Parameters
    ----------
    num_envs : int
    mode : "scan", "kept" or "step"
        One scan over `SCANNED_STEPS` steps whose results are thrown away; the same with
        all results stacked; one call a step whose results become numpy arrays.
    id, levels_are : str
        The game, and what its levels are, for the table.
    **keywords
        Of the game.
    """
    env, options = gymnax.make(id, **keywords)
    steps = max(8192 // num_envs, 2) if mode == "step" else SCANNED_STEPS
    actions = draw_actions(env.action_space(options), steps, num_envs)
    key = jax.random.PRNGKey(0)
    _, state = jax.jit(jax.vmap(env.reset, (0, None)))(
        jax.random.split(key, num_envs), options
    )
    step_envs = jax.vmap(env.step, (0, 0, 0, None))

    def one(carry: Any, batch: Any) -> tuple[Any, Any]:
        """Return the next carry, and observations, rewards and both ends."""
        key, state = carry
        key, own = jax.random.split(key)
        observation, state, *results, _ = step_envs(
            jax.random.split(own, num_envs), state, batch, options
        )
        return (key, state), (observation, *results)

    def add_rewards(carry: Any, batch: Any) -> tuple[Any, None]:
        inner, total = carry
        inner, (_, rewards, *_) = one(inner, batch)
        return (inner, total + rewards), None

    step = jax.jit(one)
    scan = jax.jit(lambda carry, batches: jax.lax.scan(one, carry, batches))
    sums = jax.jit(lambda carry, batches: jax.lax.scan(add_rewards, carry, batches)[0])
    carry: Any = (key, state)
    if mode == "scan":
        carry = (carry, jnp.zeros(num_envs, jnp.float32))
    on_device = jnp.asarray(actions)

    def work_by_sums() -> int:
        nonlocal carry
        carry = sums(carry, on_device)
        jax.block_until_ready(carry)
        return steps * num_envs

    def work_kept() -> int:
        nonlocal carry
        carry, results = scan(carry, on_device)
        jax.block_until_ready(results)
        return steps * num_envs

    def work_by_step() -> int:
        nonlocal carry
        for batch in actions:
            carry, results = step(carry, batch)
            for result in results:
                np.asarray(result)
        return steps * num_envs

    # XLA compiles once more: the types of the first state differ from those of others.
    work = {"scan": work_by_sums, "kept": work_kept, "step": work_by_step}[mode]
    work()
    settings = {"batch": num_envs, "observation": OBSERVATIONS[mode]}
    return Rate(work, "steps/s", {**settings, "levels": levels_are})
