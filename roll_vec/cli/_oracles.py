"""Who knows the right answer: the oracles of the environments that have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gymnasium.spaces import Text
from gymnasium.vector import VectorEnv

from roll_vec.cli._errors import UsageError

__all__ = ["ORACLES", "batch_oracle", "has_oracle", "hint"]


class Oracle(NamedTuple):
    """The attributes of one environment that say what is right.

    Parameters
    ----------
    action : str
        The right next action, None where there is none.
    note : str or None
        Why the best is out of reach in this episode, None where it is not.
    """

    action: str
    note: str | None = None


ORACLES = {
    "roll_vec/Countdown-v0": Oracle("witness"),
    "roll_vec/WebShop-v0": Oracle("oracle_action", note="oracle_note"),
}
"""Oracles by id; a batch is asked by its `get_attr`."""


class OraclePolicy:
    """The policy that gives the right action in every environment.

    Parameters
    ----------
    env : VectorEnv
    oracle : Oracle
    write : function of str or None
        Puts an answer into the form that the environment reads.

    Attributes
    ----------
    notes : dict of str to None
        What stood in the way of the best, in the order of its first time.
    """

    def __init__(self, env: Any, oracle: Oracle, write: Callable[[Any], Any]) -> None:
        self._env, self._oracle, self._write = env.unwrapped, oracle, write
        self.notes: dict[str, None] = {}

    def __call__(self, observations: Any) -> list[Any]:
        """Return an action for each environment."""
        del observations
        if self._oracle.note is not None:
            for note in self._env.get_attr(self._oracle.note):
                if note is not None:
                    self.notes[note] = None
        return [self._write(said) for said in self._env.get_attr(self._oracle.action)]


def has_oracle(env: Any) -> bool:
    """Tell whether an environment or a batch has one."""
    return env.spec is not None and env.spec.id in ORACLES


def batch_oracle(env: VectorEnv[Any, Any, Any]) -> OraclePolicy:
    """Return the policy that gives the right action in every environment.

    Raises
    ------
    UsageError
        The id has no oracle, or its answers cannot be put into the form that the
        environment reads.
    """
    if not has_oracle(env):
        name = "this environment" if env.spec is None else env.spec.id
        message = (
            f"argument --policy: there is no oracle of {name}; "
            f"those that have one: {', '.join(ORACLES)}"
        )
        raise UsageError(message)
    oracle = ORACLES[env.spec.id]  # type: ignore[union-attr]
    if not isinstance(env.single_action_space, Text):
        return OraclePolicy(env, oracle, lambda action: action)
    bare: Any = env.unwrapped
    parser = bare.get_attr("action_parser")[0]
    if parser.example("") is None:
        message = (
            "argument --policy: oracle cannot write an answer that matches "
            f"{parser.options.action_pattern}: it has to be tags around a group, such "
            "as <answer>(.*?)</answer>"
        )
        raise UsageError(message)
    return OraclePolicy(env, oracle, lambda answer: parser.example(answer or ""))


def hint(env: Any) -> str | None:
    """Return the right next action in an environment; None where nobody knows it."""
    if not has_oracle(env):
        return None
    answer = env.get_wrapper_attr(ORACLES[env.spec.id].action)
    return None if answer is None else str(answer)
