"""Sessions over one vector environment, and a session: the public classes."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv

from roll_vec.errors import (
    ClosedError,
    InvalidActionError,
    InvalidOptionError,
    PendingResultsError,
    ResetNeededError,
    SessionsFullError,
)
from roll_vec.options import check_seconds
from roll_vec.seeding import check_seed
from roll_vec.sessions.call_queue import CallQueue, closed_error
from roll_vec.sessions.calls import Call, Operation
from roll_vec.sessions.env_rows import EnvRows
from roll_vec.sessions.free_rows import FreeRows
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.vector_state import VectorState

Reset: TypeAlias = tuple[Any, dict[str, Any]]
EnvStep: TypeAlias = tuple[Any, float, bool, bool, dict[str, Any]]


class Sessions:
    """Independent callers over one vector environment; one environment for each.

    Parameters
    ----------
    envs : RollVectorEnv
        With ``autoreset_mode="Disabled"`` and without wrappers.  Of a
        `JoinedVectorEnv` use a part.  It belongs to the sessions from now on: nobody
        else may use it, and `close` closes it.  ``group_size`` has no effect.

    Attributes
    ----------
    envs : RollVectorEnv
    num_envs : int
        The number of sessions that can be open at a time.

    Raises
    ------
    InvalidOptionError

    Notes
    -----
    All methods may be called from any thread.  Sessions belong to their process: they
    can neither be pickled nor copied, and a process that was forked makes new ones.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        accepted = "a vector environment of roll_vec without wrappers"
        if not isinstance(envs, RollVectorEnv):
            raise InvalidOptionError.expected("envs", accepted, envs)
        if envs.autoreset_mode is not AutoresetMode.DISABLED:
            raise InvalidOptionError.expected(
                "envs",
                "a vector environment with autoreset_mode='Disabled'",
                envs.autoreset_mode.value,
            )
        self.envs, self.num_envs = envs, envs.num_envs
        self._rows = EnvRows(envs)
        self._calls = CallQueue(self._rows)
        self._free_rows = FreeRows(self.num_envs)

    def open(self, timeout: float | None = None) -> Session:
        """Return a session with an environment that no other session has.

        Callers that wait get theirs in the order in which they came, coroutines among
        them.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait if none is free; None: no limit.

        Raises
        ------
        SessionsFullError
            If none was free in this time.
        InvalidOptionError, ClosedError
        """
        seconds = check_seconds("timeout", timeout)
        with self._free_rows.request() as future:
            wait([future], seconds)
            return self._make_session(future)

    async def open_async(self, timeout: float | None = None) -> Session:
        """Return a session, from a coroutine; see `open`."""
        seconds = check_seconds("timeout", timeout)
        with self._free_rows.request() as future:
            await asyncio.wait([asyncio.wrap_future(future)], timeout=seconds)
            return self._make_session(future)

    def _make_session(self, future: Future[int | None]) -> Session:
        if self._calls.is_closed:
            raise closed_error()
        row = future.result() if future.done() else None
        if row is None:
            message = (
                f"all {self.num_envs} environments belong to other sessions: close "
                "one, or make the vector environment with more num_envs"
            )
            raise SessionsFullError(message)
        return Session(self, row)

    def close(self) -> None:
        """Close all sessions and the vector environment.

        Calls that wait raise ClosedError; a batch that runs is ended first.
        """
        if self._calls.is_closed:
            return
        self._calls.close()
        # Each that waits passes it on to the next.
        self._free_rows.put(None)
        self.envs.close()

    def __enter__(self) -> Sessions:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


