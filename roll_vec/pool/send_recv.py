"""Steps of a batch that can fail or be interrupted; and `send` and `recv`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    EnvironmentFaultError,
    ResetNeededError,
)
from roll_vec.pool.pending_steps import PendingSteps
from roll_vec.vector.autoreset import parse_reset_mask
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.infos import Infos

__all__ = ["ALL_NEED_RESET", "SendRecv"]

ALL_NEED_RESET = (
    "every environment must be reset: the call before was interrupted, or a fault "
    "was raised"
)


class SendRecv(RollVectorEnv, VectorEnv[Any, Any, Any]):
    """Base of the batches of environment objects, here or in shards."""

    _pending_steps: PendingSteps

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
        self._check_idle("reset")
        mask = parse_reset_mask(options, self.num_envs)
        is_full = mask is None or bool(mask.all())
        if self._needs_full_reset() and not is_full:
            raise ResetNeededError(ALL_NEED_RESET)
        with self._interruptible():
            result = super().reset(seed=seed, options=options)
        if is_full:
            self._end_full_reset()
        self._warn_of_faults()
        return result

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
        if self._needs_full_reset():
            raise ResetNeededError(ALL_NEED_RESET)
        with self._interruptible():
            result = super().step(actions, mask=mask)
        self._warn_of_faults()
        return result

    def send(self, actions: Any, env_ids: Any) -> None:
        """Let some environments step, and do not wait; see `RollVectorEnv.send`."""
        self._check_open()
        if not self._is_started or self._needs_full_reset():
            message = "every environment must be reset before the first action"
            raise ResetNeededError(message)
        checked_ids = self._pending_steps.check_env_ids(env_ids)
        has_ended = self._check_ended(checked_ids)
        checked_actions = self._pending_steps.check_actions(actions, has_ended)
        with self._interruptible():
            self._pending_steps.send(
                checked_ids, checked_actions, self._autoreset.has_ended
            )

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
        with self._interruptible():
            try:
                self._pending_steps.wait(min_envs, timeout)
            except EnvironmentFaultError:
                self._pending_steps.clear()
                self._demand_reset()
                raise
            # Before results are received: a warning filter can raise.
            self._warn_of_faults()
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
        return batch

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Make sure that the pool can be reset and closed after Ctrl-C."""
        try:
            yield
        except KeyboardInterrupt:
            self._pending_steps.clear()
            self._demand_reset()
            raise

    def _num_pending(self) -> int:
        return len(self._pending_steps) + super()._num_pending()

    def _needs_full_reset(self) -> bool:
        """Return whether an interrupted call or a fault demands a full reset."""
        raise NotImplementedError

    def _end_full_reset(self) -> None:
        """Note that all environments were reset."""

    def _demand_reset(self) -> None:
        """Demand a reset of all environments, after an interrupted call."""
        raise NotImplementedError

    def _warn_of_faults(self) -> None:
        """Warn of the first fault."""
        raise NotImplementedError
