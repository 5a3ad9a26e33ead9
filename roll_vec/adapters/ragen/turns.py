"""Turns of RAGEN's manager: names to actions, actions to batches, results to history.

RAGEN steps its environments one by one.  Here the n-th actions of a turn, of all
environments of a tag, are one call of ``step``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from roll_vec.adapters.ragen.batches import Batch


@dataclass
class EnvStatus:
    """The state of an environment's episode; the names are RAGEN's.

    ``terminated``: the episode has ended; ``truncated``: it has, without success.
    ``rewards`` has the sum of each turn's rewards.
    """

    truncated: bool = False
    terminated: bool = False
    num_actions: int = 0
    rewards: list[float] = field(default_factory=list)
    seed: int | None = None


@dataclass
class Turn:
    """The results of the actions of one environment in one turn."""

    reward: float = 0
    raw_reward: float = 0.0
    has_ended: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    actions: list[Any] = field(default_factory=list)


class Member:
    """One environment of a batch, as the items of `EnvStateManager.envs` have it."""

    def __init__(self, batch: Batch, row: int) -> None:
        self.batch, self.row, self.config = batch, row, batch.config

    def render(self) -> Any:
        """Return the present observation."""
        return self.batch.observations[self.row]


def valid_actions(entry: Mapping[str, Any], actions: Sequence[str]) -> list[Any]:
    """Return the actions of known names as numbers; texts as they are."""
    lookup = getattr(entry["config"], "action_lookup", None)
    if lookup is None:
        return list(actions)
    numbers = {name.lower(): number for number, name in lookup.items()}
    names = map(str.lower, actions)
    return [numbers[name] for name in names if name in numbers]


def play(
    entries: Sequence[Mapping[str, Any]], plans: Sequence[Sequence[Any]]
) -> list[Turn]:
    """Take the actions of each environment until they, or its episode, end."""
    turns = [Turn() for _ in entries]
    for n in range(max(map(len, plans), default=0)):
        parts: dict[Batch, dict[int, Any]] = {}
        by_place: dict[tuple[Batch, int], Turn] = {}
        for entry, plan, turn in zip(entries, plans, turns, strict=True):
            if n < len(plan) and not turn.has_ended:
                member = entry["env"]
                parts.setdefault(member.batch, {})[member.row] = plan[n]
                by_place[member.batch, member.row] = turn
        for batch, actions in parts.items():
            for row, result in batch.step(actions).items():
                turn = by_place[batch, row]
                turn.reward += result.reward
                turn.raw_reward += result.info.get("raw_reward", 0.0)
                turn.info.update(result.info)
                turn.actions.append(actions[row])
                turn.has_ended = result.has_ended
    for turn in turns:
        turn.info["raw_reward"] = turn.raw_reward
    return turns


def finish_turn(
    entry: Mapping[str, Any],
    history: list[dict[str, Any]],
    turn: Turn,
    env_input: Mapping[str, Any],
) -> None:
    """Write a turn into the status and the history of its environment."""
    status, limit = entry["status"], entry["max_actions_per_traj"]
    status.num_actions += len(turn.actions)
    status.rewards.append(turn.reward)
    if turn.has_ended:
        status.terminated = True
        status.truncated = not turn.info.get("success", False)
    elif status.num_actions >= limit:
        status.terminated = status.truncated = True
    history[-1].update(
        actions=turn.actions,
        reward=turn.reward,
        info=turn.info,
        llm_response=env_input["llm_response"],
        llm_raw_response=env_input["llm_raw_response"],
    )
    add_state(history, entry, limit - status.num_actions)


def add_state(
    history: list[dict[str, Any]], entry: Mapping[str, Any], actions_left: int
) -> None:
    """Append the present observation to a history, as text or as a picture."""
    state = entry["env"].render()
    turn: dict[str, Any] = {"state": state}
    if isinstance(state, np.ndarray):
        from PIL import Image

        turn = {"state": "<images>", "images": [Image.fromarray(state)]}
    history.append({**turn, "actions_left": actions_left})
