"""The data of a recording: ticks and frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.recordings import Difference


@dataclass(frozen=True)
class Tick:
    """One call of the batch.

    Attributes
    ----------
    step : int
        Steps of the batch so far: 0 is the first reset, 1 the first step.
    is_reset : bool
        True: a reset alone, in which no environment took an action.
    """

    step: int
    is_reset: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """One environment after one tick.

    Attributes
    ----------
    is_reset : bool
        True: an episode begins here; there is no action and no reward.
    episode : int
        Number of the environment's episode, from 0.
    length : int
        Steps of the episode so far.
    action : any
        As the environment took it: an int, a text or an array; None at a reset.
    action_name : str
        The action for people: its name where it has one; empty at a reset.
    reward : float
    total_reward : float
        Sum of the rewards of the episode so far, in the order of the steps.
    terminated : bool
    truncated : bool
    success : bool or None
        None: the environment does not say.
    fault : str or None
        The error of an environment object that failed.
    infos : mapping
        The environment's own infos, without those below.
    board : (H, W) uint8 or None
        Cell codes.
    text : str or None
        The observation, where it is a text; else the text that ``render`` returns.
    picture : (H, W, 3) uint8 or None
        Pixels that ``render`` returns.
    """

    is_reset: bool
    episode: int
    length: int = 0
    action: Any = None
    action_name: str = ""
    reward: float = 0.0
    total_reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    success: bool | None = None
    fault: str | None = None
    infos: Mapping[str, Any] = field(default_factory=dict)
    board: NDArray[np.uint8] | None = None
    text: str | None = None
    picture: NDArray[np.uint8] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether this step ended the episode."""
        return self.terminated or self.truncated


@dataclass(frozen=True)
class Recording:
    """Some environments of one batch, and everything that happened to them.

    Attributes
    ----------
    id : str
        Of the environments.
    details : Mapping[str, str]
        Further facts for people, by name: the policy, the seed, keywords.
    env_ids : tuple[int, ...]
        The environments, by their numbers in the batch.
    ticks : tuple[Tick, ...]
    frames : tuple[tuple[Frame or None, ...], ...]
        By environment, then by tick; None: nothing happened to it.
    group_size : int
        Environments g · size … g · size + size - 1 of the batch play the same task.
    is_text : bool
        Whether actions are texts: the episodes are conversations.
    tiles : array or None
        (C, S, S, 3) pixels by cell code; None: there are no boards.
    difference : Difference or None
        Of a replay: its first one to the file.
    is_replay : bool
        Whether the steps are those of a file, played again and compared.
    """

    id: str
    details: Mapping[str, str]
    env_ids: tuple[int, ...]
    ticks: tuple[Tick, ...]
    frames: tuple[tuple[Frame | None, ...], ...]
    group_size: int = 1
    is_text: bool = False
    tiles: NDArray[np.uint8] | None = None
    difference: Difference | None = None
    is_replay: bool = False

    @property
    def title(self) -> str:
        """The id and the further facts as one line."""
        facts = [f"{name} {value}" for name, value in self.details.items()]
        return " | ".join([self.id, *facts])
