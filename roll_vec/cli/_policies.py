"""The policies of the command line: functions from observations to actions.

The name of a policy is ``random``, ``oracle`` or ``module:attribute``, a callable of
the user.  A model at an address also plays lists of episodes.
"""

from __future__ import annotations

import argparse
import inspect
import traceback
from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space, Text
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.cli._errors import argument_error, require
from roll_vec.cli._options import CHAT_OPTIONS, refuse_arguments
from roll_vec.errors import (
    InvalidOptionError,
    SolverLimitError,
    UnsolvableLevelError,
    one_line,
)
from roll_vec.evaluation import ChatEndpoint, UniformPolicy
from roll_vec.options import MAX_INT
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.any_id import import_from_here, load_class
from roll_vec.trajectories import Turn
from roll_vec.vector.action_sampling import ActionStream

if TYPE_CHECKING:
    from roll_vec.text.action_parser import ActionParser

# The attribute of an environment that knows the right next action.  Array environments
# have the method `solve`.
_ACTION = "oracle_action"
_ENDPOINT_NAMES = [each.name for each in fields(ChatEndpoint) if each.name != "url"]
_CHAT_NAMES = [flag.strip("-").replace("-", "_") for flag in CHAT_OPTIONS]
Vector: TypeAlias = VectorEnv[Any, Any, Any]
# From the batch of observations to the batch of actions.
Policy: TypeAlias = Callable[[Any], Any]

# The environments are seeded with the same number: without this extra word the policy
# would draw the same numbers as the first environment.
_SEED_WORD = 0x706F6C


def make_policy(
    text: str, env: Vector, seed: int, *, takes_endpoint: bool = False
) -> Policy:
    """Return the policy that a command line names.

    Parameters
    ----------
    text : str
        ``random``, ``oracle`` or ``module:attribute``.
    env : VectorEnv
        The environment that it will act in.
    seed : int
        Seed of its random choices.
    takes_endpoint : bool, default False
        Whether the command takes the address of an endpoint, too; errors say so.

    Raises
    ------
    UsageError
        No such policy, or it cannot be used with this environment.
    """
    if text == "random":
        return _random(env, seed)
    if text == "oracle":
        return make_oracle(env)
    module, _, attribute = text.partition(":")
    forms = "random, oracle or module:attribute"
    forms += ", or http(s)://..." if takes_endpoint else ""
    if is_endpoint(text):
        forms += "; roll-vec eval and roll-vec export accept endpoints"
    elif module and attribute:
        return _imported(env, module, attribute)
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
    policy = make_policy(text, env, seed, takes_endpoint=True)
    if getattr(policy, "takes_turn", False):
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

    policy.takes_turn = _takes_turn(function)  # type: ignore[attr-defined]
    return policy


def _takes_turn(function: Any) -> bool:
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


def _is_solved(spec: EnvSpec | None) -> bool:
    """Return whether the class of a registered id knows the right action."""
    if spec is None:
        return False
    cls = load_class(spec)
    has_solver = getattr(cls, "has_solver", None)
    return has_solver() if has_solver else hasattr(cls, _ACTION)


def has_oracle(env: Any) -> bool:
    """Return whether an environment, or those of a batch, know the right action."""
    return _is_solved(env.spec)


def hint(env: Any) -> str | None:
    """Return the right next action in an environment; None if it is not known."""
    answer = env.get_wrapper_attr(_ACTION) if has_oracle(env) else None
    if answer is None:
        return None
    if not isinstance(answer, str) and isinstance(env.action_space, Text):
        answer = getattr(env.unwrapped, "action_lookup", {}).get(answer, answer)
    return str(answer)


def make_oracle(env: VectorEnv[Any, Any, Any]) -> Callable[[Any], Any]:
    """Return the policy that takes the right action in every environment of a batch.

    Raises
    ------
    UsageError
        The id has no oracle, or its answers cannot be put into the form that the
        environment reads.
    """
    if not has_oracle(env):
        name = "this environment" if env.spec is None else env.spec.id
        ids = [id for id in ENVIRONMENTS if _is_solved(gymnasium.spec(id))]
        text = (
            f"there is no oracle of {name}; a class of your own needs the property "
            "oracle_action, the right next action (solve is not enough), and an "
            f"ArrayEnv the method solve; those that have one: {', '.join(ids)}"
        )
        raise argument_error("--policy", text)
    # Engines of stacked arrays have one; pools do not.
    is_stacked = hasattr(getattr(env.unwrapped, "engine", None), "first_action")
    return SolverPolicy(env) if is_stacked else OraclePolicy(env)


