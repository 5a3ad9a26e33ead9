"""The classes that an environment of one's own extends, and the seeds they live on.

A subclass calls ``super().reset(seed=seed)`` first in its `reset` and draws from
nothing but ``self.level_seed`` and ``self.np_random``.  It is then the same
environment alone, in Gymnasium's vector environments and in the pool, through every
autoreset.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np

from roll_vec.errors import ClosedError
from roll_vec.seeding import check_seed, draw_entropy, episode_seed, fold_seed
from roll_vec.spaces import MAX_TEXT, UnicodeText

__all__ = ["BaseDiscreteActionEnv", "BaseLanguageBasedEnv", "SeededEnv"]


class Episode(NamedTuple):
    """An episode of a stream: the seed that was given, folded, number, own seed."""

    start: int | None
    stream: int
    number: int
    level_seed: int


class ClosableEnv(gymnasium.Env[Any, Any]):
    """An environment that knows whether it was closed."""

    _is_closed = False

    def close(self) -> None:
        """Close the environment; later calls raise `ClosedError`.

        A subclass that frees something calls ``super().close()`` as well.
        """
        super().close()
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            message = (
                f"{type(self.unwrapped).__name__} is closed: make a new environment"
            )
            raise ClosedError(message)


class SeededEnv(ClosableEnv):
    """An environment that is seeded anew for each of its episodes.

    Attributes
    ----------
    DATA_FILES : mapping from str to str, of the class
        Keywords that are paths of data files.  A pool of the registered id remembers
        their absolute paths and contents, and builds no environment from others.  The
        value is the name of the file that stands for all others where the path is a
        folder, or empty.
    level_seed : int or None
        Seed of the current episode, below 2**32: the (folded) seed of the stream in
        its episode 0, `roll_vec.seeding.episode_seed` later.  None before a reset.
    np_random : numpy.random.Generator
        PCG64 seeded with ``level_seed``, new for each episode; made when it is asked
        for, so that it costs nothing where nobody draws.
    """

    DATA_FILES: ClassVar[Mapping[str, str]] = {}
    level_seed: int | None = None
    _stream: int | None = None
    _episode: int = -1
    _generator: np.random.Generator | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Go on to the coming episode: set ``level_seed`` and ``np_random``.

        Parameters
        ----------
        seed : int or None
            An int starts a stream at its episode 0; None goes on to the stream's
            next episode (the first time, of a stream of entropy).
        options : dict or None
            The subclass's.

        Returns
        -------
        None, {}
            A subclass returns its observation and info.

        Raises
        ------
        InvalidSeedError
        ClosedError
        """
        self._commit_episode(self._plan_episode(seed))
        return None, {}

    def resume(self, seed: int, episode: int) -> None:
        """Let the next `reset` without a seed begin an episode of a stream.

        Parameters
        ----------
        seed : int
            That the stream starts from.
        episode : int
            Number of the episode, from 0.

        Raises
        ------
        InvalidSeedError
        """
        self._stream, self._episode = fold_seed(check_seed(seed)), episode - 1
        self._np_random_seed = seed

    def _plan_episode(self, seed: int | None) -> Episode:
        """Return the coming episode; nothing moves."""
        self._check_open()
        if seed is None and self._stream is not None:
            start, stream, number = (
                self._np_random_seed,
                self._stream,
                self._episode + 1,
            )
        else:
            start = draw_entropy() if seed is None else check_seed(seed)
            stream, number = fold_seed(start), 0
        return Episode(start, stream, number, episode_seed(stream, number))

    def _commit_episode(self, episode: Episode) -> None:
        """Move to a planned episode."""
        self._np_random_seed, self._stream, self._episode, self.level_seed = episode
        self._generator = None

    @property
    def _np_random(self) -> np.random.Generator | None:
        """Where Gymnasium keeps the generator."""
        if self._generator is None and self.level_seed is not None:
            self._generator = np.random.Generator(np.random.PCG64(self.level_seed))
        return self._generator

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        self._generator = generator

    @property
    def np_random_seed(self) -> int | None:  # type: ignore[override]
        """The seed that the stream started from; None before the first reset."""
        return self._np_random_seed

    def get_stream(self) -> dict[str, Any]:
        """Return where the stream of seeds is, for a subclass's `get_state`."""
        drawn = self._generator
        return {
            "stream": self._stream,
            "episode": self._episode,
            "level_seed": self.level_seed,
            "np_random_seed": self._np_random_seed,
            "np_random": None if drawn is None else drawn.bit_generator.state,
        }

    def set_stream(self, state: Mapping[str, Any]) -> None:
        """Put the stream of seeds where `get_stream` found it."""
        self._stream, self._episode = state["stream"], state["episode"]
        self.level_seed = state["level_seed"]
        self._np_random_seed = state["np_random_seed"]
        self._generator = None
        if state["np_random"] is not None:
            self._generator = np.random.Generator(np.random.PCG64(0))
            self._generator.bit_generator.state = state["np_random"]

    def get_instructions(self) -> str:
        """Return what an agent is told before an episode, as its prompt."""
        return ""

    def get_state(self) -> dict[str, Any]:
        """Return everything that later steps and resets depend on; optional."""
        message = f"{type(self).__name__} has no get_state"
        raise NotImplementedError(message)

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to what `get_state` returned; optional."""
        message = f"{type(self).__name__} has no set_state"
        raise NotImplementedError(message)


class BaseLanguageBasedEnv(SeededEnv, ABC):
    """Base class of environments that are acted in by text, as in ROLL's guide.

    Observations and actions are `UnicodeText` of up to 2**20 characters, unless the
    subclass sets its own spaces.
    """

    def __init__(self) -> None:
        self.observation_space = UnicodeText(MAX_TEXT)
        self.action_space = UnicodeText(MAX_TEXT)

    @abstractmethod
    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Answer with a text; the empty one stands for "no valid answer".

        Returns
        -------
        observation, reward, terminated, truncated, info
        """


class BaseDiscreteActionEnv(SeededEnv, ABC):
    """Base class of environments with integer actions, as in ROLL's guide.

    Attributes
    ----------
    ACTION_LOOKUP : dict from int to str
        Names of the valid actions, by which text acts.
    GRID_LOOKUP : dict from int to str
        Characters of the cell codes in text.
    ACTION_SPACE : gymnasium.Space
        ROLL's name of ``action_space``; setting one sets the other.
    """

    ACTION_LOOKUP: ClassVar[Mapping[int, str]]
    GRID_LOOKUP: ClassVar[Mapping[int, str]]

    @property
    def takes_no_action(self) -> bool:
        """Whether a pool hands over 0, "no valid action", below a space from 1 on."""
        return True

    @property
    def ACTION_SPACE(self) -> gymnasium.Space[Any]:
        """ROLL's name of ``action_space``."""
        return self.action_space

    @ACTION_SPACE.setter
    def ACTION_SPACE(self, space: gymnasium.Space[Any]) -> None:
        self.action_space = space

    @abstractmethod
    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action; 0, where no valid action, is accepted as "none".

        Parameters
        ----------
        action : int
            Of the action space: action + ``action_space.start`` for an agent that
            counts from 0.  The subclass itself says what is done with a 0 below it.

        Returns
        -------
        observation, reward, terminated, truncated, info
        """

    def get_all_actions(self) -> list[int]:
        """Return all valid actions."""
        return list(self.ACTION_LOOKUP)
