"""Base classes for your own environments, and the streams of seeds behind them.

A subclass calls ``super().reset(seed=seed)`` first in its `reset`, and draws random
numbers only from ``self.level_seed`` and ``self.np_random``.  Then its episodes are the
same alone, in Gymnasium's vector environments and in a pool, in any autoreset mode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np

from roll_vec.errors import ClosedError, InvalidStateError
from roll_vec.seeding import (
    MAX_COUNT,
    check_seed,
    draw_entropy,
    episode_seed,
    fold_seed,
    make_generator,
)
from roll_vec.spaces import MAX_TEXT, UnicodeText

# The position in a stream: seeds, of which the first two are folded, and others.
_SEEDS = ("stream", "level_seed", "np_random_seed")
_STREAM = {*_SEEDS, "episode", "np_random"}


class Episode(NamedTuple):
    """One episode of a stream."""

    start: int | None
    """The stream's seed, as the user passed it."""
    stream: int
    """The same, folded to below 2**32."""
    number: int
    """From 0."""
    level_seed: int
    """The episode's own seed."""


class ClosableEnv(gymnasium.Env[Any, Any]):
    """An environment that raises `ClosedError` after `close`."""

    _is_closed = False

    def close(self) -> None:
        """Close the environment; later calls raise `ClosedError`.

        A subclass with its own `close` calls ``super().close()`` in it.
        """
        super().close()
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            message = f"{self._name} is closed: make a new environment"
            raise ClosedError(message)

    @property
    def _name(self) -> str:
        """The name of the environment, for messages."""
        return type(self.unwrapped).__name__


class SeededEnv(ClosableEnv):
    """An environment that gets a new seed for each of its episodes.

    Attributes
    ----------
    DATA_FILES : tuple of str, of the class
        Keywords that are paths of data files, or of folders.  A pool of the registered
        id makes them absolute.  The digests of their contents are a part of the
        configuration of snapshots.
    level_seed : int or None
        Seed of the current episode, below 2**32: in episode 0 the folded seed of the
        stream, later `roll_vec.seeding.episode_seed`.  None before the first reset.
    np_random : numpy.random.Generator
        PCG64 seeded with ``level_seed``, new for each episode.  It is made when it is
        first read, so that it costs nothing if nobody draws from it.

    Optional methods
    ----------------
    get_state() -> dict
        Return the state that later steps and resets depend on, without ``level_seed``
        and ``np_random``.  Snapshots of pools have it, with the position in the stream
        of seeds as ``seed_stream``.  Plain data (see `roll_vec.storage.plain_data`) is
        saved without pickle.  It may hold objects of the environment itself: the pool
        copies them.
    set_state(state)
        Restore the state that `get_state` returned.  The environment may be in any
        other state, or new.  A pool passes a copy that nobody else has, without
        ``seed_stream``.  ``level_seed`` and ``np_random`` are those of the state before
        the method runs; draws and resets in it do not move them.
    """

    DATA_FILES: ClassVar[tuple[str, ...]] = ()
    # Whether `get_state` of the class returns the position in the stream itself;
    # `roll_vec.objects.states` adds it otherwise.
    state_has_stream: ClassVar[bool] = False
    level_seed: int | None = None
    _stream: int | None = None
    _episode: int = -1
    _generator: np.random.Generator | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode: set ``level_seed`` and ``np_random``.

        Parameters
        ----------
        seed : int or None
            An int starts a stream at its episode 0.  None begins the stream's next
            episode; the first time, a stream with a seed of the operating system.
        options : dict or None
            For the subclass.

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
        """Make the next `reset` without a seed begin a certain episode of a stream.

        Parameters
        ----------
        seed : int
            Of the stream.
        episode : int
            Number of that episode, from 0.

        Raises
        ------
        InvalidSeedError
        """
        self._stream, self._episode = fold_seed(check_seed(seed)), episode - 1
        self._np_random_seed = seed

    def _plan_episode(self, seed: int | None) -> Episode:
        """Return the next episode without moving to it."""
        self._check_open()
        if seed is None and self._stream is not None:
            start, stream = self._np_random_seed, self._stream
            number = self._episode + 1
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
        """The generator, under Gymnasium's name for it."""
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
        """Return the position in the stream of seeds: of ``level_seed``, ``np_random``.

        Snapshots of pools have it without a call of this method.
        """
        generator = self._generator
        return {
            "stream": self._stream,
            "episode": self._episode,
            "level_seed": self.level_seed,
            "np_random_seed": self._np_random_seed,
            "np_random": None if generator is None else generator.bit_generator.state,
        }

    def set_stream(self, state: Mapping[str, Any]) -> None:
        """Move to the position that `get_stream` returned.

        Raises
        ------
        InvalidStateError
            If it is none; nothing has changed then.
        """
        generator = check_stream(state)
        self._stream, self._episode = state["stream"], state["episode"]
        self.level_seed = state["level_seed"]
        self._np_random_seed = state["np_random_seed"]
        self._generator = generator

    def get_instructions(self) -> str:
        """Return the prompt for an agent, before an episode."""
        return ""