class OraclePolicy:
    """The policy that takes the right action in every environment of a batch.

    Parameters
    ----------
    env : VectorEnv
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self._env: Any = env.unwrapped
        self._write = _answer_writer(env, _pool_parser(self._env))
        self._default = _default_action(env.single_action_space, self._write)

    def __call__(self, observations: Any) -> list[Any]:
        """Return an action for each environment; a fixed one where none is right."""
        del observations
        actions = self._env.get_attr(_ACTION)
        return [
            self._default if action is None else self._write(action)
            for action in actions
        ]


class SolverPolicy:
    """The policy that plays best in every environment of a batch of stacked arrays.

    Each environment is solved at the start of each episode, and again where all actions
    of a solution are played: they may go only as far as it is certain what they do.
    Sokoban plays a solution of the fewest moves, a lake the policy of the highest
    chance to reach the goal.

    Parameters
    ----------
    env : VectorEnv

    Attributes
    ----------
    notes : dict of str to None
        Why episodes have no solution, in the order of their first occurrence.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        batch: Any = env.unwrapped
        self._env = batch
        self._answers: dict[int, str] = {}
        if isinstance(env.single_action_space, Text):
            write = _answer_writer(env, batch.engine.action_parser)
            lookup = batch.get_attr("action_lookup")[0]
            self._answers = {action: write(name) for action, name in lookup.items()}
        self.notes: dict[str, None] = {}
        # By environment: the action of each step, or of each cell of slippery ice.  An
        # episode without a solution has the first action throughout.
        self._first_action = batch.engine.first_action
        self._plans = np.full((env.num_envs, 1), self._first_action)
        # The steps of the episode before a plan, and those at its end.
        self._starts = np.zeros(env.num_envs, np.int64)
        self._stops = self._starts.copy()
        self._is_by_cell = False

    def __call__(self, observations: Any) -> Any:
        """Return an action for each environment."""
        del observations
        engine, num_envs = self._env.engine, self._env.num_envs
        steps = engine.elapsed_steps
        env_ids = np.flatnonzero((steps == 0) | (steps >= self._stops))
        if env_ids.size:
            self._plan(env_ids)
        columns = steps - self._starts
        if self._is_by_cell:
            columns = engine.named_variables()["position"]
        # An episode that has ended is past the end of its plan.
        columns = np.minimum(columns, self._plans.shape[1] - 1)
        actions = self._plans[np.arange(num_envs), columns]
        if self._answers:
            return [self._answers[action] for action in actions.tolist()]
        return actions

    def _plan(self, env_ids: NDArray[np.int64]) -> None:
        """Solve the episodes of some environments from here."""
        plans = [self._read(solution) for solution in self._solve(env_ids)]
        more = max(map(len, plans)) - self._plans.shape[1]
        if more > 0:
            self._plans = np.pad(
                self._plans, ((0, 0), (0, more)), constant_values=self._first_action
            )
        self._plans[env_ids] = self._first_action
        self._starts[env_ids] = self._env.engine.elapsed_steps[env_ids]
        for env_id, plan in zip(env_ids.tolist(), plans, strict=True):
            self._plans[env_id, : len(plan)] = plan
            self._stops[env_id] = self._starts[env_id] + len(plan)
            if self._is_by_cell or len(plan) == 0:
                self._stops[env_id] = MAX_INT

    def _solve(self, env_ids: NDArray[np.int64]) -> list[Any]:
        """Return solutions of some environments; None, with a note: there is none."""
        engine = self._env.engine
        try:
            return list(engine.solve(env_ids, "moves"))
        except (SolverLimitError, UnsolvableLevelError) as error:
            if len(env_ids) == 1:
                self.notes[one_line(error)] = None
                return [None]
        return [self._solve(env_ids[j : j + 1])[0] for j in range(len(env_ids))]

    def _read(self, solution: Any) -> NDArray[np.int64]:
        """Return the actions of a solution, by step or by cell."""
        if solution is None:
            return np.zeros(0, np.int64)
        self._is_by_cell = hasattr(solution, "policy")
        actions = solution.policy if self._is_by_cell else solution
        return np.asarray(actions, np.int64)


def _default_action(space: Space[Any], write: Callable[[Any], Any]) -> Any:
    """Return an action where none is right, such as that of an episode's end."""
    if isinstance(space, Text):
        return write("")
    space = deepcopy(space)
    space.seed(0)
    return space.sample()


def _pool_parser(batch: Any) -> ActionParser | None:
    """Return the parser of a batch of objects; None: they read texts themselves."""
    try:
        parser: ActionParser | None = batch.get_attr("action_parser")[0]
    except AttributeError:
        return None
    return parser


def _answer_writer(env: Any, parser: ActionParser | None) -> Callable[[Any], Any]:
    """Return a function that puts a right action into the form that a parser reads."""
    if parser is None or not isinstance(env.single_action_space, Text):
        return lambda action: action
    if parser.example("") is None:
        text = (
            "oracle cannot write an answer that matches "
            f"{parser.options.action_pattern}: it has to be tags around a group, such "
            "as <answer>(.*?)</answer>"
        )
        raise argument_error("--policy", text)
    return lambda answer: parser.example(answer)


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
        endpoint = ChatEndpoint(
            policy, **{name: getattr(arguments, name) for name in _ENDPOINT_NAMES}
        )
    except InvalidOptionError as error:
        raise argument_error("--policy", one_line(error)) from error
    require("openai", "a policy behind an HTTP endpoint", extra="chat")
    return endpoint


def refuse_chat(arguments: argparse.Namespace) -> None:
    """Raise an error if a policy that is no endpoint has arguments of one.

    Raises
    ------
    UsageError
    """
    reason = "without --policy http(s)://..."
    refuse_arguments(arguments, _CHAT_NAMES, reason)
