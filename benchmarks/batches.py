"""Batches of roll_vec and of Gymnasium, and the steps that are measured.

Imports only numpy and Gymnasium before a batch is made.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

import roll_vec  # noqa: F401 - registers the ids

# The registered step limit of Sokoban and the lakes.
EPISODE_STEPS = 100


def draw_actions(space: Any, num_steps: int, num_envs: int) -> NDArray[Any]:
    """Return actions of some steps, (num_steps, num_envs, ...) of the space's dtype.

    Parameters
    ----------
    space : object
        The action space of one environment, of any package: it has a number of values
        for each entry (``n``, ``nvec`` or Jumanji's ``num_values``), or bounds.
    num_steps, num_envs : int
    """
    generator = np.random.default_rng(0)
    for name in ("n", "nvec", "num_values"):
        if hasattr(space, name):
            low = np.asarray(getattr(space, "start", 0))
            high = low + np.asarray(getattr(space, name)) - 1
            break
    else:
        low, high = np.asarray(space.low), np.asarray(space.high)
    shape, dtype = (num_steps, num_envs, *space.shape), np.dtype(space.dtype)
    if dtype.kind == "f":
        return generator.uniform(low, high, shape).astype(dtype)
    return generator.integers(low, high, shape, dtype, endpoint=True)


def actions_of(envs: Any, num_steps: int) -> Sequence[Any]:
    """Return actions of some steps for a vector environment; texts are its samples."""
    space = envs.unwrapped.single_action_space
    if isinstance(space, Text):
        envs.action_space.seed(0)
        return [envs.action_space.sample() for _ in range(num_steps)]
    return draw_actions(space, num_steps, envs.num_envs)


def make(id: str, num_envs: int, **keywords: Any) -> Any:
    """Make a batch whose environments are in different steps of their episodes.

    Otherwise all rooms would end together, and most rounds would contain no reset at
    all.  All levels of a finite set are drawn in advance.
    """
    envs = gymnasium.make_vec(id, num_envs=num_envs, **keywords)
    for first in range(0, keywords.get("num_levels", 0), num_envs):
        envs.reset(seed=first)
    envs.reset(seed=0)
    steps = min(EPISODE_STEPS, num_envs)
    begins = np.arange(num_envs) % steps
    for step, actions in zip(range(steps), itertools.cycle(actions_of(envs, 16))):
        envs.reset(options={"reset_mask": begins == step})
        results = envs.step(actions)
        if envs.metadata["autoreset_mode"] == AutoresetMode.DISABLED:
            _reset_ended(envs, results)
    return envs


def make_sync(
    id: str, num_envs: int, vector: Any = SyncVectorEnv, **keywords: Any
) -> Any:
    """Return Gymnasium's vector environment; 100 steps have put it out of phase."""
    make_one = partial(gymnasium.make, id, disable_env_checker=True, **keywords)
    envs = vector([make_one] * num_envs)
    envs.reset(seed=0)
    for actions in actions_of(envs, EPISODE_STEPS):
        envs.step(actions)
    return envs


def steps(envs: Any, num_steps: int = 0) -> tuple[Callable[[], None], int]:
    """Return work that steps a vector environment, and its number of steps.

    In the mode Disabled the work resets the environments that ended, by a mask.
    """
    plan = actions_of(envs, num_steps or max(8192 // envs.num_envs, 8))
    is_disabled = envs.metadata["autoreset_mode"] == AutoresetMode.DISABLED

    def work() -> None:
        step = envs.step
        for actions in plan:
            step(actions)

    def work_with_masks() -> None:
        for actions in plan:
            _reset_ended(envs, envs.step(actions))

    return work_with_masks if is_disabled else work, len(plan) * envs.num_envs


def _reset_ended(envs: Any, results: Any) -> None:
    ended = results[2] | results[3]
    if ended.any():
        envs.reset(options={"reset_mask": ended})
