"""Steps of some environments, begun now and received later, in any engine.

`roll_vec.vector.exchange` has the rules of `send` and `recv` above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete, Space, Text
from numpy.typing import NDArray

from roll_vec.errors import EnvironmentFaultError, RollVecError
from roll_vec.vector.infos import InfoList, list_infos
from roll_vec.vector.space_batches import batch_items


class Next(Enum):
    """The begin of the next episode of an environment, as by `Engine.advance`."""

    IN_PLACE_OF_STEP = "in place of a step"
    AFTER_STEP = "after a step"
    """The step before keeps its entry in `Engine.successes`."""


ResetCall: TypeAlias = Next | tuple[int | None, dict[str, Any] | None]
"""The next episode; or seed and options, as of the reset of a single environment."""

Results: TypeAlias = list[tuple[int, "EnvResult"]]
"""By environment."""


class EnvResult(NamedTuple):
    """The result of a step or a reset of one environment."""

    observation: Any
    """As of a single environment; the receiver's own."""
    info: dict[str, Any]
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    error: Exception | None = None
    """Why it has not moved: the environments begun with it have not, either."""


class Steps:
    """Steps and resets of some environments of an engine.

    `Engine.make_steps` makes it.  An environment is in one step or reset at a time.
    """

    are_called: bool = False
    """Whether `Engine.step` makes steps of all environments, in one call."""
    is_due: bool = False
    """Whether the next `poll` makes steps itself, without waiting."""
    in_workers: bool = False
    """Whether steps are made while nobody waits."""

    def begin(
        self, actions: Mapping[int, Any], resets: Mapping[int, ResetCall]
    ) -> None:
        """Begin steps and resets of different environments.

        Parameters
        ----------
        actions : mapping from environment to action
            As `Engine.check_some` returns them.
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
            If a fault shall raise, or no environment can be reset.
        """
        raise NotImplementedError

    def clear(self) -> None:
        """Forget everything that was begun."""

    def serve_single(self) -> None:
        """Return infos as single environments do, and let `wake` work.

        Otherwise numbers of stacked arrays keep their dtypes.
        """

    def wake(self) -> None:
        """Let `poll`, in another thread, return at once."""


class CalledSteps(Steps):
    """Steps of an engine that steps many environments in one call: `poll` makes it.

    Parameters
    ----------
    engine : roll_vec.vector.engine.Engine
    """

    are_called = True

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._actions: dict[int, Any] = {}
        self._resets: dict[int, ResetCall] = {}
        self._serves_single = False
        # An action of the right form for environments that are not stepped.
        self._filler = _some_action(engine.single_action_space)

    def serve_single(self) -> None:
        """Return numbers of Python in infos."""
        self._serves_single = True

    @property
    def is_due(self) -> bool:  # type: ignore[override]
        """Whether anything was begun."""
        return bool(self._actions or self._resets)

    def begin(
        self, actions: Mapping[int, Any], resets: Mapping[int, ResetCall]
    ) -> None:
        """Begin steps and resets; see `Steps.begin`."""
        # An interrupt comes before or after both.
        self._actions, self._resets = (
            {**self._actions, **actions},
            {**self._resets, **resets},
        )

    def clear(self) -> None:
        """Forget everything that was begun."""
        self._actions, self._resets = {}, {}

    def poll(self, timeout: float | None, count: int = 1) -> Results:  # noqa: ARG002
        """Make all steps and resets; see `Steps.poll`."""
        actions, by_call = self._actions, dict[Any, list[int]]()
        for env_id, call in sorted(self._resets.items()):
            # Those without options begin together.
            is_alone = not isinstance(call, Next) and call[1]
            kind = call if isinstance(call, Next) else env_id if is_alone else None
            by_call.setdefault(kind, []).append(env_id)
        begins = by_call.pop(Next.IN_PLACE_OF_STEP, [])
        results = []
        for env_ids in by_call.values():
            results += self._run(env_ids, partial(self._reset, env_ids))
        stepping = sorted([*actions, *begins])
        if stepping:
            results += self._run(
                stepping, partial(self._step, actions, begins, stepping)
            )
        self.clear()
        return results

    def _run(self, env_ids: list[int], function: Callable[[], Results]) -> Results:
        try:
            return function()
        except EnvironmentFaultError:
            raise
        except RollVecError as error:
            failed = EnvResult(None, {}, error=error)
            return [(env_id, failed) for env_id in env_ids]

    def _reset(self, ids: list[int]) -> Results:
        env_ids = np.array(ids, np.int64)
        calls = [self._resets[env_id] for env_id in ids]
        if calls[0] is Next.AFTER_STEP:
            self._engine.advance(env_ids)
        else:
            seeds = [seed for seed, _ in calls]  # type: ignore[misc]
            self._engine.reset(env_ids, seeds, calls[0][1])  # type: ignore[index]
        infos = self._list(self._engine.reset_infos(env_ids), len(ids))
        pairs = zip(self._observe(env_ids), infos, strict=True)
        return list(zip(ids, [EnvResult(*pair) for pair in pairs], strict=True))

    def _step(
        self, actions: Mapping[int, Any], begins: list[int], ids: list[int]
    ) -> Results:
        engine, num_envs = self._engine, self._engine.num_envs
        filled = [actions.get(env_id, self._filler) for env_id in range(num_envs)]
        skip_mask, idle_mask = np.ones(num_envs, np.bool_), np.ones(num_envs, np.bool_)
        skip_mask[list(actions)] = False
        idle_mask[ids] = False
        batch = batch_actions(engine.single_action_space, filled)
        begin_ids, env_ids = np.array(begins, np.int64), np.array(ids, np.int64)
        rewards, terminations, truncations, infos = engine.step(
            engine.check_actions(batch, skip_mask), skip_mask, idle_mask, begin_ids
        )
        dicts = self._list(infos, num_envs)
        reset_infos = self._list(engine.reset_infos(begin_ids), len(begins))
        for env_id, info in zip(begins, reset_infos, strict=True):
            dicts[env_id] = info
        columns = (
            self._observe(env_ids),
            [dicts[env_id] for env_id in ids],
            rewards[env_ids].tolist(),
            terminations[env_ids].tolist(),
            truncations[env_ids].tolist(),
        )
        results = map(EnvResult._make, zip(*columns, [None] * len(ids), strict=True))
        return list(zip(ids, results, strict=True))

    def _list(self, infos: Any, num_envs: int) -> InfoList:
        rows = list_infos(infos, num_envs)
        return _unbox(rows) if self._serves_single else rows

    def _observe(self, env_ids: NDArray[np.int64]) -> list[Any]:
        # A row of a batch would keep the whole batch in memory.
        return [
            one.copy() if isinstance(one, np.ndarray) else one
            for one in self._engine.observe_envs(env_ids)
        ]


def batch_actions(space: Space[Any], actions: list[Any]) -> Any:
    """Return actions of a space as a batch, in the form that engines take."""
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


def _some_action(space: Space[Any]) -> Any:
    """Return an action of a space, always the same."""
    if isinstance(space, Text):
        return ""
    if isinstance(space, Discrete):
        return int(space.start)
    return space.sample()
