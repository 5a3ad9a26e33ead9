"""Countdown: the class of ROLL's guide, and one for its pipeline, which has none.

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

from roll_vec.adapters.roll.configs import AnswerOptions, EnvConfig, GuideEnv
from roll_vec.adapters.roll.gem_env import GemEnv
from roll_vec.envs.countdown.env import Countdown
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.countdown.task_files import TaskFile
from roll_vec.envs.countdown.texts import write_instructions
from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    accepts_keywords_of,
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
    OURS: ClassVar[Mapping[str, str | None]] = {"train_path": "data"}
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
def signed_rows(file: TaskFile, max_instances: int) -> list[int]:
    """Return the numbers of the rows that ROLL plays, and RAGEN.

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

    @accepts_keywords_of(CountdownEnvConfig)
    def __init__(
        self,
        config: CountdownEnvConfig | Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__(CountdownEnvConfig, config, keywords)
        if self._file is not None:
            self._rows = signed_rows(self._file, self.config.max_instances)

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


class GemCountdownEnv(GemEnv):
    """Countdown: an answer is an expression.

    Parameters
    ----------
    **keywords
        Those of `AnswerOptions`, and those of
        `roll_vec.envs.countdown.options.CountdownOptions`.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    ID = "roll_vec/Countdown-v0"
    OPTIONS = CountdownOptions

    @accepts_keywords_of(AnswerOptions, open_end=True)
    def __init__(self, **keywords: Any) -> None:
        super().__init__(keywords)
        if not self.env_instruction:
            form = self._parser.example("(8 - 2) * 5")
            self.env_instruction = write_instructions(self.our_options)
            if form is not None:
                self.env_instruction += f"\nThe form of an answer is: {form}"

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take the expression of a model's answer; see `GemEnv.step`.

        An answer that does not match the pattern is an empty expression.
        """
        parsed = self.parse_action(action)
        expression = parsed["action"]
        empty = "" if expression is None else Countdown.EMPTY_ANSWER
        result = self._take(expression or empty)
        observation, reward, terminated, truncated, outcome = result
        if expression is None:
            reward += self.format_penalty
            info = self._invalid_info(parsed, success=False)
        else:
            text = f"At turn {self._turn}, your answer earned {reward} points."
            info = self._info(parsed, text, outcome, penalty=0)
        return observation, reward, terminated, truncated, info

    def sample_random_action(self) -> str:
        """Return the task's numbers in a random order, between random operators."""
        _, _, listed = (self._observation or "nums: [1, 2]").partition("nums: [")
        numbers = listed.partition("]")[0].split(", ")
        self._random.shuffle(numbers)
        return (
            "".join(
                f"{number} {self._random.choice('+-*/')} " for number in numbers[:-1]
            )
            + numbers[-1]
        )
