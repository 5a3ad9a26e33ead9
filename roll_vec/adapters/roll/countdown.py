"""Countdown: the class of ROLL's guide.

Names and defaults of the guide's are those of ROLL's first version (commit 35bea6a2),
and so is the choice of tasks.  Rewards and rules are those of the single environment
that the class extends.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from roll_vec.adapters.roll.configs import EnvConfig, GuideEnv
from roll_vec.envs.countdown.env import Countdown
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.countdown.task_files import TaskFile
from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_choice,
    check_int,
)

# ROLL chooses tasks by the sums of so many numbers.
_NUM_SIGNED = 4


@dataclass
class CountdownEnvConfig(EnvConfig):
    """ROLL's configuration of Countdown.

    ``train_path`` is a file of tasks, see `CountdownOptions`.
    Of its first ``max_instances`` rows those are played, by their number modulo their
    count, whose target is a sum of the numbers with signs.  Without a file, tasks are
    generated from the seed; ``max_instances`` has no meaning then.
    """

    OPTIONS: ClassVar[type[Any]] = CountdownOptions
    OURS: ClassVar[Mapping[str, str]] = {"train_path": "data"}
    # ROLL's own example answers ``- 3 + 8 + 1``.
    FIXED: ClassVar[Mapping[str, Any]] = {"unary_minus": True}

    train_path: str | os.PathLike[str] | None = None
    max_instances: int = 20000
    render_mode: str = "text"
    score: float = 1
    format_score: float = 0.1

    def __post_init__(self) -> None:
        check_choice("render_mode", self.render_mode, ("text",))
        check_int("max_instances", self.max_instances, 1)
        super().__post_init__()


@functools.lru_cache(maxsize=8)
def _signed_rows(file: TaskFile, max_instances: int) -> list[int]:
    """Return the numbers of the rows that ROLL plays.

    Raises
    ------
    InvalidOptionError
        If there is none.
    """
    count = min(max_instances, len(file))
    tasks = [file.row(number) for number in range(count)]
    numbers = np.zeros((count, _NUM_SIGNED), np.int64)
    for number, (nums, _) in enumerate(tasks):
        numbers[number, : len(nums)] = nums[:_NUM_SIGNED]
    signs = np.array(list(product((1, -1), repeat=_NUM_SIGNED))).T
    targets = np.array([target for _, target in tasks])
    rows: list[int] = np.flatnonzero(
        (numbers @ signs == targets[:, np.newaxis]).any(axis=1)
    ).tolist()
    if not rows:
        accepted = "a file with a row whose target is a sum of its numbers with signs"
        raise InvalidOptionError.expected("train_path", accepted, file.path)
    return rows


class CountdownEnv(GuideEnv, Countdown):
    """Countdown for users of ROLL: ``CountdownEnv(config)``.

    An answer ends the episode; the observation after it tells the points.

    Parameters
    ----------
    config : CountdownEnvConfig, mapping or None
        A mapping has fields of the configuration; None: the defaults.
    **keywords
        Fields that replace those of ``config``, which is not changed.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    CONFIG = CountdownEnvConfig

    def __init__(self, config: Any = None, **keywords: Any) -> None:
        super().__init__(config, **keywords)
        if self._file is not None:
            self._rows = _signed_rows(self._file, self.config.max_instances)

    def _make_task(self, level: int) -> tuple[list[int], int]:
        """Return the task of a level: of a file, one of the rows that ROLL plays."""
        if self._file is not None:
            level = self._rows[level % len(self._rows)]
        return super()._make_task(level)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answer with an expression; see `Countdown.step`.

        The observation is ``Your answer get 1 points.``, with the reward.
        """
        _, reward, terminated, truncated, info = super().step(action)
        points: float = 0
        if info["success"]:
            points = self.config.score
        elif reward:
            points = self.config.format_score
        # Below the task, as a hint is, so that states have it.
        observation = f"Your answer get {points} points."
        self._observation = f"{self._task}{observation}"
        return observation, reward, terminated, truncated, info

    def render(self, mode: str | None = None) -> str:  # noqa: ARG002
        """Return the latest observation; ``mode`` has no effect, as in ROLL.

        Raises
        ------
        ResetNeededError, ClosedError
        """
        text = super().render()
        assert text is not None, "the config has a render mode"
        return text if self._open else text.removeprefix(self._task)
