"""`send` and `recv` of batches that step all their environments in one call.

The actions of several calls of `send` wait here, and `recv` takes one step of all their
environments.  Batches of objects override both: their environments step while nobody
waits, see `roll_vec.pool.send_recv`.
"""

from __future__ import annotations

import operator
from collections.abc import Container
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidOptionError,
    PendingResultsError,
    ResetNeededError,
    RollVecError,
    list_env_ids,
)
from roll_vec.options import check_seconds
from roll_vec.vector.autoreset import NEXT_STEP, Autoreset, describe_ended
from roll_vec.vector.calls import one_at_a_time
from roll_vec.vector.engine import Engine
from roll_vec.vector.infos import Infos, take_infos
from roll_vec.vector.rollout import take_observations

__all__ = [
    "BatchSendRecv",
    "PendingActions",
    "StepBatch",
    "check_env_ids",
    "check_min_envs",
]

StepBatch: TypeAlias = tuple[
    Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos
]


class PendingActions:
    """The actions between `send` and `recv`.

    Parameters
    ----------
    num_envs : int
    is_text : bool
        Whether actions are texts, not integers.

    Attributes
    ----------
    mask : (num_envs,) bool
        The environments that have an action.
    actions : (num_envs,) int64 or object
    count : int
        Environments in the mask.
    """

    def __init__(self, num_envs: int, is_text: bool) -> None:
        self.actions = np.zeros(num_envs, object if is_text else np.int64)
        self.mask, self.count = np.zeros(num_envs, np.bool_), 0

    def __len__(self) -> int:
        return self.count

    def add(self, env_ids: NDArray[np.int64], actions: Any) -> None:
        """Add one action for each of some environments that have none."""
        self.actions[env_ids] = actions
        mask = self.mask.copy()
        mask[env_ids] = True
        # An interrupt comes before or after both.
        self.mask, self.count = mask, self.count + len(env_ids)

    def clear(self) -> None:
        """Forget all actions."""
        self.mask, self.count = np.zeros(len(self.actions), np.bool_), 0


