"""The best way to a cell where a step may lead astray: for Taxi and CliffWalking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# Gymnasium's ``P[state][action]``: probability, next state, reward, whether it ends.
Transitions: TypeAlias = dict[int, dict[int, list[tuple[float, int, float, bool]]]]

# Enough for costs within 1e-9 of their limits, if each cell has a way to the goal.
_MAX_ROUNDS = 10_000


def find_policy(
    cells: NDArray[np.int64],
    costs: NDArray[np.float64] | float,
    chances: Sequence[float],
    goal: int,
) -> NDArray[np.int64]:
    """Return the action in each cell that has the lowest expected cost to a goal.

    Parameters
    ----------
    cells : (n, A, k) int64
        The cell after each of the k outcomes of an action.
    costs : (n, A, k) float64, or float
        Their costs.
    chances : k floats
        Their probabilities.
    goal : int
        The cell where the way ends.

    Returns
    -------
    (n,) int64
        Of several best actions the first.
    """
    values = np.zeros(len(cells))
    for _ in range(_MAX_ROUNDS):
        totals = (costs + values[cells]) @ np.asarray(chances)
        best = totals.min(1)
        best[goal] = 0.0
        change = abs(best - values).max()
        values = best
        if change < 1e-9:
            break
    # Equal totals may differ in their last bits.
    policy: NDArray[np.int64] = totals.round(6).argmin(1)
    return policy


def follow(
    policy: NDArray[np.int64], cells: NDArray[np.int64], start: int, goal: int
) -> list[int]:
    """Return the actions from a cell to the goal, by the first outcome of each."""
    actions = []
    while start != goal:
        actions.append(int(policy[start]))
        start = int(cells[start, actions[-1], 0])
    return actions
