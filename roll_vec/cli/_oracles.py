"""The right actions of environments that know them, found by an attribute.

An environment knows the right action if its class has the attribute or property
``oracle_action``: the right next action, or None where there is none.  It may also have
``oracle_note``: why the best return is out of reach in this episode, or None.  A class
of array environments knows it if it has the method ``solve``.

Batches of stacked arrays are solved once an episode, see `SolverPolicy`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Space, Text
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.cli._errors import argument_error
from roll_vec.errors import SolverLimitError, UnsolvableLevelError, one_line
from roll_vec.recordings.environments import load_class
from roll_vec.registration import ENVIRONMENTS

if TYPE_CHECKING:
    from roll_vec.text.action_parser import ActionParser

_ACTION, _NOTE = "oracle_action", "oracle_note"


def _has(spec: EnvSpec | None, attribute: str) -> bool:
    """Return whether the class of a registered id has an attribute."""
    return spec is not None and hasattr(load_class(spec), attribute)


def _is_solved(spec: EnvSpec | None) -> bool:
    """Return whether the class of a registered id knows the right action."""
    entry = None if spec is None else ENVIRONMENTS.get(spec.id)
    is_rule = entry is not None and entry.is_rule
    return _has(spec, "solve" if is_rule else _ACTION)


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
    # Engines of stacked arrays, here or in shards, have one; pools do not.
    is_stacked = hasattr(getattr(env.unwrapped, "engine", None), "first_action")
    return SolverPolicy(env) if is_stacked else OraclePolicy(env)


class OraclePolicy:
    """The policy that takes the right action in every environment of a batch.

    Parameters
    ----------
    env : VectorEnv

    Attributes
    ----------
    notes : dict of str to None
        The notes of all episodes, in the order of their first occurrence.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self._env: Any = env.unwrapped
        self._has_note = _has(env.spec, _NOTE)
        self._write = _answer_writer(env, _pool_parser(self._env))
        self._default = _default_action(env.single_action_space, self._write)
        self.notes: dict[str, None] = {}

    def __call__(self, observations: Any) -> list[Any]:
        """Return an action for each environment; a fixed one where none is right."""
        del observations
        if self._has_note:
            notes = self._env.get_attr(_NOTE)
            self.notes.update(dict.fromkeys(note for note in notes if note is not None))
        actions = self._env.get_attr(_ACTION)
        return [
            self._default if action is None else self._write(action)
            for action in actions
        ]


class SolverPolicy:
    """The policy that plays best in every environment of a batch of stacked arrays.

    Each environment is solved at the start of each episode.  Sokoban plays a solution
    of the fewest moves, a lake the policy of the highest chance to reach the goal.

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
        self._is_by_cell = False

    def __call__(self, observations: Any) -> Any:
        """Return an action for each environment."""
        del observations
        engine, num_envs = self._env.engine, self._env.num_envs
        env_ids = np.flatnonzero(engine.elapsed_steps == 0)
        if env_ids.size:
            self._plan(env_ids)
        columns = engine.positions if self._is_by_cell else engine.elapsed_steps
        # An episode that has ended is past the end of its plan.
        columns = np.minimum(columns, self._plans.shape[1] - 1)
        actions = self._plans[np.arange(num_envs), columns]
        if self._answers:
            return [self._answers[action] for action in actions.tolist()]
        return actions

    def _plan(self, env_ids: NDArray[np.int64]) -> None:
        """Solve the episodes that some environments begin."""
        plans = [self._read(solution) for solution in self._solve(env_ids)]
        more = max(map(len, plans)) - self._plans.shape[1]
        if more > 0:
            self._plans = np.pad(
                self._plans, ((0, 0), (0, more)), constant_values=self._first_action
            )
        self._plans[env_ids] = self._first_action
        for env_id, plan in zip(env_ids.tolist(), plans, strict=True):
            self._plans[env_id, : len(plan)] = plan

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
