"""The metrics of a rollout, as RAGEN's trainer reads them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# Means over the turns, also where other infos of a turn are summed up.
_TURN_METRICS = ("action_is_effective", "action_is_valid", "end_of_page")


def collect_infos(history: Sequence[Mapping[str, Any]], tag: str) -> dict[str, Any]:
    """Return the numbers in the infos of the turns, a list for each key.

    Others are left out with a warning.
    """
    values: dict[str, list[float]] = {}
    for turn in history:
        for key, value in turn.get("info", {}).items():
            if key == "success":
                continue
            numbers = values.setdefault(key, [])
            try:
                numbers.append(float(value))
            except (ValueError, TypeError):
                message = "metric %s of %s: %r is no number, it is left out"
                logging.getLogger(__name__).warning(message, key, tag, value)
    return values


def measure_rollout(
    history: Sequence[Mapping[str, Any]], tag: str, success: bool, num_actions: int
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the metrics of an environment, and the numbers that they are made of.

    Parameters
    ----------
    history : list of dict
        The turns; the last one has a state alone.
    tag : str
        Names of metrics begin with it.  A tag with ``webshop`` in it has sums of infos
        that other tags have means of.
    success : bool
    num_actions : int
    """
    metrics: dict[str, Any] = {"success": float(success), "num_actions": num_actions}
    values = collect_infos(history, tag)
    if "raw_reward" in values:
        metrics["episodic_return"] = float(np.sum(values["raw_reward"]))
    for key, numbers in values.items():
        if "webshop" not in tag.lower() or key in _TURN_METRICS:
            metrics[key] = np.sum(numbers) / (len(history) - 1)
        else:
            metrics[f"traj_sum/{key}"] = np.sum(numbers)
    if values.get("score"):
        metrics["final_score"] = values["score"][-1]
    return {f"{tag}/{key}": value for key, value in metrics.items()}, values


def add_pass_at_k(rollouts: Sequence[Mapping[str, Any]], group_size: int) -> None:
    """Add to the metrics whether any environment of the group has a success."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for rollout in rollouts:
        key = rollout["tag"], rollout["group_id"]
        groups.setdefault(key, []).append(rollout["metrics"])
    for (tag, _), members in groups.items():
        any_success = float(any(metrics[f"{tag}/success"] for metrics in members))
        for metrics in members:
            metrics[f"{tag}/pass@{group_size}"] = any_success
