"""Steps of a batch that can fail or be interrupted; and `send` and `recv`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import EnvironmentFaultError, RollVecError
from roll_vec.pool.pending_steps import PendingSteps
from roll_vec.vector.calls import interruptible, one_at_a_time
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.infos import Infos
from roll_vec.vector.state import VectorState

__all__ = ["SendRecv"]


class SendRecv(RollVectorEnv, VectorEnv[Any, Any, Any]):
    """Base of the batches of environment objects, here or in shards."""

    _pending_steps: PendingSteps

    @one_at_a_time
    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, Infos]:
        """Start new episodes; see `RollVectorEnv.reset`.

        ``options``, without ``reset_mask``, go to the environments.

        Raises
        ------
        EnvironmentFaultError
            If no environment can be reset, or with ``on_error="raise"``.
        PendingResultsError
            If results were not received.
        """
        with self._step_context():
            result = super().reset(seed=seed, options=options)
        self._warn_of_faults()
        return result

    @one_at_a_time
    def step(
        self, actions: Any, *, mask: NDArray[np.bool_] | None = None
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Step every environment once, or some; see `RollVectorEnv.step`.

        Raises
        ------
        EnvironmentFaultError
            If no environment can be reset, or with ``on_error="raise"``.
        PendingResultsError
            If results were not received.
        """
        self._check_idle("step")
        self._check_ready()
        with self._step_context():
            result = super().step(actions, mask=mask)
        self._warn_of_faults()
        return result

    @one_at_a_time
    def send(self, actions: Any, env_ids: Any) -> None:
        """Let some environments step, and do not wait; see `RollVectorEnv.send`."""
        self._check_started("the first action")
        checked_ids = self._pending_steps.check_env_ids(env_ids)
        has_ended = self._check_ended(checked_ids)
        checked_actions = self._pending_steps.check_actions(actions, has_ended)
        with self._step_context():
            self._autoreset.is_ready = False
            self._pending_steps.send(
                checked_ids, checked_actions, self._autoreset.has_ended
            )
            self._autoreset.is_ready = True

    @one_at_a_time
    def recv(
        self, min_envs: int | None = 1, timeout: float | None = None
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Return the results of environments that are ready; see `RollVectorEnv.recv`.

        In SAME_STEP mode an environment whose episode ends is ready after its reset.

        Raises
        ------
        InvalidOptionError
            If fewer than ``min_envs`` results are outstanding.
        EnvironmentFaultError
            As `step`.
        """
        self._check_open()
        self._check_ready()
        with self._step_context():
            self._autoreset.is_ready = False
            try:
                self._pending_steps.wait(min_envs, timeout)
            except EnvironmentFaultError:
                self._demand_reset()
                raise
            except RollVecError:
                # Bad arguments, or a missing level: its page says what has moved then.
                self._autoreset.is_ready = True
                raise
            self._autoreset.is_ready = True
            # Before results are received: a warning filter can raise.
            self._warn_of_faults()
            self._autoreset.is_ready = False
            env_ids, batch = self._pending_steps.receive()
            has_ended = self._autoreset.has_ended.copy()
            if self._autoreset.statistics is not None:
                entry = self._autoreset.statistics.count_step(
                    batch[1], has_ended[env_ids], batch[2] | batch[3], env_ids
                )
                infos = batch[4]
                if self.autoreset_mode is AutoresetMode.SAME_STEP:
                    infos = infos.get("final_info", infos)
                    self._autoreset.statistics.start(env_ids[batch[2] | batch[3]])
                infos.update(entry)
            has_ended[env_ids] = False
            if self.autoreset_mode is not AutoresetMode.SAME_STEP:
                has_ended[env_ids] = batch[2] | batch[3]
            self._autoreset.has_ended = has_ended
            self._autoreset.is_ready = True
        return batch

    @one_at_a_time
    def get_state(self) -> VectorState:
        """Return a snapshot of all environments; see `RollVectorEnv.get_state`.

        The state of each object is what its own `get_state` returns.  An environment
        without one is pickled; one that cannot be pickled is copied, for this process
        alone.  Counts of faults, and attributes of `set_attr`, are no part of a
        snapshot, unless an object itself is pickled or copied.  There is no time limit.

        Raises
        ------
        UnsupportedError
            Names an environment that allows none of these.
        PendingResultsError
            If results were not received.
        ResetNeededError
            Before the first reset, or if a fault demands one.
        EnvironmentFaultError
            If a worker died, or a shard or its episodes are lost.  An exception of an
            environment is raised as it is.
        """
        with self._interruptible():
            return super().get_state()

    @one_at_a_time
    def set_state(
        self,
        state: VectorState,
        *,
        mask: NDArray[np.bool_] | None = None,
        rows: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    ) -> Any:
        """Go back to a snapshot; see `RollVectorEnv.set_state`.

        Objects with `set_state` stay the same objects, others are replaced.  With
        different environments in a batch each goes to rows of its like.

        Raises
        ------
        PendingResultsError
            If results were not received.
        ResetNeededError
            If a fault demands a reset of all environments and a mask leaves some out.
        EnvironmentFaultError
            If `set_state` of environments fails, a worker dies, or a shard is lost.
            The others have moved then, and every environment must be reset, or set
            without a mask.
        """
        with self._interruptible():
            return super().set_state(state, mask=mask, rows=rows)

    @one_at_a_time
    def solve(
        self, objective: str = "moves", *, mask: NDArray[np.bool_] | None = None
    ) -> tuple[Any, ...]:
        """Return a solution of each environment; see `RollVectorEnv.solve`."""
        with self._interruptible():
            return super().solve(objective, mask=mask)

    @one_at_a_time
    def set_level_options(
        self, *, mask: NDArray[np.bool_] | None = None, **level_options: Any
    ) -> None:
        """Change the levels of next episodes; see `RollVectorEnv.set_level_options`."""
        with self._interruptible():
            super().set_level_options(mask=mask, **level_options)

    def _interruptible(self) -> AbstractContextManager[None]:
        """Make sure that the batch can be reset and closed after Ctrl-C."""
        return interruptible(self._demand_reset)

    def _step_context(self) -> AbstractContextManager[None]:
        """Return the context of steps and resets; see `_interruptible`."""
        return self._interruptible()

    def _num_pending(self) -> int:
        return len(self._pending_steps) + super()._num_pending()

    def _demand_reset(self) -> None:
        """Demand a reset of all environments, and drop what was started."""
        self._autoreset.demand_reset()
        self._drop_pending()

    def _drop_pending(self) -> None:
        super()._drop_pending()
        self._pending_steps.clear()

    def _warn_of_faults(self) -> None:
        """Warn of the first fault."""
        raise NotImplementedError
