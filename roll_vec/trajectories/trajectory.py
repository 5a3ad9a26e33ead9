"""The data class of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One episode of one environment, from its reset to its end.

    It has T steps.  Observations, actions and infos have the form of a single
    environment: an array, an int, a text, a dict.

    Parameters
    ----------
    id : str
        Of the environment.
    seed : int or None
        ``gymnasium.make(id, ...).reset(seed=seed)`` begins this episode.  None: no seed
        does, as for the second episode of ``FrozenLake-v1``, which continues the random
        generator of the first.
    observations : list of T + 1
        That of the reset, then one of each step.
    actions : list of T
        As they were passed.
    rewards : (T,) float64
    terminated, truncated : bool
        The end of the last step.
    success : bool or None
        None: the environment does not say.  False: not, or a fault ended the episode.
    infos : list of T + 1 dicts
        That of the reset, then one of each step.
    fault : str or None
        The error of an environment of a pool, or of the policy, which ended the
        episode; or the reset with the seed failed, and this is another episode.
    """

    id: str
    seed: int | None
    observations: list[Any]
    actions: list[Any]
    rewards: NDArray[np.float64]
    terminated: bool
    truncated: bool
    success: bool | None
    infos: list[dict[str, Any]]
    fault: str | None = None

    @property
    def num_steps(self) -> int:
        """T; 0 if the policy failed before the first step."""
        return len(self.actions)

    @property
    def total_reward(self) -> float:
        """The return: the rewards, added one after the other in float64."""
        # sum() of newer Pythons, and numpy's, round in another order.
        return float(np.cumsum(self.rewards)[-1]) if len(self.rewards) else 0.0

    @property
    def instruction(self) -> str | None:
        """The environment's instruction for a language model; None: it has none."""
        return instruction_of(self.infos[0])


class OpenEpisode:
    """An episode that goes on: what a `Trajectory` has of it so far.

    Parameters
    ----------
    observation, info
        Of the reset.
    """

    def __init__(self, observation: Any, info: dict[str, Any]) -> None:
        self.observations, self.infos = [observation], [info]
        self.actions: list[Any] = []
        self.rewards: list[float] = []

    def add(
        self, action: Any, observation: Any, reward: float, info: dict[str, Any]
    ) -> None:
        """Add a step."""
        self.actions.append(action)
        self.observations.append(observation)
        self.rewards.append(reward)
        self.infos.append(info)

    def end(
        self,
        id: str,
        seed: int | None,
        terminated: bool,
        truncated: bool,
        success: bool | None,
        fault: str | None,
    ) -> Trajectory:
        """Return the whole episode; one that a fault has ended is no success."""
        return Trajectory(
            id=id,
            seed=seed,
            observations=self.observations,
            actions=self.actions,
            rewards=np.array(self.rewards, np.float64),
            terminated=terminated,
            truncated=truncated,
            success=success if fault is None else False,
            infos=self.infos,
            fault=fault,
        )


def instruction_of(info: Mapping[str, Any]) -> str | None:
    """Return the instruction in the info of a reset; None: there is none, or ``""``."""
    instruction = info.get("env_instruction")
    return None if instruction is None else str(instruction) or None
