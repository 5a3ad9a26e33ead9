"""The batches that are measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Text

__all__ = ["WORKLOADS", "Workload", "draw_actions"]


class Workload(NamedTuple):
    """A batch.

    Parameters
    ----------
    name : str
        In the file and on the page.
    id : str
    keywords : dict
    sizes : sequence of int
        The numbers of environments for which rates are measured.
    texts : sequence of str
        The actions, if they are texts.
    """

    name: str
    id: str
    keywords: dict[str, Any]
    sizes: Sequence[int]
    texts: Sequence[str] = ()


_SOKOBAN = "roll_vec/Sokoban-v0"
_PAGES = ("search[red shirt]", "click[next >]", "click[back to search]", "x")
WORKLOADS = [
    Workload("Sokoban, grids", _SOKOBAN, {"action_start": 1}, (256, 16384)),
    Workload(
        "Sokoban, planes made by the head",
        _SOKOBAN,
        {"action_start": 1, "obs_mode": "planes"},
        (16384,),
    ),
    Workload(
        "Sokoban, planes made by the shards",
        _SOKOBAN,
        {"action_start": 1, "obs_mode": "planes", "render_on": "shard"},
        (16384,),
    ),
    Workload(
        "RandomFrozenLake",
        "roll_vec/RandomFrozenLake-v0",
        {"action_start": 1},
        (256, 16384),
    ),
    Workload(
        "Countdown", "roll_vec/Countdown-v0", {}, (64, 512), ("1 + 1", "3 * 4 - 2")
    ),
    Workload("WebShop", "roll_vec/WebShop-v0", {}, (128,), _PAGES),
]


def draw_actions(workload: Workload, envs: Any, num_steps: int) -> list[Any]:
    """Return random actions for some steps: (n,) int64, or lists of n texts."""
    rng = np.random.default_rng(0)
    space = envs.single_action_space
    if isinstance(space, Text):
        texts = np.array(workload.texts, object)
        shape = num_steps, envs.num_envs
        return [row.tolist() for row in texts[rng.integers(len(texts), size=shape)]]
    low, high = int(space.start), int(space.start + space.n)
    return list(rng.integers(low, high, (num_steps, envs.num_envs)))
