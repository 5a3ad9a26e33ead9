"""The data of a recording: ticks and frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.recordings import Difference


@dataclass(frozen=True)
class Tick:
    """One call of the batch."""

    step: int
    """Steps of the batch so far: 0 is the first reset, 1 the first step."""
    is_reset: bool
    """True: a reset alone, in which no environment took an action."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One environment after one tick."""

    is_reset: bool
    """True: an episode begins here; there is no action and no reward."""
    episode: int
    """Number of the environment's episode, from 0."""
    length: int = 0
    """Steps of the episode so far."""
    action: Any = None
    """As the environment took it: an int, a text or an array; None at a reset."""
    action_name: str = ""
    """The action for people: its name where it has one; empty at a reset."""
    reward: float = 0.0
    total_reward: float = 0.0
    """Sum of the rewards of the episode so far, in the order of the steps."""
    terminated: bool = False
    truncated: bool = False
    success: bool | None = None
    """None: the environment does not say."""
    fault: str | None = None
    """The error of an environment object that failed."""
    infos: Mapping[str, Any] = field(default_factory=dict)
    """The environment's own infos, without those below."""
    board: NDArray[np.uint8] | None = None
    """(H, W) cell codes."""
    text: str | None = None
    """The observation, where it is a text; else the text that ``render`` returns."""
    picture: NDArray[np.uint8] | None = None
    """(H, W, 3) pixels that ``render`` returns."""

    @property
    def has_ended(self) -> bool:
        """Whether this step ended the episode."""
        return self.terminated or self.truncated


@dataclass(frozen=True)
class Recording:
    """Some environments of one batch, and everything that happened to them."""

    id: str
    """Of the environments."""
    details: Mapping[str, str]
    """Further facts for people, by name: the policy, the seed, keywords."""
    env_ids: tuple[int, ...]
    """The environments, by their numbers in the batch."""
    ticks: tuple[Tick, ...]
    frames: tuple[tuple[Frame | None, ...], ...]
    """By environment, then by tick; None: nothing happened to it."""
    group_size: int = 1
    """Environments g · size … g · size + size - 1 of the batch play the same task."""
    is_text: bool = False
    """Whether actions are texts: the episodes are conversations."""
    tiles: NDArray[np.uint8] | None = None
    """(C, S, S, 3) pixels by cell code; None: there are no boards."""
    meanings: tuple[str, ...] = ()
    """By cell code, the word for it."""
    glyphs: tuple[str, ...] = ()
    """By cell code, its characters in text."""
    difference: Difference | None = None
    """Of a replay: its first one to the file."""
    is_replay: bool = False
    """Whether the steps are those of a file, played again and compared."""

    @cached_property
    def board_shape(self) -> tuple[int, int]:
        """The most rows and the most columns of a board; (0, 0) without boards."""
        shapes = [
            frame.board.shape
            for frames in self.frames
            for frame in frames
            if frame is not None and frame.board is not None
        ]
        rows = max((shape[0] for shape in shapes), default=0)
        return rows, max((shape[1] for shape in shapes), default=0)

    def latest(self, index: int, tick: int) -> Frame | None:
        """Return the last frame of an environment at or before a tick.

        Parameters
        ----------
        index : int
            Of the environment in ``env_ids``.
        tick : int
        """
        for frame in reversed(self.frames[index][: tick + 1]):
            if frame is not None:
                return frame
        return None
