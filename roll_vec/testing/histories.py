"""What happened to each environment by itself, with the bookkeeping taken out.

The three autoreset modes tell the same story in different calls: a history is the
story.  Two histories of one environment are equal whatever the mode, the size of its
batch and the fate of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from roll_vec.testing.comparison import (
    UNKNOWN,
    difference,
    info_row,
    row,
    without_keys,
)
from roll_vec.testing.player import Call, Player

__all__ = ["Transition", "histories", "history_difference"]

_FINAL_KEYS = ("final_obs", "_final_obs", "final_info", "_final_info")


@dataclass(frozen=True)
class Transition:
    """One reset or one step of one environment.

    Parameters
    ----------
    kind : {"reset", "step"}
    told : str
        The call it came from.
    """

    kind: str
    told: str
    observation: Any
    info: Any
    reward: Any = UNKNOWN
    terminated: Any = UNKNOWN
    truncated: Any = UNKNOWN


def histories(player: Player, space: spaces.Space[Any]) -> list[list[Transition]]:
    """Return the history of each environment of a player, over all its calls.

    Parameters
    ----------
    player : Player
        It has played.
    space : Space
        The observation space of a single environment.
    """
    return [
        [
            transition
            for call in player.calls
            for transition in _transitions(call, player.mode, space, env)
        ]
        for env in range(len(player.streams))
    ]


def _transitions(
    call: Call, mode: AutoresetMode, space: spaces.Space[Any], env: int
) -> list[Transition]:
    count = len(call.starts)
    if not call.is_step and not call.starts[env]:
        return []
    observation = row(space, call.observations, env)
    if call.starts[env]:
        info = info_row(call.infos, env, count)
        return [Transition("reset", call.told, observation, info)]
    plain = {k: v for k, v in call.infos.items() if k not in _FINAL_KEYS}
    info = info_row(plain, env, count)
    outcome = (call.rewards[env], call.terminations[env], call.truncations[env])
    if not (mode is AutoresetMode.SAME_STEP and call.done[env]):
        return [Transition("step", call.told, observation, info, *outcome)]
    last, last_info = _final(call.infos, env, count)
    return [
        Transition("step", call.told, last, last_info, *outcome),
        Transition("reset", call.told, observation, info),
    ]


def _final(infos: dict[str, Any], env: int, count: int) -> tuple[Any, Any]:
    # Missing finals are the business of the checks of final_obs and final_info.
    final_obs, final_info = infos.get("final_obs"), infos.get("final_info")
    last = final_obs[env] if final_obs is not None else UNKNOWN
    if not isinstance(final_info, dict):
        return last, UNKNOWN
    return last, info_row(final_info, env, count)


def history_difference(
    left: Sequence[Transition],
    right: Sequence[Transition],
    tainted: frozenset[tuple[str, ...]],
) -> tuple[int, str] | None:
    """Find where two histories part, as far as both go.

    Parameters
    ----------
    left, right : sequence of Transition
        Two histories of one environment.
    tainted : frozenset of tuple of str
        Paths of info keys to leave out.

    Returns
    -------
    tuple of int and str, or None
        The position and a description of the first difference.
    """
    for position, (one, other) in enumerate(zip(left, right, strict=False)):
        found = _transition_difference(one, other, tainted)
        if found is not None:
            return position, found
    return None


def _transition_difference(
    one: Transition, other: Transition, tainted: frozenset[tuple[str, ...]]
) -> str | None:
    if one.kind != other.kind:
        return f"a {one.kind} against a {other.kind}"
    for name in ("observation", "reward", "terminated", "truncated"):
        found = difference(getattr(one, name), getattr(other, name), name)
        if found is not None:
            return found
    left, right = one.info, other.info
    if isinstance(left, dict) and isinstance(right, dict):
        return difference(
            without_keys(left, tainted), without_keys(right, tainted), "info"
        )
    return None
