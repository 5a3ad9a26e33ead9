"""Steps of single environments of an engine, for callers that know only theirs.

`roll_vec.sessions` uses them in every kind of batch, `roll_vec.pool.exchange` in pools.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete, Space, Text
from numpy.typing import NDArray

from roll_vec.errors import EnvironmentFaultError, RollVecError
from roll_vec.vector.infos import InfoList, list_infos
from roll_vec.vector.space_batches import batch_items

ResetCall: TypeAlias = tuple[int | None, dict[str, Any] | None] | None
"""Seed and options, as of the reset of a single environment; None: the next episode of
a pool's environment.
"""

Results: TypeAlias = list[tuple[int, "EnvResult"]]
"""By environment."""


class EnvResult(NamedTuple):
    """The result of a step or a reset of one environment."""

    observation: Any
    """As of a single environment; the receiver may change it."""
    info: dict[str, Any]
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    error: Exception | None = None
    """Why it has not moved: the environments begun with it have not, either."""


class Steps:
    """Steps and resets of some environments of an engine.

    `RollVectorEnv._make_steps` makes it.  An environment is in one step or reset at a
    time.
    """

    in_workers: bool = False
    """Whether steps are made while nobody waits."""

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return m actions, checked, which the caller may change.

        Parameters
        ----------
        actions : batch of m
        skip_mask : (m,) bool
            Environments whose actions are ignored.

        Raises
        ------
        InvalidActionError
        """
        raise NotImplementedError

    def begin(
        self, actions: Mapping[int, Any], resets: Mapping[int, ResetCall]
    ) -> None:
        """Begin steps and resets of different environments.

        Parameters
        ----------
        actions : mapping from environment to action
            As `check_actions` returns them.
        resets : mapping from environment to ResetCall
        """
        raise NotImplementedError

    def poll(self, timeout: float | None, count: int = 1) -> Results:
        """Return the results that are there, each once; wait for the first.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait at most; None: no limit.
        count : int
            The results that the caller needs.  Where the calling thread makes steps,
            it makes so many, and without a limit in one go.

        Raises
        ------
        EnvironmentFaultError
            If no environment can be reset.
        """
        raise NotImplementedError

    def clear(self) -> None:
        """Forget everything that was begun."""

    def wake(self) -> None:
        """Let `poll`, in another thread, return at once."""


class CalledSteps(Steps):
    """Steps of an engine that steps many environments in one call: `poll` makes it.

    Numbers in infos are Python's, as those of single environments.

    Parameters
    ----------
    engine : roll_vec.vector.engine.Engine
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._actions: dict[int, Any] = {}
        self._resets: dict[int, Any] = {}
        # An action of the right form for environments that are not stepped.
        self._filler = copy.deepcopy(engine.single_action_space).sample()

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return the actions as they are: steps are made before the caller goes on."""
        self._engine.check_actions(actions, skip_mask)
        return list(actions)

    def begin(
        self, actions: Mapping[int, Any], resets: Mapping[int, ResetCall]
    ) -> None:
        """Begin steps and resets; see `Steps.begin`."""
        self._actions, self._resets = dict(actions), dict(resets)

    def clear(self) -> None:
        """Forget everything that was begun."""
        self._actions, self._resets = {}, {}

    def poll(self, timeout: float | None, count: int = 1) -> Results:  # noqa: ARG002
        """Make all steps and resets; see `Steps.poll`."""
        by_options: dict[Any, list[int]] = {}
        for env_id, (_, options) in sorted(self._resets.items()):
            # Those without options begin together.
            by_options.setdefault(env_id if options else None, []).append(env_id)
        calls = [(self._reset, env_ids) for env_ids in by_options.values()]
        if self._actions:
            calls.append((self._step, sorted(self._actions)))
        results: Results = []
        for function, env_ids in calls:
            try:
                results += function(env_ids)
            except EnvironmentFaultError:
                raise
            except RollVecError as error:
                failed = EnvResult(None, {}, error=error)
                results += [(env_id, failed) for env_id in env_ids]
        self.clear()
        return results

    def _reset(self, ids: list[int]) -> Results:
        env_ids, calls = np.array(ids), [self._resets[env_id] for env_id in ids]
        self._engine.reset(env_ids, [seed for seed, _ in calls], calls[0][1])
        infos = _list(self._engine.begin_infos(env_ids), len(ids))
        pairs = zip(self._observe(env_ids), infos, strict=True)
        return list(zip(ids, [EnvResult(*pair) for pair in pairs], strict=True))

    def _step(self, ids: list[int]) -> Results:
        engine, num_envs = self._engine, self._engine.num_envs
        filled = [self._actions.get(i, self._filler) for i in range(num_envs)]
        skip_mask, env_ids = np.ones(num_envs, np.bool_), np.array(ids)
        skip_mask[env_ids] = False
        batch = batch_actions(engine.single_action_space, filled)
        actions = engine.check_actions(batch, skip_mask)
        successes = engine.successes.copy()
        rewards, terminations, truncations, _, infos = engine.step(actions, skip_mask)
        engine.successes[skip_mask] = successes[skip_mask]
        dicts = _list(infos, num_envs)
        columns = (
            self._observe(env_ids),
            [dicts[env_id] for env_id in ids],
            rewards[env_ids].tolist(),
            terminations[env_ids].tolist(),
            truncations[env_ids].tolist(),
        )
        results = map(EnvResult._make, zip(*columns, [None] * len(ids), strict=True))
        return list(zip(ids, results, strict=True))

    def _observe(self, env_ids: NDArray[np.int64]) -> list[Any]:
        # A row of a batch would keep the whole batch in memory.
        return [
            one.copy() if isinstance(one, np.ndarray) else one
            for one in self._engine.observe(env_ids)
        ]


def _list(infos: Any, num_envs: int) -> InfoList:
    """Return one dict an environment, with numbers of Python."""
    return [_unbox(info) for info in list_infos(infos, num_envs)]


def batch_actions(space: Space[Any], actions: list[Any]) -> Any:
    """Return actions of a space as a batch, in the form that engines accept."""
    if isinstance(space, (Discrete, Text)):
        return actions
    return batch_items(space, actions)


def _unbox(value: Any) -> Any:
    """Return infos with numbers of Python in the place of numpy's."""
    if isinstance(value, list):
        return [_unbox(one) for one in value]
    if isinstance(value, dict):
        return {key: _unbox(one) for key, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value
