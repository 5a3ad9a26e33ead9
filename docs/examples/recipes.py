"""The numbers of the trainings with PPO."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from roll_vec.evaluation import draw_levels


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The numbers of a training."""

    keywords: dict[str, Any]
    obs_mode: str = "planes"
    # What the program shows and tests: "success", or "mean_return".
    measure: str = "success"
    # Bands of difficulty, the easy ones first; the next one comes at 90 % success.
    curriculum: tuple[dict[str, Any], ...] = ()
    # Levels of each stage of the curriculum: 0, 1, 2, ...; None: there are none.
    num_levels: int | None = 50_000
    updates: int = 200
    num_steps: int = 32  # of each environment between two updates
    num_epochs: int = 2
    num_minibatches: int = 8
    learning_rate: float = 1e-3  # at the start; it falls to 0
    gamma: float = 0.97
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy_bonus: float = 0.01
    reward_scale: float = 1.0


RECIPES = {
    "roll_vec/FrozenLake-v1": Recipe({}, num_levels=None, updates=60, gamma=0.99),
    "roll_vec/FrozenLake8x8-v1": Recipe({}, num_levels=None, updates=100, gamma=0.995),
    "roll_vec/RandomFrozenLake-v0": Recipe({"is_slippery": False}, updates=120),
    "roll_vec/Sokoban-v0": Recipe(
        {"dim_room": (6, 6), "num_boxes": 1},
        curriculum=(
            {"solution_steps": (1, 2)},
            {"solution_steps": (1, 4)},
            {"solution_steps": (2, 7)},
            {"solution_steps": (4, None)},
        ),
        num_levels=20_000,
        reward_scale=0.1,
    ),
    "roll_vec/CartPole-v1": Recipe(
        {},
        obs_mode="array",
        measure="mean_return",
        num_levels=None,
        updates=80,
        learning_rate=2e-3,
        gamma=0.99,
        reward_scale=0.05,
    ),
    "roll_vec/Taxi-v3": Recipe(
        {},
        obs_mode="array",
        measure="mean_return",
        num_levels=None,
        updates=120,
        learning_rate=0.05,
        reward_scale=0.1,
    ),
    **{
        f"roll_vec/MiniGrid-{name}-v0": Recipe(
            {},
            obs_mode="image",
            num_levels=None,
            updates=updates,
            num_epochs=4,
            num_minibatches=16,
            gamma=0.99,
        )
        for name, updates in (("DoorKey-8x8", 120), ("MultiRoom-N2-S4", 40))
    },
}


def training_keywords(id: str, recipe: Recipe) -> dict[str, Any]:
    """Return the keywords of the environments of a training, in its first stage.

    Stage k plays the levels from ``start_level = k * num_levels`` on.
    """
    keywords = dict(recipe.keywords)
    if recipe.curriculum:
        # It is a keyword of batches, and chooses no levels.
        limit = keywords.pop("max_episode_steps", None)
        sets = [
            draw_levels(id, recipe.num_levels, **keywords, **bands)[0].grids
            for bands in recipe.curriculum
        ]
        keywords = {"levels": np.concatenate(sets), "max_episode_steps": limit}
    if recipe.num_levels is not None:
        keywords["num_levels"] = recipe.num_levels
    return keywords
