"""WebShop of ROLL's pipeline: its prompt, rewards and ends of episodes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from roll_vec.adapters.roll.answer_options import AnswerOptions
from roll_vec.adapters.roll.configs import split_env_config
from roll_vec.adapters.roll.gem_env import GemEnv
from roll_vec.adapters.roll.webshop import shop_keywords
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.envs.webshop.state import list_actions
from roll_vec.options import (
    check_int,
    parse_options,
    takes_keywords_of,
)
from roll_vec.text.action_parser import ActionParser

_INSTRUCTION = (
    "You are web shopping. I will give you instructions about what to do. "
    "You have to follow the instructions. Every round I will give you an observation "
    "and a list of available actions, you have to respond an action based on the state "
    "and instruction. "
    "You can use search action if search is available. You can click one of the "
    "buttons in clickables. "
    "An action should be of the following structure: search[keywords] click[value] If "
    "the action is not valid, perform nothing. "
    "Keywords in search are up to you, but the value in click must be a value in the "
    "list of available actions. "
    "Remember that your keywords in search should be carefully designed. "
    "Your response should use the following format Thought: I think ... Action: "
    "click[something]"
)
# The actions that ROLL calls effective: those of a page of results without products.
_EMPTY_RESULTS = ("back to search", "< prev", "next >")


@dataclass(frozen=True, kw_only=True)
class GemWebShopOptions(AnswerOptions):
    """The keywords of ROLL's ``webshop`` that `WebShopOptions` does not have.

    Parameters
    ----------
    max_steps : int
    file_path, server, limit_goals
        See `roll_vec.adapters.roll.webshop.shop_keywords`.
    action_pattern, format_penalty, env_instruction
        See `AnswerOptions`.
    special_token_list : sequence of str, or None
        Without effect, as in ROLL.

    Raises
    ------
    InvalidOptionError
    """

    max_steps: int = 10
    file_path: str | os.PathLike[str] | None = None
    server: Any = None
    limit_goals: int | None = -1

    def __post_init__(self) -> None:
        check_int("max_steps", self.max_steps, 1)


class GemWebShopEnv(GemEnv):
    """ROLL's ``webshop``: a page and its available actions as one text.

    An answer that does not match the pattern moves nothing.  As in ROLL the step limit
    ends an episode, as terminated and truncated, after such an answer alone, every
    purchase is a success, and ``action_is_effective`` is true for a page of results
    without products.

    Parameters
    ----------
    **keywords
        Those of `GemWebShopOptions`, and those of
        `roll_vec.envs.webshop.options.WebShopOptions`.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    @takes_keywords_of(GemWebShopOptions, open_end=True)
    def __init__(self, **keywords: Any) -> None:
        options, keywords = split_env_config(
            keywords, GemWebShopOptions, WebShopOptions, ("observation_format",)
        )
        self.max_steps = options.max_steps
        self.env_instruction = options.env_instruction or _INSTRUCTION
        keywords = shop_keywords(
            options.file_path,
            options.server,
            options.limit_goals,
            **{**keywords, "observation_format": "roll"},
        )
        # Validated now, so that a bad keyword fails where it is written.
        parse_options(WebShopOptions, keywords)
        parser = ActionParser(options.text_options(removes_tokens=False))
        super().__init__("roll_vec/WebShop-v0", keywords, parser)

    def reset(
        self,
        seed: int | None = None,
        session: str | int | None = None,
        instruction_text: str | None = None,
    ) -> tuple[str, dict[str, Any]]:
        """Start a new episode; see `GemEnv.reset`.

        Parameters
        ----------
        seed : int or None
        session : str, int or None
            An int is the number of a goal; a str draws one, always the same; with None
            the seed decides.
        instruction_text : str or None
            Without effect on observations, as in WebShop.
        """
        named = {"session": session, "instruction_text": instruction_text}
        return self._reset(seed, named)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take the action of a model's answer; see `GemEnv.step`."""
        parsed = self.parse_action(action)
        if parsed["action"] is None:
            self._check_running()
            self._turn += 1
            info = self._invalid_info(parsed, success=False)
            has_ended = self._turn >= self.max_steps
            self._is_running = not has_ended
            return self._observation, self.format_penalty, has_ended, has_ended, info
        observation, reward, terminated, _, outcome = self._take(parsed["action"])
        clickables = tuple(outcome["available_actions"]["clickables"])
        info = self._info(
            parsed,
            None,
            is_effective=clickables == _EMPTY_RESULTS,
            success=terminated,
            penalty=0,
        )
        return observation, reward, terminated, False, info

    def get_instructions(self) -> str:
        """Return the description of the game."""
        return self.env_instruction

    def get_available_actions(self) -> list[str]:
        """Return the actions that the page offers, in ROLL's form.

        After the end of an episode none.

        Raises
        ------
        ResetNeededError
        """
        if not self._outcome:
            self._check_running()
        return list_actions(**self._outcome["available_actions"])

    def sample_random_action(self) -> str:
        """Return an action of the page; a search is for random products."""
        action = self._random.choice(self.get_available_actions())
        return action.replace("<content>", "<r>")
