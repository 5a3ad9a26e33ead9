"""The text layer of environments that are objects: a wrapper around each of them."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium

from roll_vec.base_envs import BaseDiscreteActionEnv, ClosableEnv
from roll_vec.env_results import split_reset, split_step
from roll_vec.spaces import MAX_TEXT, UnicodeText
from roll_vec.text.action_parser import TextActions, TextOptions
from roll_vec.text.validation import check_text

__all__ = ["TextLayer"]


class TextLayer(ClosableEnv, gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose actions are what a model writes.

    Infos of a step, beside the environment's own: ``action_content``,
    ``think_content`` and ``action_is_valid``, which is the environment's if it has one
    and the text was an action.  Infos of a reset: ``env_instruction``, from
    `get_instructions` unless the environment has put its own there.

    An environment of text is stepped with the content, or with the empty string where
    there is none.  One of integer actions is stepped with the action of that name; with
    0, if that is no action of its lookup, where there is none; and otherwise not
    at all: the last observation is returned again, the action is not effective, success
    is what it was, and the step counts for Gymnasium's limit alone.

    With a separator the valid names among the first ``max_actions_per_turn`` parts are
    played in their order until the episode ends.  Rewards are added up in this order,
    the action is effective if one of them was, and the rest is of the last one.  The
    turn is one step.  Any other part, or none that is valid, makes it invalid.

    ``format_penalty`` is added once to the reward of a step without a valid action,
    be it that the text has none or that the environment says so.

    Parameters
    ----------
    env : gymnasium.Env
        Of integer actions if it is a `BaseDiscreteActionEnv`, otherwise of text.
    options : TextOptions or None
        None: the defaults, with which texts are actions as they come.

    Raises
    ------
    InvalidOptionError
        For a separator with an environment of text.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], options: TextOptions | None = None
    ) -> None:
        super().__init__(env)
        options = TextOptions() if options is None else options
        inner: Any = env.unwrapped
        self._is_discrete = isinstance(inner, BaseDiscreteActionEnv)
        lookup = dict(inner.ACTION_LOOKUP) if self._is_discrete else {}
        self.text_actions = TextActions(options, lookup)
        self._penalty = options.format_penalty
        self._takes_all = options.action_pattern is None and not self._is_discrete
        self._has_no_op = self._is_discrete and 0 not in lookup
        self._last_observation: Any = None
        self._last_success: dict[str, Any] = {}
        if not self._takes_all:
            names = getattr(env.action_space, "examples", ())
            if lookup:
                names = tuple(lookup.values())
            says = [self.text_actions.example(name) for name in names]
            self.action_space = UnicodeText(
                MAX_TEXT, examples=[text for text in says if text is not None]
            )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode; the info has ``env_instruction``."""
        self._check_open()
        observation, info = split_reset(self.env.reset(seed=seed, options=options))
        self._last_success = {}
        self._keep(observation)
        inner: Any = self.env.unwrapped
        get_instructions = getattr(inner, "get_instructions", str)
        return observation, {"env_instruction": get_instructions(), **info}

    def render(self) -> Any:
        """Return the environment's frame."""
        self._check_open()
        return self.env.render()

    def _keep(self, observation: Any) -> None:
        if self._is_discrete and not self._has_no_op:
            self._last_observation = copy.deepcopy(observation)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step with what a text says.

        Parameters
        ----------
        action : str

        Raises
        ------
        InvalidActionError
            If the action is no string; nothing has moved then.
        ClosedError
        """
        self._check_open()
        action = check_text(action)
        if self._takes_all:
            result = split_step(self.env.step(action))
            observation, reward, terminated, truncated, info = result
            info = {
                "action_is_valid": True,
                **info,
                "action_content": action,
                "think_content": "",
            }
            if not info["action_is_valid"]:
                reward = float(reward) + self._penalty
            return observation, reward, terminated, truncated, info
        said = self.text_actions.parse(action)
        if self._is_discrete:
            actions = said.action if type(said.action) is tuple else (said.action,)
            if not said.is_valid and said.action in (None, ()):
                actions = (0,) if self._has_no_op else ()
            result = self._play(actions)
        else:
            result = split_step(self.env.step(said.action_content))
        observation, reward, terminated, truncated, info = result
        info = {"action_is_valid": True, **info}
        if not said.is_valid:
            info["action_is_valid"] = False
        if not info["action_is_valid"]:
            reward = float(reward) + self._penalty
        info["action_content"] = said.action_content
        info["think_content"] = said.think_content
        return observation, reward, terminated, truncated, info

    def _play(
        self, actions: tuple[int, ...]
    ) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take the actions of a turn, until the episode ends."""
        if not actions:
            info = {"action_is_effective": False, **self._last_success}
            return copy.deepcopy(self._last_observation), 0.0, False, False, info
        total: Any = None
        effective = False
        for action in actions:
            result = split_step(self.env.step(action))
            observation, reward, terminated, truncated, info = result
            total = reward if total is None else total + reward
            effective = effective or bool(info.get("action_is_effective"))
            if terminated or truncated:
                break
        if "action_is_effective" in info:
            info = {**info, "action_is_effective": effective}
        if "success" in info:
            self._last_success = {"success": info["success"]}
        self._keep(observation)
        return observation, total, terminated, truncated, info