class Session:
    """One caller's environment; `Sessions.open` makes it.

    It has the methods of a single environment, with the same results.  One caller uses
    it at a time.  A session that is garbage collected frees its environment.

    Attributes
    ----------
    env_id : int
        The number of its environment in the batch.
    """

    def __init__(self, sessions: Sessions, row: int) -> None:
        self._sessions = sessions
        self.env_id = row
        # Emptied by whoever frees the row: a call that ends, `close` or `__del__`.
        self._rows_to_free = [row]
        self._in_call = threading.Lock()
        self._is_closed = self._has_started = self._has_ended = False
        # `EnvRows.epoch` of the last reset; None if nobody knows the environment's
        # state: the next call must be a reset.
        self._epoch: int | None = None

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Reset:
        """Start a new episode.

        Parameters
        ----------
        seed : int or None
            An int starts a stream of episodes.  None starts its next episode; in a new
            session, that of a stream with a seed of the operating system.
        options : dict or None
            As for the single environment.

        Returns
        -------
        observation, info

        Raises
        ------
        InvalidSeedError, InvalidOptionError
            Nothing has changed then.
        LevelGenerationError
            And other errors of the environment's own reset.
        PendingResultsError
            If another call of this session has not ended.
        ClosedError

        Notes
        -----
        An environment of a pool that fails in all attempts at a reset raises nothing:
        its info has ``error``, and its first step ends the episode as truncated.
        """
        argument = self._check_reset(seed, options)
        result: Reset = self._run("reset", argument)
        return result

    def step(self, action: Any) -> EnvStep:
        """Take an action.

        Returns
        -------
        observation, reward, terminated, truncated, info

        Raises
        ------
        InvalidActionError
            No environment has moved then.
        ResetNeededError
            Before a reset, after the end of an episode, and if an interrupt or a fault
            has struck all environments.
        PendingResultsError, ClosedError
        """
        result: EnvStep = self._run("step", self._check_step(action))
        return result

    def render(self) -> Any:
        """Return a frame in the ``render_mode`` of the batch; None without one.

        Raises
        ------
        ResetNeededError, PendingResultsError, ClosedError
        """
        self._check_started()
        return self._run("render", None)

    def get_state(self) -> VectorState:
        """Return the state of the environment, with all that later steps depend on.

        Returns
        -------
        VectorState
            Of one environment.  It can be pickled, saved, and set in any session, also
            of other sessions, and in any batch of the same keywords.

        Raises
        ------
        UnsupportedError
            For an environment without a state that can be kept.
        ResetNeededError
            Before the first reset, and if an interrupt has struck all environments,
            or this session's last step was cancelled.
        PendingResultsError, ClosedError
        """
        self._check_started()
        self._check_epoch()
        state: VectorState = self._run("get_state", self._has_ended)
        return state

    def set_state(self, state: VectorState) -> Any:
        """Go to the state of an environment, which need not be this one.

        Parameters
        ----------
        state : VectorState
            Of one environment, with the keywords of this batch;
            `VectorState.select_rows` returns one of many.

        Returns
        -------
        observation
            Of the state.

        Raises
        ------
        InvalidStateError
            If it is none of such an environment; nothing has changed then.
        PendingResultsError, ClosedError, UnsupportedError
        """
        self._check_open()
        return self._run("set_state", state)

    async def reset_async(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Reset:
        """Start a new episode, from a coroutine; see `reset`."""
        argument = self._check_reset(seed, options)
        result: Reset = await self._run_async("reset", argument)
        return result

    async def step_async(self, action: Any) -> EnvStep:
        """Take an action, from a coroutine; see `step`.

        If the coroutine is cancelled while its step is made, the session must be reset.
        """
        result: EnvStep = await self._run_async("step", self._check_step(action))
        return result

    def close(self) -> None:
        """Free the environment for another session; a call that runs is ended first."""
        self._is_closed = True
        if self._in_call.acquire(blocking=False):
            self._free()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._free()

    # -------------------------------------------------------------- checks

    def _check_reset(self, seed: Any, options: Any) -> tuple[int | None, Any]:
        self._check_open()
        if options is not None and not isinstance(options, dict):
            raise InvalidOptionError.expected("options", "a dict or None", options)
        if seed is not None:
            return check_seed(seed), options
        if self._has_started:
            return None, options
        # The stream of the session before must not go on.
        return self._sessions._rows.first_seed(self.env_id), options

    def _check_step(self, action: Any) -> Any:
        self._check_started()
        self._check_epoch(self._has_ended)
        space = self._sessions.envs.single_action_space
        # Beside integers of others numpy would make a bool one; the range is checked
        # with the batch.
        is_bool = isinstance(action, (bool, np.bool_))
        if isinstance(space, Discrete) and (
            is_bool or not hasattr(action, "__index__")
        ):
            raise InvalidActionError.expected(
                "action", f"an integer of {space}", action
            )
        return action

    def _check_started(self) -> None:
        self._check_open()
        if not self._has_started:
            message = "the session must be reset before it is stepped or rendered"
            raise ResetNeededError(message)

    def _check_epoch(self, has_ended: bool = False) -> None:
        if has_ended or self._epoch != self._sessions._rows.epoch:
            message = "the episode has ended: reset the session"
            raise ResetNeededError(message)

    def _check_open(self) -> None:
        if self._sessions._calls.is_closed:
            raise closed_error()
        if self._is_closed:
            message = "the session is closed"
            raise ClosedError(message)

    # --------------------------------------------------------------- calls

    def _run(self, operation: Operation, argument: Any) -> Any:
        call = self._begin(operation, argument)
        try:
            self._sessions._calls.run(call)
        finally:
            self._end(call)
        return call.get()

    async def _run_async(self, operation: Operation, argument: Any) -> Any:
        call = self._begin(operation, argument)
        try:
            await self._sessions._calls.run_async(call)
        finally:
            self._end(call)
        return call.get()

    def _begin(self, operation: Operation, argument: Any) -> Call:
        if not self._in_call.acquire(blocking=False):
            message = f"{operation}: another call of this session has not ended"
            raise PendingResultsError(message, operation)
        return Call(self.env_id, operation, argument, self._sessions._rows.epoch)

    def _end(self, call: Call) -> None:
        """Note what the outcome of a call means, and let the next one begin."""
        if call.is_lost:
            self._epoch = None
        elif call.has_result and call.operation == "step":
            _, _, terminated, truncated, _ = call.get()
            self._has_ended = terminated or truncated
        elif call.has_result and call.operation in ("reset", "set_state"):
            self._has_started, self._epoch, self._has_ended = True, call.epoch, False
            if call.operation == "set_state":
                self._has_ended = bool(call.argument.arrays["has_ended"][0])
        self._in_call.release()
        if self._is_closed:
            self._free()

    def _free(self) -> None:
        with suppress(IndexError):
            self._sessions._free_rows.put(self._rows_to_free.pop())