class BatchSendRecv(VectorEnv[Any, Any, Any]):
    """Base of `roll_vec.vector.env.RollVectorEnv`: steps of some environments."""

    engine: Engine
    _autoreset: Autoreset
    _is_started: bool
    _pending_actions: PendingActions

    @one_at_a_time
    def send(self, actions: Any, env_ids: Any) -> None:
        """Give some environments their actions; `recv` returns the results.

        An array environment steps when `recv` is called, together with all others that
        have an action by then.

        Parameters
        ----------
        actions : batch of m
            As for `step`.
        env_ids : sequence of m int
            Different environments, none of them with a result that was not received.
            One whose episode has ended is reset in NEXT_STEP mode, its action ignored.

        Raises
        ------
        InvalidActionError, InvalidOptionError, PendingResultsError, ResetNeededError
            Nothing has moved then.
        ClosedError
        """
        self._check_started("the first action")
        busy_ids = (
            set(self._pending_actions.mask.nonzero()[0].tolist())
            if self._pending_actions
            else ()
        )
        checked_ids = check_env_ids(env_ids, self.num_envs, busy_ids)
        has_ended = self._check_ended(checked_ids)
        checked_actions = self.engine.check_actions(actions, has_ended)
        # The step checks them again, and parses texts.
        is_text = self._pending_actions.actions.dtype == object
        self._pending_actions.add(
            checked_ids, list(actions) if is_text else checked_actions
        )

    @one_at_a_time
    def recv(self, min_envs: int | None = 1, timeout: float | None = None) -> StepBatch:
        """Return the results of environments that actions were sent to.

        Array environments return those of all.

        Parameters
        ----------
        min_envs : int or None
            Wait for so many environments; None: for all.  All that are ready are
            returned.
        timeout : float or None
            Seconds after which fewer, or none, are returned; None or infinity: no
            limit.  Array environments do not wait.

        Returns
        -------
        observations, rewards, terminations, truncations, infos
            As from `step`, but of m environments: ``infos["env_id"]``, (m,) int64,
            ascending.

        Raises
        ------
        InvalidOptionError
            If fewer than ``min_envs`` results are outstanding.
        LevelGenerationError
            As `step`.  The actions are forgotten.
        ClosedError
        """
        self._check_open()
        self._check_ready()
        check_min_envs(min_envs, len(self._pending_actions))
        check_seconds("timeout", timeout)
        mask, actions = self._pending_actions.mask, self._pending_actions.actions
        try:
            rewards, terminations, truncations, infos = self._autoreset.step(
                actions, mask
            )
        except RollVecError:
            # Other calls are possible again.
            self._pending_actions.clear()
            raise
        self._pending_actions.clear()
        env_ids = mask.nonzero()[0]
        observations = self._observe()
        self._show_window()
        space = self.single_observation_space
        part = take_observations(space, observations, env_ids)
        infos = take_infos(infos, env_ids)
        infos["env_id"], infos["_env_id"] = env_ids, np.ones(len(env_ids), np.bool_)
        arrays = (rewards[env_ids], terminations[env_ids], truncations[env_ids])
        self._autoreset.is_ready = True
        return part, *arrays, infos

    def _check_ended(self, env_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for some environments, whether `recv` resets them, (m,) bool.

        Raises
        ------
        ResetNeededError
            If one has ended, in another mode than NEXT_STEP.
        """
        has_ended = self._autoreset.has_ended[env_ids]
        if self._autoreset.mode is not NEXT_STEP and has_ended.any():
            raise ResetNeededError(describe_ended(env_ids[has_ended]))
        return has_ended

    def _num_pending(self) -> int:
        """Return the number of environments whose results were not received."""
        return len(self._pending_actions)

    def _check_idle(self, name: str) -> None:
        """Check that method ``name`` may be called: all results were received."""
        self._check_open()
        count = self._num_pending()
        if count and not self._needs_full_reset():
            message = (
                f"{name}: {count} environments have results that were not received"
            )
            raise PendingResultsError(message, name)

    def _check_open(self) -> None:
        raise NotImplementedError

    def _check_started(self, use: str) -> None:
        raise NotImplementedError

    def _check_ready(self) -> None:
        raise NotImplementedError

    def _needs_full_reset(self) -> bool:
        raise NotImplementedError

    def _observe(self) -> Any:
        raise NotImplementedError

    def _show_window(self) -> None:
        raise NotImplementedError


def check_env_ids(
    env_ids: Any, num_envs: int, busy_ids: Container[int]
) -> NDArray[np.int64]:
    """Return the environments that actions may be sent to.

    Raises
    ------
    InvalidOptionError
        If they are not different environments.
    PendingResultsError
        If one of them is between `send` and `recv`.
    """
    array = np.asarray(env_ids)
    if array.ndim != 1 or not (
        np.issubdtype(array.dtype, np.integer) or not array.size
    ):
        raise InvalidOptionError.expected("env_ids", "a sequence of integers", env_ids)
    checked = array.astype(np.int64)
    out_of_range = checked[(checked < 0) | (checked >= num_envs)]
    if len(out_of_range):
        raise InvalidOptionError.expected(
            "env_ids", f"0 to {num_envs - 1}", int(out_of_range[0])
        )
    if len(set(checked.tolist())) != len(checked):
        raise InvalidOptionError.expected("env_ids", "each at most once", env_ids)
    busy = [env_id for env_id in checked.tolist() if env_id in busy_ids]
    if busy:
        message = (
            f"environments {list_env_ids(np.array(busy))} have results that "
            "were not received"
        )
        raise PendingResultsError(message, "send")
    return checked


def check_min_envs(min_envs: Any, total: int) -> int:
    """Return the number of environments to wait for.

    Raises
    ------
    InvalidOptionError
    """
    count = total
    if min_envs is not None:
        try:
            if isinstance(min_envs, bool):
                raise TypeError
            count = operator.index(min_envs)
        except TypeError:
            raise InvalidOptionError.expected(
                "min_envs", "None or an integer", min_envs
            ) from None
    if not 1 <= count <= total:
        raise InvalidOptionError.expected(
            "min_envs",
            f"at least 1 and at most the {total} environments whose results are "
            "outstanding",
            min_envs,
        )
    return count
