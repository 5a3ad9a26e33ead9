"""The steps between `send` and `recv`: environments that step at different times."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.options import check_seconds
from roll_vec.pool.actions import check_action_batch
from roll_vec.pool.engine import PoolEngine
from roll_vec.pool.observations import batch_observations, copy_data
from roll_vec.vector.infos import stack_infos
from roll_vec.vector.send_recv import (
    StepBatch,
    check_env_ids,
    check_min_envs,
)

__all__ = ["PendingResult", "PendingSteps", "PoolSteps"]


class PendingResult(NamedTuple):
    """The values that `recv` returns of one environment."""

    observation: Any
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Any] | None = None
    final: tuple[Any, dict[str, Any]] | None = None
    """Last observation and info of the episode that ended within the step."""


class PendingSteps:
    """Environments between `send` and `recv`.

    ::

        send ─▶ step ─────────────────────────────────────▶ ready ─▶ recv
          │       ╰─ the episode ends, SAME_STEP ─▶ reset ─▶─╯
          ╰─ the episode has ended, NEXT_STEP ───▶ reset ─▶─╯

    A subclass starts the steps by `send`, and returns results by `_wait_for_some`.

    Parameters
    ----------
    num_envs : int
    single_action_space, single_observation_space : gymnasium.Space
    accepts_noop : bool
        See `check_action_batch`.
    """

    def __init__(
        self,
        num_envs: int,
        single_action_space: Space[Any],
        single_observation_space: Space[Any],
        accepts_noop: bool,
    ) -> None:
        self._num_envs = num_envs
        self._action_space = single_action_space
        self._observation_space = single_observation_space
        self._accepts_noop = accepts_noop
        # None: in a step.  Otherwise in a reset, whose observation is not there yet.
        self._active: dict[int, PendingResult | None] = {}
        self._ready: dict[int, PendingResult] = {}

    def __len__(self) -> int:
        return len(self._active) + len(self._ready)

    def clear(self) -> None:
        """Forget all environments."""
        self._active.clear()
        self._ready.clear()

    def check_env_ids(self, env_ids: Any) -> NDArray[np.int64]:
        """Return the environments that actions may be sent to.

        Raises
        ------
        InvalidOptionError
            If they are not different environments.
        PendingResultsError
            If one of them is between `send` and `recv`.
        """
        busy_ids = {*self._active, *self._ready}
        return check_env_ids(env_ids, self._num_envs, busy_ids)

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return actions for some environments, copies of arrays of the caller."""
        single = self._action_space
        space = batch_space(single, len(skip_mask))
        checked = check_action_batch(
            single, space, actions, skip_mask, self._accepts_noop
        )
        return [copy_data(action) for action in checked]

    def send(
        self,
        env_ids: NDArray[np.int64],
        actions: Iterable[Any],
        needs_reset: NDArray[np.bool_],
    ) -> None:
        """Start the steps of some environments, or the resets of those that need it.

        Parameters
        ----------
        env_ids : (m,) int64
        actions : iterable of m
        needs_reset : (num_envs,) bool
        """
        raise NotImplementedError

    def _wait_for_some(self, seconds: float | None) -> None:
        """Wait for results at most so long, and move them from active to ready."""
        raise NotImplementedError

    def wait(self, min_envs: Any, timeout: Any) -> None:
        """Wait until some environments are ready; see `PoolVectorEnv.recv`.

        Raises
        ------
        InvalidOptionError
        """
        count = check_min_envs(min_envs, len(self))
        seconds = check_seconds("timeout", timeout)
        end = None if seconds is None else time.monotonic() + seconds
        while len(self._ready) < count:
            seconds = None if end is None else max(end - time.monotonic(), 0.0)
            self._wait_for_some(seconds)
            if end is not None and time.monotonic() >= end:
                break

    def receive(self) -> tuple[NDArray[np.int64], StepBatch]:
        """Return all environments that are ready, ascending, and their batch."""
        ready = self._pop_ready()
        env_ids = [env_id for env_id, _ in ready]
        batch = self._make_batch(env_ids, [result for _, result in ready])
        return np.array(env_ids, np.int64), batch

    def _pop_ready(self) -> list[tuple[int, PendingResult]]:
        env_ids = sorted(self._ready)
        return [(env_id, self._ready.pop(env_id)) for env_id in env_ids]

    def _make_batch(
        self, env_ids: list[int], results: list[PendingResult]
    ) -> StepBatch:
        count = len(env_ids)
        infos = stack_infos([one.info or {} for one in results], None, count)
        final_indices = [i for i, one in enumerate(results) if one.final is not None]
        if final_indices:
            has_final = np.zeros(count, np.bool_)
            has_final[final_indices] = True
            final_obs = np.full(count, None, object)
            final_infos = []
            for i in final_indices:
                final_obs[i], info = results[i].final  # type: ignore[misc]
                final_infos.append(info)
            infos["final_obs"], infos["_final_obs"] = final_obs, has_final
            infos["final_info"] = stack_infos(final_infos, final_indices, count)
            infos["_final_info"] = has_final.copy()
        infos["env_id"] = np.array(env_ids, np.int64)
        infos["_env_id"] = np.ones(count, np.bool_)
        return (
            batch_observations(
                self._observation_space, [one.observation for one in results]
            ),
            np.array([one.reward for one in results], np.float64),
            np.array([one.terminated for one in results], np.bool_),
            np.array([one.truncated for one in results], np.bool_),
            infos,
        )


