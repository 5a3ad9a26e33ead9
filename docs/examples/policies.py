"""Small networks, policies of checkpoints, and their test on new levels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from learning import load_checkpoint
from recipes import RECIPES, Recipe, training_keywords
from torch import nn

import roll_vec  # noqa: F401 - registers the ids

Policy = Callable[[np.ndarray], np.ndarray]
"""From observations (n, ...) to actions (n,) of the environments' action space."""

HELD_OUT = 1_000_000
"""Number of the first held-out level: trainings use levels below it."""


class Network(nn.Module):
    """Observations to logits of the actions (n, A) and values (n,).

    Parameters
    ----------
    shape : sequence of int, or int
        (C, H, W): planes.  (S, S, 3): images of MiniGrid.  (F,): vectors.  An int: the
        observations are numbers below.
    num_actions : int
    """

    def __init__(self, shape: Sequence[int] | int, num_actions: int) -> None:
        super().__init__()
        num_outputs, self.dtype = num_actions + 1, torch.float32
        self.is_image = not isinstance(shape, int) and tuple(shape[2:]) == (3,)
        if isinstance(shape, int):  # a table
            self.body, self.heads = nn.Embedding(shape, num_outputs), nn.Identity()
            nn.init.zeros_(self.body.weight)
            self.dtype = torch.int64
        elif len(shape) == 1:
            self.body = nn.Sequential(
                *(nn.Linear(shape[0], 64), nn.Tanh()),
                *(nn.Linear(64, 64), nn.Tanh()),
            )
            self.heads = nn.Linear(64, num_outputs)
        elif self.is_image:
            size = (shape[0] - 1) // 2 - 2
            self.body = nn.Sequential(
                *(nn.Conv2d(3, 16, 2), nn.ReLU(), nn.MaxPool2d(2)),
                *(nn.Conv2d(16, 32, 2), nn.ReLU()),
                *(nn.Conv2d(32, 64, 2), nn.ReLU(), nn.Flatten()),
                *(nn.Linear(64 * size * size, 64), nn.Tanh()),
            )
            self.heads = nn.Linear(64, num_outputs)
        else:
            planes, height, length = shape
            self.body = nn.Sequential(
                *(nn.Conv2d(planes, 16, 3, padding=1), nn.ReLU()),
                *(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Flatten()),
                *(nn.Linear(16 * height * length, 256), nn.ReLU()),
            )
            self.heads = nn.Linear(256, num_outputs)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits and values."""
        if self.is_image:
            observations = observations.permute(0, 3, 1, 2)
        outputs = self.heads(self.body(observations.to(self.dtype)))
        return outputs[:, :-1], outputs[:, -1]


def greedy_policy(network: Network, first_action: int) -> Policy:
    """Return the policy that takes the action with the highest logit."""

    @torch.no_grad()
    def policy(observations: np.ndarray) -> np.ndarray:
        logits, _ = network(torch.from_numpy(observations))
        return logits.argmax(1).numpy() + first_action

    return policy


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Return the greedy policy of a checkpoint.

    The checkpoint has the part ``network``, and the values ``network_arguments`` and
    ``first_action``.
    """
    _, values = load_checkpoint(path, {})
    network = Network(*values["network_arguments"])
    load_checkpoint(path, {"network": network})
    return greedy_policy(network, values["first_action"])


def evaluate(
    policy: Policy,
    id: str,
    num_levels: int = 4096,
    start_level: int = HELD_OUT,
    **keywords: Any,
) -> np.ndarray:
    """Play every level once; return the successes, (num_levels,) bool.

    Where the recipe's measure is the mean return: the returns, float64.

    Parameters
    ----------
    policy : callable
    id : str
        A key of `RECIPES`.
    num_levels, start_level : int
        Element i is of level ``start_level + i``.
    **keywords
        Those of the environments, such as ``num_boxes=1``.
    """
    keywords["obs_mode"] = RECIPES[id].obs_mode
    envs = gymnasium.make_vec(id, num_envs=num_levels, **keywords)
    # Environment i begins with level start_level + i.
    observations, _ = envs.reset(seed=start_level)
    success, is_over = np.zeros(num_levels, bool), np.zeros(num_levels, bool)
    returns = np.zeros(num_levels)
    while not is_over.all():
        actions = policy(observations)
        observations, rewards, terminations, truncations, _ = envs.step(actions)
        success |= envs.unwrapped.successes & ~is_over
        returns += rewards * ~is_over
        is_over |= terminations | truncations
    envs.close()
    return success if RECIPES[id].measure == "success" else returns


def boards(id: str, num_levels: int, start_level: int, **keywords: Any) -> list[bytes]:
    """Return the first grid of each level, to see which levels are alike."""
    envs = gymnasium.make_vec(id, num_envs=num_levels, obs_mode="grid", **keywords)
    grids, _ = envs.reset(seed=start_level)
    envs.close()
    return [grid.tobytes() for grid in grids]


def held_out_report(policy: Policy, id: str, recipe: Recipe, num_levels: int) -> str:
    """Return a text on the successes, or returns, of a policy in held-out levels.

    Small boards repeat: some held-out levels begin with a board of the training.
    """
    success = evaluate(policy, id, num_levels, **recipe.keywords)
    if recipe.measure == "mean_return":
        return f"{num_levels:,} episodes of new seeds: mean return {success.mean():.2f}"
    if recipe.num_levels is None:
        return f"episodes of new seeds: {success.mean():.1%} of {num_levels:,} solved"
    known_boards = training_boards(id, recipe)
    held_out_boards = boards(id, num_levels, HELD_OUT, **recipe.keywords)
    is_new = np.array([board not in known_boards for board in held_out_boards])
    return (
        f"held-out levels: {success.mean():.1%} of {num_levels:,} solved; "
        f"{success[is_new].mean():.1%} of the {is_new.sum():,} whose board no training "
        "level has"
    )


def training_boards(id: str, recipe: Recipe) -> set[bytes]:
    """Return the first grids of all levels of a training."""
    keywords = training_keywords(id, recipe)
    if recipe.curriculum:
        return {grid.tobytes() for grid in keywords["levels"]}
    return set(boards(id, keywords.pop("num_levels"), 0, **keywords))
