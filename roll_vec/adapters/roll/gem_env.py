"""The base of the classes of ROLL's pipeline: the parser, the session, the infos.

The interface is that of GEM's `gem.Env`, and of the infos that ROLL's environment
managers read.  Names, texts and keys are those of ROLL's classes in
``roll/pipeline/agentic/env`` (commit 8eb27cc2); `roll_vec` needs neither GEM nor ROLL.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from roll_vec.adapters.roll.shared_batch import share_batch
from roll_vec.errors import EnvironmentFaultError, ResetNeededError
from roll_vec.sessions import Session
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.validation import check_text

# How ROLL aggregates the metrics of an episode's steps.
_AGG_MODE = {
    "action_is_effective": "mean",
    "action_is_valid": "mean",
    "success": "last",
    "format_penalty": "mean",
}


class GemEnv(ABC):
    """An environment of ROLL's pipeline, a row of a batch that all of them share.

    Parameters
    ----------
    env_id : str
    keywords : mapping from str to object
        The keywords of the batch.
    parser : ActionParser
        Its names of actions; without names any text is an action.

    Attributes
    ----------
    format_penalty : float
    action_pattern : str
    """

    def __init__(
        self, env_id: str, keywords: Mapping[str, Any], parser: ActionParser
    ) -> None:
        self._parser = parser
        self.format_penalty = parser.options.format_penalty
        self.action_pattern = parser.options.action_pattern
        self._batch = share_batch(env_id, keywords, self)
        self._session: Session | None = None
        self._is_running = False
        # The batch's latest observation and info.
        self._observation: Any = None
        self._outcome: Mapping[str, Any] = {}
        # Answers of the current episode.
        self._turn = 0
        # Not seeded: members of a group have one seed, and should play differently.
        self._random = random.Random()

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new episode.

        Parameters
        ----------
        seed : int or None
            ROLL's environment manager passes that of the group plus the number of the
            episode.  None goes on to the next episode.

        Returns
        -------
        observation, info
            The info has ``env_instruction``, the beginning of the prompt.

        Raises
        ------
        InvalidSeedError, LevelGenerationError
        EnvironmentFaultError
            If the environment fails, as for an option that it refuses.
        """
        return self._reset(seed, None)

    def _reset(
        self, seed: int | None, options: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        if self._session is None:
            self._session = self._batch.open()
        result = self._session.reset(seed, options)
        self._note(*result)
        self._turn, self._is_running = 0, True
        return self._observation, {"env_instruction": self.get_instructions()}

    def _check_running(self) -> None:
        if not self._is_running:
            message = "the environment must be reset before it is given an answer"
            raise ResetNeededError(message)

    def _take(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action in the batch, and count the turn."""
        self._check_running()
        assert self._session is not None, "a reset has opened it"
        result = self._session.step(action)
        self._note(result[0], result[4])
        self._turn += 1
        self._is_running = not (result[2] or result[3])
        return self._observation, *result[1:]

    def _note(self, observation: Any, info: Mapping[str, Any]) -> None:
        """Keep a result of the batch; raise an error if its environment has failed."""
        if "error" in info:
            self._is_running = False
            raise EnvironmentFaultError({0: info["error"]})
        self._observation, self._outcome = observation, info

    @abstractmethod
    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action of a model's answer.

        Parameters
        ----------
        action : str
            The whole answer.

        Returns
        -------
        observation, reward, terminated, truncated, info
            The info has ``metrics``, ``metrics_agg_mode``, ``action`` (None for no
            action), ``action_content``, ``think_content``, and mostly ``action_desc``.

        Raises
        ------
        InvalidActionError
            If it is not a str.
        ResetNeededError
            Before a reset and after the end of the episode.
        EnvironmentFaultError
            If the environment fails; the episode has ended.
        """

    @abstractmethod
    def get_instructions(self) -> str:
        """Return the beginning of the prompt, which the info of a reset has, too."""

    @abstractmethod
    def sample_random_action(self) -> str:
        """Return an action of the present state, without a pattern around it."""

    def parse_action(self, text: str) -> dict[str, Any]:
        """Return ``action``, ``action_content`` and ``think_content`` of an answer.

        Raises
        ------
        InvalidActionError
            If it is not a str.
        """
        actions, content, think, _ = self._parser.parse(check_text(text))
        return {
            "action": actions[0] if actions else None,
            "action_content": content,
            "think_content": think,
        }

    def _info(
        self,
        parsed: Mapping[str, Any],
        description: str | None,
        *,
        is_effective: bool,
        success: bool,
        penalty: float,
    ) -> dict[str, Any]:
        """Return the info of a step; a description of None is left out."""
        info: dict[str, Any] = {
            "metrics": {
                "action_is_effective": is_effective,
                "action_is_valid": parsed["action"] is not None,
                "success": success,
                "format_penalty": penalty,
            },
            "metrics_agg_mode": dict(_AGG_MODE),
        }
        if description is not None:
            info["action_desc"] = description
        return {**info, **parsed}

    def _invalid_info(self, parsed: Mapping[str, Any], success: bool) -> dict[str, Any]:
        """Return the info of a step whose answer is no action."""
        description = f"At turn {self._turn}, You did not provide a valid action."
        return self._info(
            parsed,
            description,
            is_effective=False,
            success=success,
            penalty=self.format_penalty,
        )

    def render(self, mode: str | None = None) -> Any:  # noqa: ARG002
        """Return the latest observation, for any mode; None before a reset."""
        return self._observation

    @property
    def unwrapped(self) -> GemEnv:
        """The environment itself, as of every `gem.Env` without wrappers."""
        return self

    def close(self) -> None:
        """Free the row of the batch; a later reset takes one again."""
        if self._session is not None:
            self._session.close()
            self._session = self._observation = None
            self._is_running = False
