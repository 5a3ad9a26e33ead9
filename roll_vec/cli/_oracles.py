"""The right actions of environments that know them, found by an attribute.

An environment knows the right action if its class has the attribute or property
``oracle_action``: the right next action, or None where there is none.  It may also have
``oracle_note``: why the best return is out of reach in this episode, or None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Text
from gymnasium.vector import VectorEnv

from roll_vec.cli._environments import load_class
from roll_vec.cli._errors import argument_error
from roll_vec.registration import ENVIRONMENTS

__all__ = ["OraclePolicy", "has_oracle", "hint"]

_ACTION, _NOTE = "oracle_action", "oracle_note"


def _has(spec: EnvSpec | None, attribute: str) -> bool:
    """Return whether the class of a registered id has an attribute."""
    return spec is not None and hasattr(load_class(spec), attribute)


def has_oracle(env: Any) -> bool:
    """Return whether an environment, or those of a batch, know the right action."""
    return _has(env.spec, _ACTION)


def hint(env: Any) -> str | None:
    """Return the right next action in an environment; None if it is not known."""
    answer = env.get_wrapper_attr(_ACTION) if has_oracle(env) else None
    return None if answer is None else str(answer)


class OraclePolicy:
    """The policy that takes the right action in every environment of a batch.

    Parameters
    ----------
    env : VectorEnv

    Attributes
    ----------
    notes : dict of str to None
        The notes of all episodes, in the order of their first occurrence.

    Raises
    ------
    UsageError
        The id has no oracle, or its answers cannot be put into the form that the
        environment reads.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        if not has_oracle(env):
            name = "this environment" if env.spec is None else env.spec.id
            ids = [id for id in ENVIRONMENTS if _has(gymnasium.spec(id), _ACTION)]
            text = (
                f"there is no oracle of {name}; those that have one: {', '.join(ids)}"
            )
            raise argument_error("--policy", text)
        self._env: Any = env.unwrapped
        self._has_note = _has(env.spec, _NOTE)
        self._write = _answer_writer(env)
        self.notes: dict[str, None] = {}

    def __call__(self, observations: Any) -> list[Any]:
        """Return an action for each environment."""
        del observations
        if self._has_note:
            notes = self._env.get_attr(_NOTE)
            self.notes.update(dict.fromkeys(note for note in notes if note is not None))
        return [self._write(action) for action in self._env.get_attr(_ACTION)]


def _answer_writer(env: Any) -> Callable[[Any], Any]:
    """Return a function that puts a right action into the form that is read."""
    if not isinstance(env.single_action_space, Text):
        return lambda action: action
    try:
        parser = env.unwrapped.get_attr("action_parser")[0]
    except AttributeError:
        parser = None  # an environment that reads its texts itself
    if parser is None:
        return lambda answer: answer or ""
    if parser.example("") is None:
        text = (
            "oracle cannot write an answer that matches "
            f"{parser.options.action_pattern}: it has to be tags around a group, such "
            "as <answer>(.*?)</answer>"
        )
        raise argument_error("--policy", text)
    return lambda answer: parser.example(answer or "")
