"""Exact chances of a policy to reach the goals of frozen lakes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy_network import Network


def place_everywhere(planes: np.ndarray) -> np.ndarray:
    """Return boards with the player in each cell in turn, (L * H * W, 6, H, W).

    Parameters
    ----------
    planes : (L, 6, H, W)
        The levels at the start: player on ice, ice, hole, goal, and two of ends.
    """
    num_levels, _, height, width = planes.shape
    cells = np.arange(height * width)
    flat = planes.reshape(num_levels, 6, -1)
    boards = np.repeat(flat[:, None], len(cells), axis=1)
    boards[:, :, 1] |= boards[:, :, 0]
    boards[:, :, 0] = 0
    boards[:, cells, :, cells] = np.eye(6, dtype=np.uint8)[0]
    return boards.reshape(-1, 6, height, width)


def chances_of_actions(
    planes: np.ndarray, policy: np.ndarray, is_slippery: bool, num_steps: int
) -> Iterator[np.ndarray]:
    """Yield the chances of success of each action, with 1, 2, ... steps left.

    Parameters
    ----------
    planes : (L, 6, H, W)
        As `place_everywhere` has them.
    policy : (L, H * W, 4)
        The chance of each action in each cell.
    is_slippery : bool
    num_steps : int
        Of an episode.

    Yields
    ------
    (L, H * W, 4) float64
    """
    num_levels, _, height, width = planes.shape
    flat = planes.reshape(num_levels, 6, -1)
    rows, columns = np.divmod(np.arange(height * width), width)
    ahead = [
        (rows + down).clip(0, height - 1) * width + (columns + right).clip(0, width - 1)
        for down, right in ((0, -1), (1, 0), (0, 1), (-1, 0))
    ]
    values = np.zeros(flat[:, 0].shape)
    for _ in range(num_steps):
        values = np.where(flat[:, 3], 1.0, np.where(flat[:, 2], 0.0, values))
        after = np.stack([values[:, some] for some in ahead], axis=2)
        if is_slippery:
            after = (np.roll(after, 1, 2) + after + np.roll(after, -1, 2)) / 3
        values = (policy * after).sum(2)
        yield after


def mean_chance(network: Network, planes: np.ndarray, num_steps: int) -> float:
    """Return the mean chance of a network's best actions on slippery levels.

    Parameters
    ----------
    network : Network
    planes : (L, 6, H, W)
        As `place_everywhere` has them.
    num_steps : int
        Of an episode.
    """
    levels, starts = np.arange(len(planes)), planes[:, 0].reshape(len(planes), -1)
    actions = network.best_actions(place_everywhere(planes)).reshape(len(planes), -1)
    policy = np.eye(4)[actions]
    for after in chances_of_actions(planes, policy, True, num_steps):
        chances = after
    first = levels, starts.argmax(1)
    return float((policy * chances).sum(2)[first].mean())
