"""The data class of an episode, its messages, and its infos as JSON has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.render.png import to_data_url

TEXTS = {
    "obs_mode": "text",
    "action_mode": "text",
    "action_pattern": "<answer>(.*?)</answer>",
}
"""Keywords of games on a grid whose observations, and answers in tags, are texts."""


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
        terminated: bool | np.bool_,
        truncated: bool | np.bool_,
        success: bool | None,
        fault: str | None,
    ) -> Trajectory:
        """Return the whole episode; one that a fault has ended is no success."""
        steps = self.observations, self.actions, np.array(self.rewards, np.float64)
        flags = bool(terminated), bool(truncated)
        success = success if fault is None else False
        return Trajectory(id, seed, *steps, *flags, success, self.infos, fault)


def instruction_of(info: Mapping[str, Any]) -> str | None:
    """Return the instruction in the info of a reset; None: there is none, or ``""``."""
    instruction = info.get("env_instruction")
    return None if instruction is None else str(instruction) or None


def to_messages(
    trajectory: Trajectory, *, last_observation: bool = False
) -> list[dict[str, str]]:
    """Return an episode as a list of ``{"role": ..., "content": ...}``.

    The environment's instruction, if it has one, is the ``"system"`` message, each
    observation a ``"user"`` message, each answer, as written, an ``"assistant"`` one.

    Parameters
    ----------
    trajectory : Trajectory
        Of an environment whose observations and actions are texts.
    last_observation : bool, default False
        True: the list ends with the observation after the last answer, which nobody
        answers.

    Raises
    ------
    InvalidOptionError
        If an observation or an action is no text.
    """
    observations, answers = trajectory.observations, trajectory.actions
    for name, values in (("observations", observations), ("actions", answers)):
        for value in values:
            if not isinstance(value, str):
                raise InvalidOptionError.expected(
                    "trajectory",
                    f"{name} that are texts",
                    value,
                    "; make the environments with obs_mode='text' and "
                    "action_mode='text'",
                )
    messages = []
    if trajectory.instruction is not None:
        messages.append({"role": "system", "content": trajectory.instruction})
    for observation, answer in zip(observations, answers, strict=False):
        messages.append({"role": "user", "content": observation})
        messages.append({"role": "assistant", "content": answer})
    if last_observation:
        messages.append({"role": "user", "content": observations[-1]})
    return messages


def to_content(*parts: Any) -> str | list[dict[str, Any]]:
    """Return the content of a chat's message, of texts and pictures.

    Parameters
    ----------
    *parts : str, or (H, W, 3) uint8
        An instruction and an observation, say.

    Returns
    -------
    str, or list of dict
        Texts alone are one text, with empty lines between them.  With a picture it is a
        list of parts in OpenAI's form: ``text``, and ``image_url`` with a PNG file.

    Raises
    ------
    MissingExtraError
        For a picture without Pillow.
    """
    if all(isinstance(part, str) for part in parts):
        return "\n\n".join(parts)
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": to_data_url(part)}}
        for part in parts
    ]


def to_json(value: Any) -> Any:
    """Return a value with only what JSON has: None, bool, int, float, str, list, dict.

    Half a surrogate pair, which UTF-8 lacks, is a question mark.  Arrays, tuples and
    sets are lists, and the keys of dicts are sorted.  Floats that JSON lacks are the
    texts ``"nan"``, ``"inf"`` and ``"-inf"``.  An object of another kind is the name of
    its class: its text may have its address, which differs between processes.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        # In the infos of a batch the order depends on the other environments.
        items = {to_json(str(key)): part for key, part in value.items()}
        return {key: to_json(items[key]) for key in sorted(items)}
    if isinstance(value, (list, tuple)):
        return [to_json(part) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted((to_json(part) for part in value), key=repr)
    kind = type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"
