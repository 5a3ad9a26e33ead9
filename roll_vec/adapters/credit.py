"""Rewards of trainers: the game's, the advantages of actions, or both."""

from __future__ import annotations

import math
from typing import Any

from roll_vec.options import check_choice

REWARDS = ("game", "advantage", "both")


def credit_keywords(reward: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of environments whose rewards are of a kind.

    Parameters
    ----------
    reward : str
        ``game``; ``advantage``: the info of this name in the reward's place; ``both``:
        their sum.
    keywords : dict

    Raises
    ------
    InvalidOptionError
    """
    check_choice("reward", reward, REWARDS)
    return keywords if reward == "game" else {**keywords, "advantage_info": True}


def credit_step(kind: str, reward: float, advantage: float) -> float:
    """Return the reward of a kind for a step; see `credit_keywords`.

    An advantage of NaN, where the solver gave up, counts as 0.
    """
    if kind == "game":
        return reward
    known = 0.0 if math.isnan(advantage) else advantage
    return known if kind == "advantage" else reward + known
