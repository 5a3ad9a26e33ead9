"""One person's game: an environment with a past that can be taken back."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from roll_vec.cli._errors import UsageError

__all__ = ["Game", "direction_actions"]

_DIRECTIONS = ("up", "down", "left", "right")
_UNDO_STEPS = 1000


def direction_actions(env: Any) -> dict[str, int]:
    """Return the action of each direction, by the environment's own names.

    Raises
    ------
    UsageError
        The environment names no directions, so no key could mean anything.
    """
    lookup: Mapping[int, str] = getattr(env.unwrapped, "action_lookup", None) or {}
    actions = {
        str(name).casefold(): action
        for action, name in lookup.items()
        if str(name).casefold() in _DIRECTIONS
    }
    if not actions:
        found = f"it is {dict(lookup)!r}" if lookup else "it has none"
        name = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        message = (
            f"{name} cannot be played by keys: its action_lookup has to name "
            f"Up, Down, Left or Right, but {found}"
        )
        raise UsageError(message)
    return actions


@dataclass(frozen=True)
class _Score:
    """What a person sees of the episode so far."""

    steps: int = 0
    total: float = 0.0
    terminated: bool = False
    truncated: bool = False
    direction: str = ""
    reward: float = 0.0
    info: Mapping[str, Any] = field(default_factory=dict)


class Game:
    """An environment, its seed, the score, and the moves that can be undone.

    Parameters
    ----------
    env : gymnasium.Env
        Becomes the game's own: it is copied, replaced and closed.
    seed : int
        Seed of the first level.
    """

    def __init__(self, env: Any, seed: int) -> None:
        self._env = env
        self._actions = direction_actions(env)
        self._past: deque[tuple[Any, _Score]] = deque(maxlen=_UNDO_STEPS)
        self.seed = seed
        self.score = _Score()
        self.start(seed)

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self.score.terminated or self.score.truncated

    @property
    def is_solved(self) -> bool:
        """Whether the last step was a success.

        Where its info does not say, an end by the rules that is rewarded is one.
        """
        rewarded = self.score.terminated and self.score.reward > 0
        return bool(self.score.info.get("success", rewarded))

    def board(self) -> str:
        """Return the board as text, as the environment renders it."""
        return str(self._env.render())

    def start(self, seed: int) -> None:
        """Begin the level of a seed; nothing before it can be undone."""
        _, info = self._env.reset(seed=seed)
        self.seed = seed
        self._past.clear()
        self.score = _Score(info=info)

    def move(self, direction: str) -> bool:
        """Step in a direction; return False where there is no such action or move."""
        action = self._actions.get(direction)
        if action is None or self.is_over:
            return False
        # A deep copy has the random stream as well: a slip that is undone and tried
        # again slips again.
        self._past.append((copy.deepcopy(self._env), self.score))
        _, reward, terminated, truncated, info = self._env.step(action)
        self.score = replace(
            self.score,
            steps=self.score.steps + 1,
            total=self.score.total + float(reward),
            terminated=bool(terminated),
            truncated=bool(truncated),
            direction=direction,
            reward=float(reward),
            info=info,
        )
        return True

    def undo(self) -> bool:
        """Go back one step; return False at the beginning."""
        if not self._past:
            return False
        self._env, self.score = self._past.pop()
        return True

    def close(self) -> None:
        """Close the environment."""
        self._env.close()
