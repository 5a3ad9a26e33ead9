"""Policies that need no knowledge of the game."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Discrete

from roll_vec.errors import InvalidOptionError
from roll_vec.seeding import check_seed
from roll_vec.spaces import UnicodeText
from roll_vec.trajectories import Turn
from roll_vec.vector.action_sampling import choose_actions


class UniformPolicy:
    """Uniform actions; of a text environment, uniform among the examples of its space.

    The action of an episode's step depends on the seed, the episode and the step alone.

    Parameters
    ----------
    envs : VectorEnv
    seed : int

    Raises
    ------
    InvalidOptionError
        If the action space is neither `Discrete` nor texts with examples.
    """

    def __init__(self, envs: Any, seed: int) -> None:
        space = envs.single_action_space
        is_text = isinstance(space, UnicodeText) and space.examples
        if not isinstance(space, Discrete) and not is_text:
            accepted = "environments with a Discrete action space or examples of texts"
            raise InvalidOptionError.expected("envs", accepted, space)
        self._seed = check_seed(seed)
        self._space = space

    def __call__(self, turn: Turn) -> Any:
        """Return an action for each environment."""
        words = turn.random_words(self._seed)
        return choose_actions(words, self._space)
