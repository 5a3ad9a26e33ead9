"""Steps of some environments of a pool, begun now and received later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roll_vec.pool.observations import copy_data
from roll_vec.vector.steps import EnvResult, Next, ResetCall, Results, Steps

__all__ = ["PoolSteps"]


class PoolSteps(Steps):
    """Steps of the environments of a pool; see `roll_vec.vector.steps.Steps`.

    Parameters
    ----------
    engine : roll_vec.pool.engine.PoolEngine
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._resets: dict[int, ResetCall] = {}

    @property
    def _workers(self) -> Any:
        return self._engine.members.workers

    @property
    def in_workers(self) -> bool:  # type: ignore[override]
        """Whether threads or processes run the environments."""
        return bool(self._workers.are_others)

    def begin(
        self, actions: Mapping[int, Any], resets: Mapping[int, ResetCall]
    ) -> None:
        """Begin steps and resets; see `Steps.begin`."""
        self._resets |= resets
        calls = [None if isinstance(one, Next) else one for one in resets.values()]
        self._engine.members.start_resets(list(resets), calls)
        self._engine.members.start_steps(actions.items())
        self._workers.flush()

    def poll(self, timeout: float | None) -> Results:
        """Return the results that are there; see `Steps.poll`."""
        env_ids = self._engine.members.wait_for_some(timeout)
        return [(env_id, self._take(env_id)) for env_id in env_ids]

    def _take(self, env_id: int) -> EnvResult:
        engine = self._engine
        # The pool needs its own copy if a later step fails.
        observation = copy_data(engine.observations.copy_latest(env_id))
        call = self._resets.pop(env_id, None)
        if call is None:
            reward, terminated, truncated, info = engine.result(env_id)
            return EnvResult(observation, info, reward, terminated, truncated)
        if call is Next.IN_PLACE_OF_STEP:
            engine.forget_step(env_id)
        return EnvResult(observation, engine.members.records[env_id].reset_info)

    def clear(self) -> None:
        """Forget everything that was begun; all environments must be reset."""
        self._resets.clear()

    def serve_single(self) -> None:
        """Let `wake` work."""
        self._workers.allow_wake()

    def wake(self) -> None:
        """Let `poll`, in another thread, return at once."""
        self._workers.wake()
