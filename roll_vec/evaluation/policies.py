"""Policies that need no training: uniform actions, and the right ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Space, Text
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidOptionError,
    SolverLimitError,
    one_line,
)
from roll_vec.options import MAX_INT
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.any_id import load_class
from roll_vec.seeding import check_seed
from roll_vec.trajectories import Turn
from roll_vec.vector.action_sampling import ActionStream

ORACLE_ACTION = "oracle_action"
"""The attribute of an environment object that has the right next action."""


class UniformPolicy:
    """Uniform actions; of a text environment, uniform among the examples of its space.

    The action of an episode's step depends on the seed, the episode and the step alone.

    Parameters
    ----------
    envs : VectorEnv
    seed : int

    Raises
    ------
    InvalidOptionError
        If actions are texts without examples.
    """

    def __init__(self, envs: Any, seed: int) -> None:
        space = envs.single_action_space
        if isinstance(space, Text) and not getattr(space, "examples", ()):
            accepted = "environments whose texts have examples"
            raise InvalidOptionError.expected("envs", accepted, space)
        self._seed = check_seed(seed)
        self._stream = ActionStream(envs, self._seed)

    def __call__(self, turn: Turn) -> Any:
        """Return an action for each environment."""
        return self._stream.choose(turn.random_words(self._seed))


def has_oracle(env: Any) -> bool:
    """Return whether an environment, or those of a batch, know the right action.

    Array environments have the method `solve`, others `ORACLE_ACTION`.
    """
    return env.spec is not None and _is_solved(env.spec)


def _is_solved(spec: EnvSpec) -> bool:
    cls = load_class(spec)
    has_solver = getattr(cls, "has_solver", None)
    return has_solver() if has_solver else hasattr(cls, ORACLE_ACTION)


class OraclePolicy:
    """The right action in every environment of a batch.

    Stacked arrays are solved exactly: Sokoban's actions are a solution of the fewest
    moves, those of a lake have the highest chance to reach the goal.  An environment
    object says its action itself, by the property ``oracle_action``.

    Parameters
    ----------
    envs : VectorEnv

    Attributes
    ----------
    notes : dict of str to None
        Why episodes have no solution, in the order of their first occurrence.

    Raises
    ------
    InvalidOptionError
        The id has no oracle, or its answers cannot be put into the form that the
        environment reads.
    """

    def __init__(self, envs: Any) -> None:
        if not has_oracle(envs):
            name = "this environment" if envs.spec is None else envs.spec.id
            ids = [
                id
                for id, known in ENVIRONMENTS.items()
                if not known.family and _is_solved(gymnasium.spec(id))
            ]
            message = (
                f"there is no oracle of {name}; a class of your own needs the property "
                "oracle_action, the right next action (solve is not enough), and an "
                f"ArrayEnv the method solve; those that have one: {', '.join(ids)}, "
                "and those of MiniGrid and BabyAI"
            )
            raise InvalidOptionError(message)
        self.notes: dict[str, None] = {}
        # Engines of stacked arrays have one; pools do not.
        is_stacked = hasattr(getattr(envs.unwrapped, "engine", None), "first_action")
        self._act: Callable[[], Any] = (
            _Solutions(envs, self.notes) if is_stacked else _Answers(envs)
        )

    def __call__(self, turn: Any) -> Any:
        """Return an action for each environment; it depends on the batch alone."""
        del turn
        return self._act()


class _Answers:
    """The actions that environment objects say."""

    def __init__(self, env: Any) -> None:
        self._env: Any = env.unwrapped
        self._write = _answer_writer(env, _pool_parser(self._env))
        self._default = _default_action(env.single_action_space, self._write)

    def __call__(self) -> list[Any]:
        """Return an action for each environment; a fixed one where none is right."""
        actions = self._env.get_attr(ORACLE_ACTION)
        return [
            self._default if action is None else self._write(action)
            for action in actions
        ]


class _Solutions:
    """The actions of solutions of stacked arrays.

    Each environment is solved at the start of each episode, and again where all actions
    of a solution are played: they may go only as far as it is certain what they do.
    """

    def __init__(self, env: Any, notes: dict[str, None]) -> None:
        batch: Any = env.unwrapped
        self._env = batch
        self._answers: dict[int, str] = {}
        if isinstance(env.single_action_space, Text):
            write = _answer_writer(env, batch.engine.action_parser)
            lookup = batch.get_attr("action_lookup")[0]
            self._answers = {action: write(name) for action, name in lookup.items()}
        self._notes = notes
        # By environment: the action of each step, or of each cell of slippery ice.  An
        # episode without a solution has the first action throughout.
        self._first_action = batch.engine.first_action
        self._plans = np.full((env.num_envs, 1), self._first_action)
        # The steps of the episode before a plan, and those at its end.
        self._starts = np.zeros(env.num_envs, np.int64)
        self._stops = self._starts.copy()
        self._is_by_cell = False

    def __call__(self) -> Any:
        """Return an action for each environment."""
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
        except SolverLimitError as error:
            if len(env_ids) == 1:
                self._notes[one_line(error)] = None
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


def _pool_parser(batch: Any) -> Any:
    """Return the parser of a batch of objects; None: they read texts themselves."""
    try:
        return batch.get_attr("action_parser")[0]
    except AttributeError:
        return None


def _answer_writer(env: Any, parser: Any) -> Callable[[Any], Any]:
    """Return a function that puts a right action into the form that a parser reads."""
    if parser is None or not isinstance(env.single_action_space, Text):
        return lambda action: action
    if parser.example("") is None:
        message = (
            "oracle cannot write an answer that matches "
            f"{parser.options.action_pattern}: it has to be tags around a group, such "
            "as <answer>(.*?)</answer>"
        )
        raise InvalidOptionError(message)
    return lambda answer: parser.example(answer)
