"""The best way to a cell where a step may lead astray: for Taxi and CliffWalking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Gymnasium's ``P[state][action]``: probability, next state, reward, whether it ends.
Transitions: TypeAlias = dict[int, dict[int, list[tuple[float, int, float, bool]]]]

# Enough for costs within 1e-9 of their limits, if each cell has a way to the goal.
_MAX_ROUNDS = 10_000


def find_costs(
    cells: NDArray[np.int64],
    costs: NDArray[np.float64] | float,
    chances: Sequence[float] | NDArray[np.float64],
    goal: Any,
) -> NDArray[np.float64]:
    """Return the expected cost from each cell to a goal, by the first action.

    Parameters
    ----------
    cells : (n, A, k) int64
        The cell after each of the k outcomes of an action.
    costs : (n, A, k) float64, or float
        Their costs.
    chances : k floats, or (n, A, k) float64
        Their probabilities.
    goal : int, or (n,) bool
        The cell, or the cells, where the way ends.

    Returns
    -------
    (n, A) float64
        Later actions are the best ones.
    """
    values = np.zeros(len(cells))
    for _ in range(_MAX_ROUNDS):
        totals = ((costs + values[cells]) * chances).sum(-1)
        best = totals.min(1)
        best[goal] = 0.0
        change = abs(best - values).max()
        values = best
        if change < 1e-9:
            break
    return totals  # type: ignore[no-any-return]


def find_policy(
    cells: NDArray[np.int64],
    costs: NDArray[np.float64] | float,
    chances: Sequence[float],
    goal: int,
) -> NDArray[np.int64]:
    """Return the action in each cell that has the lowest expected cost to a goal.

    For the parameters see `find_costs`.

    Returns
    -------
    (n,) int64
        Of several best actions the first.
    """
    # Equal totals may differ in their last bits.
    totals = find_costs(cells, costs, chances, goal).round(6)
    policy: NDArray[np.int64] = totals.argmin(1)
    return policy


def tabulate_advantages(
    totals: NDArray[np.float64], goal: Any, no_action: float
) -> NDArray[np.float64]:
    """Return the advantages of actions, (n, A + 1) float64, from `find_costs`.

    Parameters
    ----------
    totals : (n, A) float64
    goal : int, or (n,) bool
        Where all advantages are 0.
    no_action : float
        The advantage of no valid action, in the last column: that of index -1.
    """
    table = np.full((len(totals), totals.shape[1] + 1), no_action)
    # Equal totals may differ in their last bits.
    table[:, :-1] = (totals.min(1, keepdims=True) - totals).round(9)
    table[goal] = 0.0
    return table + 0.0


def follow(
    policy: NDArray[np.int64], cells: NDArray[np.int64], start: int, goal: int
) -> list[int]:
    """Return the actions from a cell to the goal, by the first outcome of each."""
    actions = []
    while start != goal:
        actions.append(int(policy[start]))
        start = int(cells[start, actions[-1], 0])
    return actions