class PoolSteps(PendingSteps):
    """Pending steps of the environments of an engine.

    Parameters
    ----------
    engine : PoolEngine
    mode : AutoresetMode
    group_size : int or None
        None: infos have no ``group_id``.
    """

    def __init__(
        self, engine: PoolEngine, mode: AutoresetMode, group_size: int | None
    ) -> None:
        super().__init__(
            engine.num_envs,
            engine.single_action_space,
            engine.single_observation_space,
            engine.accepts_noop,
        )
        self._engine = engine
        self._mode = mode
        self._group_size = group_size

    def send(
        self,
        env_ids: NDArray[np.int64],
        actions: Iterable[Any],
        needs_reset: NDArray[np.bool_],
    ) -> None:
        """Start the steps or resets of some environments; see `PendingSteps.send`."""
        operations = self._engine.operations
        for env_id, action in zip(env_ids.tolist(), actions, strict=True):
            self._active[env_id] = None
            if needs_reset[env_id]:
                operations.start_autoreset(env_id)
                self._active[env_id] = PendingResult(None)
            else:
                operations.start_step(env_id, action)
        self._engine.handles.workers.flush()

    def _wait_for_some(self, seconds: float | None) -> None:
        for env_id in self._engine.operations.wait_for_some(seconds):
            self._take(env_id)

    def take_ready(self, timeout: float | None) -> list[tuple[int, PendingResult]]:
        """Return the results of all environments that are ready, ascending.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait for the first of them; None: no limit.
        """
        while self._active and not self._ready:
            self._wait_for_some(timeout)
            if timeout is not None:
                break
        return self._pop_ready()

    def _take(self, env_id: int) -> None:
        """Take the step or the reset that an environment has ended."""
        engine = self._engine
        step_result = self._active[env_id]
        if step_result is not None:
            info = engine.members[env_id].reset_info
            if step_result.final is None:
                engine.forget_step(env_id)
            if self._group_size is not None:
                info = {**info, "group_id": env_id // self._group_size}
            observation = engine.observations.copy_latest(env_id)
            del self._active[env_id]
            self._ready[env_id] = step_result._replace(
                observation=observation, info=info
            )
            return
        reward, terminated, truncated, info = engine.result(env_id)
        observation = engine.observations.copy_latest(env_id)
        if self._mode is AutoresetMode.SAME_STEP and (terminated or truncated):
            final = (observation, info)
            self._active[env_id] = PendingResult(
                None, reward, terminated, truncated, final=final
            )
            engine.operations.start_autoreset(env_id)
            engine.handles.workers.flush()
        else:
            del self._active[env_id]
            self._ready[env_id] = PendingResult(
                observation, reward, terminated, truncated, info
            )
