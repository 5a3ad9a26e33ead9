"""The environments of one tag of a RAGEN config, in one vector environment.

A batch has the results of RAGEN's classes: observations, rewards and infos.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from roll_vec.adapters.roll.countdown import signed_rows
from roll_vec.adapters.roll.grids import resize_lake
from roll_vec.envs.countdown.task_files import load_tasks
from roll_vec.errors import InvalidActionError
from roll_vec.factories import make_vec
from roll_vec.text.validation import check_text


class Result(NamedTuple):
    """The results of one action of one environment."""

    reward: float
    has_ended: bool
    info: dict[str, Any]


class Step(NamedTuple):
    """A step of one environment of ours, with the infos of the batch."""

    observation: Any
    reward: float
    has_ended: bool
    infos: Mapping[str, Any]


class Batch:
    """N environments with one configuration.

    Parameters
    ----------
    config
        One of `roll_vec.adapters.ragen.configs`.
    num_envs : int

    Attributes
    ----------
    config
    observations : list of str or (height, width, 3) uint8
        The results of RAGEN's ``render()``, by environment.
    """

    ID = ""

    def __init__(self, config: Any, num_envs: int) -> None:
        self.config = config
        self.observations: list[Any] = [None] * num_envs
        # RAGEN's own limits are `max_steps` of Sokoban and the manager's.
        self.envs = make_vec(
            self.ID,
            num_envs,
            autoreset_mode="Disabled",
            max_episode_steps=-1,
            **config.batch_keywords(),
        )

    def reset(
        self,
        seeds: Sequence[int | None],
        mode: str | None = None,  # noqa: ARG002
    ) -> None:
        """Start new episodes in all environments.

        ``mode``, of RAGEN's managers, matters to WebShop alone.
        """
        observations, _ = self.envs.reset(seed=list(seeds))
        self.observations = list(map(self.show, observations))

    def step(self, actions: Mapping[int, Any]) -> dict[int, Result]:
        """Take one action in some environments, which have not ended.

        Parameters
        ----------
        actions : dict from the number of an environment to RAGEN's action
        """
        mask = np.zeros(self.envs.num_envs, np.bool_)
        mask[list(actions)] = True
        batch: list[Any] = [None] * len(mask)
        for row, action in actions.items():
            batch[row] = self.convert(action)
        observations, rewards, terminations, truncations, infos = self.envs.step(
            batch, mask=mask
        )
        ends = terminations | truncations
        results = {}
        for row, action in actions.items():
            step = Step(observations[row], float(rewards[row]), bool(ends[row]), infos)
            results[row] = self.result(row, action, step)
        return results

    def convert(self, action: Any) -> Any:
        """Return our form of an action."""
        return action

    def show(self, observation: Any) -> Any:
        """Return RAGEN's form of an observation."""
        return observation

    def result(self, row: int, action: Any, step: Step) -> Result:  # noqa: ARG002
        """Return the results of an action, and take over the observation."""
        self.observations[row] = self.show(step.observation)
        keys = ("action_is_effective", "action_is_valid", "success")
        info = {key: bool(step.infos[key][row]) for key in keys}
        return Result(step.reward, step.has_ended, info)

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()


class SokobanBatch(Batch):
    """RAGEN's Sokoban."""

    ID = "roll_vec/Sokoban-v0"


class FrozenLakeBatch(Batch):
    """RAGEN's FrozenLake."""

    ID = "roll_vec/RandomFrozenLake-v0"

    def convert(self, action: Any) -> Any:
        """Return the action of ``action_map``.

        Raises
        ------
        InvalidActionError
            For an action that the map does not have, such as 0.
        """
        accepted = list(self.config.action_map)
        if action not in accepted:
            raise InvalidActionError.expected("action", f"one of {accepted}", action)
        return self.config.action_map[action] + 1

    def show(self, observation: Any) -> Any:
        """Return a picture in RAGEN's size."""
        return resize_lake(observation)

    def result(self, row: int, action: Any, step: Step) -> Result:
        """Return the results with a reward of type int, as RAGEN's prompts show it."""
        result = super().result(row, action, step)
        return result._replace(reward=int(result.reward))


class CountdownBatch(Batch):
    """RAGEN's Countdown: one answer, which RAGEN grades by the numbers in its text."""

    ID = "roll_vec/Countdown-v0"

    def __init__(self, config: Any, num_envs: int) -> None:
        self._rows: list[int] | None = None
        if config.train_path is not None:
            file = load_tasks(str(config.train_path))
            self._rows = signed_rows(file, config.max_instances)
        super().__init__(config, num_envs)

    def reset(self, seeds: Sequence[int | None], mode: str | None = None) -> None:
        """Start the tasks of the seeds, modulo the number of the file's tasks."""
        rows = self._rows
        if rows is not None:
            seeds = [s if s is None else rows[s % len(rows)] for s in seeds]
        super().reset(seeds, mode)

    def convert(self, action: Any) -> Any:
        """Return the answer without a plus at its start, which our grammar lacks."""
        return check_text(action).lstrip().removeprefix("+")

    def result(self, row: int, action: Any, step: Step) -> Result:
        """Return RAGEN's score: any text with the right numbers has the right form."""
        _, *nums = re.findall(r"\d+", self.observations[row])
        has_form = False
        # Python converts no number of thousands of digits.
        with suppress(ValueError):
            numbers = sorted(map(int, re.findall(r"\d+", action)))
            has_form = numbers == sorted(map(int, nums))
        reward: float = 0
        if has_form:
            success = bool(step.infos["success"][row])
            reward = self.config.score if success else self.config.format_score
        self.observations[row] = f"Your answer get {reward} points."
        info = {
            "action_is_effective": reward > 0,
            "action_is_valid": True,
            "success": reward == self.config.score,
        }
        return Result(reward, step.has_ended, info)
