"""Countdown in the form of ROLL's pipeline, which has no class of its own for it."""

from __future__ import annotations

from typing import Any

from roll_vec.adapters.roll.answer_options import AnswerOptions
from roll_vec.adapters.roll.configs import split_env_config
from roll_vec.adapters.roll.gem_env import GemEnv
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.countdown.texts import write_instructions
from roll_vec.options import parse_options, takes_keywords_of
from roll_vec.text.action_parser import ActionParser


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

    @takes_keywords_of(AnswerOptions, open_end=True)
    def __init__(self, **keywords: Any) -> None:
        answers, keywords = split_env_config(keywords, AnswerOptions, CountdownOptions)
        # Validated now, so that a bad keyword fails where it is written.
        tasks = parse_options(CountdownOptions, keywords)
        self.max_steps = tasks.max_steps
        parser = ActionParser(answers.text_options())
        form = parser.example("(8 - 2) * 5")
        self.env_instruction = answers.env_instruction or write_instructions(tasks)
        if answers.env_instruction is None and form is not None:
            self.env_instruction += f"\nThe form of an answer is: {form}"
        super().__init__("roll_vec/Countdown-v0", keywords, parser)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take the expression of a model's answer; see `GemEnv.step`.

        An answer that does not match the pattern is an empty expression.
        """
        parsed = self.parse_action(action)
        expression = parsed["action"]
        result = self._take("" if expression is None else expression)
        observation, reward, terminated, truncated, outcome = result
        if expression is None:
            reward += self.format_penalty
            info = self._invalid_info(parsed, success=False)
        else:
            info = self._info(
                parsed,
                f"At turn {self._turn}, your answer earned {reward} points.",
                is_effective=bool(outcome["action_is_effective"]),
                success=bool(outcome["success"]),
                penalty=0,
            )
        return observation, reward, terminated, truncated, info

    def get_instructions(self) -> str:
        """Return the rules and the form of an answer."""
        return self.env_instruction

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
