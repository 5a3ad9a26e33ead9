"""The form of a row, and the base of the formats."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, BinaryIO, ClassVar

from roll_vec.errors import InvalidOptionError
from roll_vec.registration.factories import WORK_KEYWORDS
from roll_vec.trajectories import Trajectory
from roll_vec.vector.env import BatchOptions

MAX_SEED = (1 << 63) - 1
"""Readers of JSON make floats of columns with larger seeds, and lose digits."""
# Keywords that change no episode.
_OF_BATCHES = (
    WORK_KEYWORDS
    | {each.name for each in fields(BatchOptions)}
    | {"num_envs", "render_mode", "vector_kwargs", "vectorization_mode"}
)


class Format(ABC):
    """A format of files of episodes, for one environment.

    Parameters
    ----------
    envs : VectorEnv
        A batch of the environment.
    policy : str
        The name of the policy.

    Attributes
    ----------
    name, suffix, summary : str
        The value of ``--format``, the end of the names of files, a line for ``--help``.
    needs : str
        The observations and actions that a row can hold.
    keywords : mapping
        Of games on a grid, which then have these observations and actions.

    Raises
    ------
    InvalidOptionError
        If a row cannot hold the observations or the actions.
    MissingExtraError
    """

    name: ClassVar[str]
    suffix: ClassVar[str]
    summary: ClassVar[str]
    needs: ClassVar[str]
    keywords: ClassVar[Mapping[str, str]] = {}

    def __init__(self, envs: Any, policy: str) -> None:
        self.id, keywords = "", {}
        if envs.spec is not None:
            self.id, keywords = envs.spec.id, envs.spec.kwargs
        self.env_keywords = {
            name: value for name, value in keywords.items() if name not in _OF_BATCHES
        }
        self.policy = policy
        self.observation_space = envs.single_observation_space
        self.action_space = envs.single_action_space
        self._json_keywords = _encode(self.env_keywords)

    @abstractmethod
    def write(self, file: BinaryIO, episodes: Iterable[Trajectory]) -> None:
        """Write a row for each episode; the same episodes give the same bytes.

        Raises
        ------
        InvalidOptionError
            For an episode that a row cannot hold.
        """

    def refuse(self) -> InvalidOptionError:
        """Return the error for an environment that the rows cannot hold."""
        message = (
            f"format: {self.name} needs {self.needs}; {self.id} has observations "
            f"{self.observation_space} and actions {self.action_space}"
        )
        return InvalidOptionError(message)

    def to_columns(self, episode: Trajectory) -> dict[str, Any]:
        """Return an episode without observations and actions, as JSON can write it."""
        if episode.seed is not None and episode.seed > MAX_SEED:
            accepted = f"episodes with seeds up to {MAX_SEED}"
            raise InvalidOptionError.expected("episodes", accepted, episode.seed)
        return {
            "id": self.id,
            "keywords": self._json_keywords,
            "seed": episode.seed,
            "return": episode.total_reward,
            "success": episode.success,
            "num_steps": episode.num_steps,
            "terminated": episode.terminated,
            "truncated": episode.truncated,
            "rewards": episode.rewards.tolist(),
        }


def _encode(keywords: Mapping[str, Any]) -> str:
    """Return keywords as JSON, in one form."""
    for name, value in keywords.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            option = f"keywords[{name!r}]"
            accepted = "a value that JSON can write, such as the path of a file"
            raise InvalidOptionError.expected(option, accepted, value) from None
    return json.dumps(keywords, sort_keys=True)
