"""Tasks of other calls of a batch: snapshots, levels of a band, random actions."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Text

import roll_vec  # noqa: F401 - registers the ids
from benchmarks import batches
from benchmarks.tasks import Rate

# Texts that change the state of a pool's environment, and do not end its episode.
_TEXTS = {"roll_vec/Countdown-v0": "1 + 1", "roll_vec/WebShop-v0": "search[red shirt]"}


def snapshots(id: str, num_envs: int, call: str, **keywords: Any) -> Rate:
    """Call ``step``, ``get``, ``set`` or ``clone`` again and again.

    The unit of all is an environment, so that the cost of one beside another is a
    number of steps.  A clone makes all environments copies of 64 of them.
    """
    if id in _TEXTS:
        envs: Any = gymnasium.make_vec(id, num_envs=num_envs, workers=0, **keywords)
        envs.reset(seed=0)
    else:
        envs = batches.make(id, num_envs, **keywords)
    if isinstance(envs.unwrapped.single_action_space, Text):
        actions: Any = [[_TEXTS[id]] * num_envs]
    else:
        actions = batches.draw_actions(envs, 16)
    state = envs.get_state()
    rows = np.arange(num_envs) % min(num_envs, 64)
    calls = {
        "get": envs.get_state,
        "set": lambda: envs.set_state(state),
        "clone": lambda: envs.set_state(state, rows=rows),
    }

    def work() -> int:
        if call == "step":
            for batch in actions:
                envs.step(batch)
            return num_envs * len(actions)
        calls[call]()
        return num_envs

    return Rate(work, "envs/s", batches.settings_of(envs, "as the id has them"))


def actions(num_envs: int, by_space: bool = False, **keywords: Any) -> Rate:
    """Draw actions for a batch.

    ``by_space``: by Gymnasium's ``action_space.sample``.
    """
    envs: Any = gymnasium.make_vec(
        batches.FROZEN_LAKE, num_envs=num_envs, **keywords
    ).unwrapped
    calls = 1 if by_space and keywords else 16

    def work() -> int:
        for _ in range(calls):
            envs.action_space.sample() if by_space else envs.sample_actions()
        return calls * num_envs

    return Rate(work, "actions/s", {"batch": num_envs, "levels": "all allowed"})
