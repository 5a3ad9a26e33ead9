"""The last observation, action and reward of a few environments, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gymnasium.spaces import Discrete, Text
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

__all__ = ["Transcript", "is_text"]

_ELLIPSIS = "..."
_MIN_WIDTH = 20


def is_text(env: VectorEnv[Any, Any, Any]) -> bool:
    """Return whether observations or actions are texts."""
    spaces = (env.single_observation_space, env.single_action_space)
    return any(isinstance(space, Text) for space in spaces)


class Transcript:
    """The last exchange of each of the first `count` environments.

    Only observations that are text are stored, and actions that are text or integers.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], count: int) -> None:
        self._reads = isinstance(env.single_observation_space, Text)
        self._writes = isinstance(env.single_action_space, (Text, Discrete))
        self._last: list[tuple[Any, Any, float] | None] = [None] * min(
            count, env.num_envs
        )

    def add(
        self,
        observations: Any,
        actions: Any,
        rewards: NDArray[Any],
        resetting: NDArray[Any] | None,
    ) -> None:
        """Store a step, but not of environments that it only reset."""
        for env_id in range(len(self._last)):
            if resetting is None or not resetting[env_id]:
                observation = observations[env_id] if self._reads else None
                action = actions[env_id] if self._writes else None
                self._last[env_id] = (observation, action, float(rewards[env_id]))

    def lines(self, width: int) -> Iterator[str]:
        """Yield the exchanges, each on two lines of at most `width` characters."""
        for exchange in self._last:
            if exchange is not None:
                observation, action, reward = exchange
                earned = f"  reward {reward:g}"
                if self._reads:
                    yield f"  {_flat(observation, width - 2)}"
                if self._writes:
                    yield f"  > {_flat(action, width - 4 - len(earned))}{earned}"


def _flat(value: Any, width: int) -> str:
    """Return a value on one line, cut to a width."""
    # Cut first: a text may have a megabyte.
    width = max(width, _MIN_WIDTH)
    text = " ".join(str(value)[: 20 * width].split())
    return text if len(text) <= width else text[: width - len(_ELLIPSIS)] + _ELLIPSIS
