"""The policies of the command line: functions from observations to actions.

The name of a policy is ``random``, ``oracle`` or ``module:attribute``, a callable of
the user.  A model at an address also plays lists of episodes.
"""

from __future__ import annotations

import argparse
import inspect
import traceback
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Text
from gymnasium.vector import VectorEnv

from roll_vec.cli._errors import argument_error
from roll_vec.cli._options import CHAT_OPTIONS, refuse_arguments
from roll_vec.errors import InvalidOptionError, one_line
from roll_vec.evaluation import ChatEndpoint, OraclePolicy, UniformPolicy
from roll_vec.evaluation.policies import ORACLE_ACTION, has_oracle
from roll_vec.registration.any_id import import_from_here
from roll_vec.trajectories import Turn
from roll_vec.vector.action_sampling import ActionStream

_ENDPOINT_NAMES = [each.name for each in fields(ChatEndpoint) if each.name != "url"]
_CHAT_NAMES = [flag.strip("-").replace("-", "_") for flag in CHAT_OPTIONS]
Vector: TypeAlias = VectorEnv[Any, Any, Any]
# From the batch of observations to the batch of actions.
Policy: TypeAlias = Callable[[Any], Any]

# The environments are seeded with the same number: without this extra word the policy
# would draw the same numbers as the first environment.
_SEED_WORD = 0x706F6C


def make_policy(text: str, env: Vector, seed: int) -> Policy:
    """Return the policy that a command line names.

    Parameters
    ----------
    text : str
        ``random``, ``oracle`` or ``module:attribute``.
    env : VectorEnv
        The environment that it will act in.
    seed : int
        Seed of its random choices.

    Raises
    ------
    UsageError
        No such policy, or it cannot be used with this environment.
    """
    if text == "random":
        return _random(env, seed)
    if text == "oracle":
        try:
            return OraclePolicy(env)
        except InvalidOptionError as error:
            raise argument_error("--policy", one_line(error)) from error
    module, _, attribute = text.partition(":")
    if module and attribute and not is_endpoint(text):
        return _imported(env, module, attribute)
    forms = "random, oracle or module:attribute (eval and export: or http(s)://...)"
    raise argument_error("--policy", f"expected {forms}, got {text!r}")


def make_turn_policy(text: str, env: Vector, seed: int) -> Callable[[Turn], Any]:
    """Return the policy that a command line names, for a list of episodes.

    The random policy is a function of seed, episode and step.  A callable of the user
    whose first parameter is called ``turn`` gets the `Turn`, any other one the
    observations.

    Parameters
    ----------
    text, env, seed
        As for `make_policy`.

    Raises
    ------
    UsageError, InvalidOptionError
        As `make_policy`.
    """
    if text == "random":
        try:
            return UniformPolicy(env, seed)
        except InvalidOptionError as error:
            text = str(error).removeprefix("envs: ")
            raise argument_error("--policy", f"random: {text}") from error
    policy = make_policy(text, env, seed)
    if getattr(policy, "accepts_turn", False):
        return policy
    return lambda turn: policy(turn.observations)


def _random(env: Vector, seed: int) -> Policy:
    """Return uniform actions, independent of the observations."""
    space = env.single_action_space
    is_discrete = isinstance(space, Discrete) and isinstance(
        env.action_space, MultiDiscrete
    )
    if is_discrete or getattr(space, "examples", None):
        # The distribution of the space's own samples, in less time.
        stream = ActionStream(env, seed)
        return lambda _: stream.next_actions()
    generator = np.random.default_rng([seed, _SEED_WORD])
    env.action_space.seed(int(generator.integers(1 << 31)))
    return lambda _: env.action_space.sample()


def _imported(env: Vector, module: str, attribute: str) -> Policy:
    """Return a callable of the user; its errors name the place in the user's code."""
    name = f"{module}:{attribute}"
    try:
        function: Any = import_from_here(module)
        for part in attribute.split("."):
            function = getattr(function, part)
    except Exception as error:
        raise argument_error(
            "--policy", f"cannot import {name}: {one_line(error)}"
        ) from error
    if not callable(function):
        raise argument_error("--policy", f"{name} is not callable, it is {function!r}")

    # Only lists of texts and arrays can be counted: a batch of a Dict or Tuple space
    # has no length of its own.
    is_texts = isinstance(env.single_action_space, Text)
    is_array = isinstance(env.action_space, (Box, MultiDiscrete))

    def policy(observations: Any) -> Any:
        try:
            actions = function(observations)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = (
                f"{name} raised {type(error).__name__}: {one_line(error)} "
                f"({place.filename}, line {place.lineno})"
            )
            raise argument_error("--policy", text) from error
        if is_texts and _count(actions) != env.num_envs:
            count = _count(actions)
            kind = type(actions).__name__ if count is None else f"{count} actions"
            text = (
                f"{name} returned {kind}, expected a list of {env.num_envs} str, one "
                "an environment"
            )
            raise argument_error("--policy", text)
        if is_array and np.shape(actions)[:1] != (env.num_envs,):
            text = (
                f"{name} returned actions of shape {np.shape(actions)} for "
                f"{env.num_envs} environments"
            )
            raise argument_error("--policy", text)
        return actions

    policy.accepts_turn = _accepts_turn(function)  # type: ignore[attr-defined]
    return policy


def _accepts_turn(function: Any) -> bool:
    """Return whether the first parameter of a callable is called ``turn``."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return next(iter(parameters), None) == "turn"


def _count(actions: Any) -> int | None:
    """Return the length of a sequence; None for anything else, a str too."""
    if isinstance(actions, (list, tuple)) or getattr(actions, "ndim", 0) == 1:
        return len(actions)
    return None


# ------------------------------------------------------------------ right actions


def hint(env: Any) -> str | None:
    """Return the right next action in an environment; None if it is not known."""
    answer = env.get_wrapper_attr(ORACLE_ACTION) if has_oracle(env) else None
    if answer is None:
        return None
    if not isinstance(answer, str) and isinstance(env.action_space, Text):
        answer = getattr(env.unwrapped, "action_lookup", {}).get(answer, answer)
    return str(answer)


# ------------------------------------------------------- a model behind an endpoint


def is_endpoint(policy: str) -> bool:
    """Return whether a policy of the command line is an address."""
    return policy.startswith(("http://", "https://"))


def make_endpoint(policy: str, arguments: argparse.Namespace) -> ChatEndpoint:
    """Return the endpoint of the arguments.

    Raises
    ------
    UsageError
        If an argument cannot be used.
    MissingExtraError
        Without the extra ``chat``.
    """
    if arguments.model is None:
        text = "expected the name of the model, with --policy http(s)://..."
        raise argument_error("--model", text)
    if arguments.num_envs is not None:
        raise argument_error("--num-envs", "use --concurrency with an endpoint")
    try:
        return ChatEndpoint(
            policy, **{name: getattr(arguments, name) for name in _ENDPOINT_NAMES}
        )
    except InvalidOptionError as error:
        raise argument_error("--policy", one_line(error)) from error


def refuse_chat(arguments: argparse.Namespace) -> None:
    """Raise an error if a policy that is no endpoint has arguments of one.

    Raises
    ------
    UsageError
    """
    reason = "without --policy http(s)://..."
    refuse_arguments(arguments, _CHAT_NAMES, reason)