class BaseLanguageBasedEnv(SeededEnv, ABC):
    """Base class of environments whose actions are texts, as in ROLL's guide.

    Observations and actions are `UnicodeText` of up to 2**20 characters, unless the
    subclass sets its own spaces.

    Infos
    -----
    env_instruction : str; reset
        The prompt of an agent.
    action_content : str; step
        The action's part of the text.
    think_content : str; step
        The thinking's part of the text.
    """

    def __init__(self) -> None:
        self.observation_space = UnicodeText(MAX_TEXT)
        self.action_space = UnicodeText(MAX_TEXT)

    @abstractmethod
    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act by a text; an empty one means "no valid answer".

        Returns
        -------
        observation, reward, terminated, truncated, info
        """


class BaseDiscreteActionEnv(SeededEnv, ABC):
    """Base class of environments with integer actions, as in ROLL's guide.

    Attributes
    ----------
    ACTION_LOOKUP : dict from int to str
        Names of the valid actions; texts act by them.
    GRID_LOOKUP : dict from int to str
        Characters of the cell codes in text.
    ACTION_SPACE : gymnasium.Space
        ROLL's name of ``action_space``; setting one sets the other.
    """

    ACTION_LOOKUP: ClassVar[Mapping[int, str]]
    GRID_LOOKUP: ClassVar[Mapping[int, str]]

    @property
    def accepts_noop(self) -> bool:
        """True: a pool passes on 0, "no valid action", if the space starts at 1."""
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
        """Take one action.

        Parameters
        ----------
        action : int
            Of the action space: action + ``action_space.start`` for an agent that
            counts from 0.  If the space starts at 1, 0 means "no valid action", and the
            subclass decides its effect.

        Returns
        -------
        observation, reward, terminated, truncated, info
        """

    def get_all_actions(self) -> list[int]:
        """Return all valid actions."""
        return list(self.ACTION_LOOKUP)


def check_stream(state: Any) -> np.random.Generator | None:
    """Check a position in a stream of seeds, and return its generator.

    Raises
    ------
    InvalidStateError
        If `SeededEnv.get_stream` cannot have returned it.
    """
    if not isinstance(state, Mapping) or not state.keys() >= _STREAM:
        accepted = f"a dict with {sorted(_STREAM)}"
        raise InvalidStateError.of_array("stream", accepted, state)
    for name in _SEEDS:
        seed, is_folded = state[name], name != "np_random_seed"
        if seed is not None and (type(seed) is not int or (is_folded and seed >> 32)):
            raise InvalidStateError.of_array(name, "None, or a seed", seed)
    episode = state["episode"]
    if type(episode) is not int or not -1 <= episode <= MAX_COUNT:
        accepted = "the number of an episode"
        raise InvalidStateError.of_array("episode", accepted, episode)
    if state["np_random"] is None:
        return None
    return make_generator(state["np_random"])
