"""The wrapper that lets text act in one environment that is an object."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium

from roll_vec.errors import UnsupportedError, shorten
from roll_vec.objects.base_envs import BaseDiscreteActionEnv, ClosableEnv
from roll_vec.objects.methods import find_method
from roll_vec.objects.results import split_reset, split_step
from roll_vec.objects.states import get_env_state, set_env_state
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.options import TextOptions
from roll_vec.text.turn import EnvStep, step_text
from roll_vec.text.validation import check_text
from roll_vec.vector.known_infos import SUCCESS_KEYS

# One empty dict for all environments: 64 bytes each.
_NO_INFO: dict[str, Any] = {}


class TextWrapper(ClosableEnv, gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose actions are the texts of a model.

    A step is a turn, see `roll_vec.text.turn`.  An environment of text is stepped with
    the content of the text; with the empty string where the pattern does not match.  An
    environment that has to tell an empty content from none has the attribute
    ``EMPTY_ANSWER``, the text that stands for it.

    An environment of integer actions is stepped with the action of that name.  For a
    text without a valid action it is stepped with 0, if no action has that code.
    Otherwise it is not stepped at all: the last observation and success are returned
    again, the action is not effective, and the step counts for Gymnasium's limit alone.

    Infos of a step, beside the environment's own: ``action_content``,
    ``think_content`` and ``action_is_valid``.  Infos of a reset: ``env_instruction``,
    from `get_instructions` unless the environment's own info has it.

    Parameters
    ----------
    env : gymnasium.Env
        Of integer actions if it is a `BaseDiscreteActionEnv`, otherwise of text.
    options : TextOptions or None
        None: the defaults, with which a text is the action, unchanged.

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
        # `unwrapped` takes two calls.
        inner: Any = env.unwrapped
        self._inner = inner
        self._is_discrete = isinstance(inner, BaseDiscreteActionEnv)
        lookup = dict(inner.ACTION_LOOKUP) if self._is_discrete else {}
        self._names: dict[int, str] = lookup
        no_action: Any = ""
        if self._is_discrete:
            no_action = None if 0 in lookup else 0
        empty_action = getattr(inner, "EMPTY_ANSWER", "")
        self.action_parser = ActionParser(options, lookup, no_action, empty_action)
        self._last_observation: Any = None
        self._last_success = _NO_INFO
        if self._is_discrete or options.action_pattern is not None:
            names: Any = lookup.values() or getattr(env.action_space, "examples", ())
            self.action_space = self.action_parser.text_space(names)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode; the info has ``env_instruction``."""
        if self._is_closed:
            self._check_open()
        result = self.env.reset(seed=seed, options=options)
        if not (type(result) is tuple and len(result) == 2 and type(result[1]) is dict):
            result = split_reset(result)
        observation, info = result
        self._last_success = _NO_INFO
        if self.action_parser.no_action is None:
            self._save(observation)
        get_instructions = getattr(self._inner, "get_instructions", str)
        return observation, {"env_instruction": get_instructions(), **info}

    def render(self) -> Any:
        """Return the environment's frame."""
        self._check_open()
        return self.env.render()

    def step(self, action: Any) -> EnvStep:
        """Step with a text.

        Parameters
        ----------
        action : str

        Raises
        ------
        InvalidActionError
            If the action is no str; no state changes then.
        ClosedError
        """
        if self._is_closed:
            self._check_open()
        if not self.action_parser.accepts_any_text:
            return step_text(self.action_parser, action, self._step_inside)
        # The text is the action: a turn without parsing, in a third of its time.
        text = action if type(action) is str else check_text(action)
        result = self.env.step(text)
        if not (type(result) is tuple and len(result) == 5 and type(result[4]) is dict):
            result = split_step(result)
        observation, reward, terminated, truncated, info = result
        info = {
            "action_is_valid": True,
            **info,
            "action_content": text,
            "think_content": "",
        }
        if not info["action_is_valid"]:
            reward = float(reward) + self.action_parser.options.format_penalty
        return observation, reward, terminated, truncated, info

    def solve(self) -> list[str] | None:
        """Return the environment's own solution as texts that this wrapper accepts.

        Returns
        -------
        list of str, or None
            One text for each action; None if the environment has no solution.

        Raises
        ------
        UnsupportedError
            If the environment has no `solve`, or no text is known that the
            ``action_pattern`` maps to an action of the solution.
        ClosedError
        """
        self._check_open()
        actions = find_method(self.env, "solve", "returns its solution")()
        return None if actions is None else [self._write_text(one) for one in actions]

    def _write_text(self, action: Any) -> str:
        """Return a text of an action."""
        parser = self.action_parser
        name = self._names.get(action) if self._is_discrete else action
        text = None if name is None else parser.example(name)
        if text is None or parser.parse(text)[0] != (action,):
            message = (
                "solve: no text is known that action_pattern="
                f"{parser.options.action_pattern!r} maps to the action "
                f"{shorten(action)}; texts are written for patterns of tags around "
                "groups '(.*?)'"
            )
            raise UnsupportedError(message)
        return text

    @property
    def state_attributes(self) -> tuple[str, ...]:
        """Names of the wrapper's own state; none where every text steps the inside."""
        if self.action_parser.no_action is None:
            return ("_last_observation", "_last_success")
        return ()

    def get_state(self) -> Any:
        """Return the state of the environment and of this wrapper.

        Where this wrapper has none, as with environments of text, it is the state of
        the environment itself.

        Raises
        ------
        UnsupportedError
            If the environment has no `get_state` and `set_state`.
        """
        return get_env_state(self)

    def set_state(self, state: Any) -> None:
        """Go to a state that `get_state` returned.

        Raises
        ------
        InvalidStateError, UnsupportedError, ClosedError
            And the exceptions of the environment's own method.
        """
        self._check_open()
        set_env_state(self, state)

    def _save(self, observation: Any) -> None:
        """Save an observation for the next text without a valid action."""
        self._last_observation = copy.deepcopy(observation)

    def _step_inside(self, action: Any) -> EnvStep:
        """Step the environment; None stands for a text without an action."""
        if action is None:
            info = {
                "action_is_valid": True,
                "action_is_effective": False,
                **self._last_success,
            }
            return copy.deepcopy(self._last_observation), 0.0, False, False, info
        result = split_step(self.env.step(action))
        observation, reward, terminated, truncated, info = result
        info = {"action_is_valid": True, **info}
        if self._is_discrete:
            if "action_is_effective" in info:
                info["action_is_effective"] = bool(info["action_is_effective"])
            success = {key: info[key] for key in SUCCESS_KEYS if key in info}
            self._last_success = success or self._last_success
            self._save(observation)
        return observation, reward, terminated, truncated, info
