"""The calls of sessions, and their queue; a caller makes them, or a thread.

Without workers, a caller that gets the lock makes all calls that wait, as a batch.  A
caller whose call was made by another one finds its result when it gets the lock.  So
nobody works for others for long; a call waits for the batch that runs and for the next.

Steps in workers take long, and a batch of them would end with its slowest.  There a
thread starts the calls that come and receives the results that arrive; it lives as long
as there are any.
"""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from roll_vec.errors import ClosedError

if TYPE_CHECKING:
    from roll_vec.sessions.env_rows import EnvRows

Operation: TypeAlias = Literal["reset", "step", "render", "get_state", "set_state"]


class Call:
    """A reset, a step, or something else that one session has asked for.

    Parameters
    ----------
    row : int
        The environment of the batch.
    operation : str
    argument
        The action of a step; the seed and the options of a reset; a state.
    epoch : int
        How often all environments had to be reset before this call.

    Attributes
    ----------
    future : Future or None
        The caller waits for it, if a thread makes the call.
    is_done : bool
        Whether there is a result or an error.
    is_lost : bool
        Whether the caller stopped to wait after it had begun: its result is unknown.
    """

    def __init__(
        self, row: int, operation: Operation, argument: Any, epoch: int
    ) -> None:
        self.row, self.operation, self.argument = row, operation, argument
        self.epoch = epoch
        self.future: Future[None] | None = None
        self._result: Any = None
        self._error: BaseException | None = None
        self.is_done = self.is_lost = False

    @property
    def is_alone(self) -> bool:
        """Whether nothing else may be active while it is made."""
        return self.operation not in ("reset", "step")

    @property
    def has_result(self) -> bool:  # noqa: D102
        return self.is_done and self._error is None

    def end(self, result: Any, error: BaseException | None = None) -> None:
        """Set the result, in the form of the single environment, or the error."""
        self._result, self._error, self.is_done = result, error, True
        if self.future is not None:
            self.future.set_result(None)

    def fail(self, error: BaseException) -> None:
        """Set a copy of an error, with its separate traceback; others may have it."""
        with suppress(Exception):
            error = copy.copy(error)
        self.end(None, error)

    def get(self) -> Any:
        """Return the result, or raise the error."""
        if self._error is not None:
            raise self._error
        return self._result


class CallQueue:
    """The calls that wait.

    Parameters
    ----------
    rows : EnvRows
        If a batch fails as a whole, all of them must be reset.
    """

    def __init__(self, rows: EnvRows) -> None:
        self._rows = rows
        # Held while a batch runs.
        self._lock = threading.Lock()
        # Held for a few instructions only, never while a batch runs.
        self._mutex = threading.Lock()
        self._waiting: list[Call] = []
        # That of steps in workers, while there are any.
        self._thread: threading.Thread | None = None
        self.is_closed = False

    def run(self, call: Call) -> None:
        """Let a call wait, and return when it is done.

        Raises
        ------
        ClosedError
        KeyboardInterrupt
            The call is withdrawn then, or `Call.is_lost`.
        """
        try:
            self._submit(call)
            if call.future is None:
                self._make(call)
            else:
                call.future.result()
        except BaseException:
            self._withdraw(call)
            raise

    async def run_async(self, call: Call) -> None:
        """Run a call of a coroutine; see `run`."""
        try:
            self._submit(call)
            if call.future is None:
                # Coroutines that are ready by now join the batch.
                await asyncio.sleep(0)
                self._make(call)
            else:
                await asyncio.wrap_future(call.future)
        except BaseException:
            self._withdraw(call)
            raise

    def _submit(self, call: Call) -> None:
        """Let a call wait; see that a thread makes it, if there are workers."""
        with self._mutex:
            if self.is_closed:
                raise closed_error()
            self._waiting.append(call)
            if not self._rows.has_workers:
                return
            call.future = Future()
            # A coroutine that is cancelled does not cancel it.
            call.future.set_running_or_notify_cancel()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="roll_vec-sessions", daemon=True
                )
                self._thread.start()
        self._rows.wake()

    def _withdraw(self, call: Call) -> None:
        """Remove a call whose caller does not wait any longer, unless it has begun."""
        with self._mutex:
            # Otherwise it was made, or it is in the batch that runs.
            call.is_lost = call not in self._waiting
            if not call.is_lost:
                self._waiting.remove(call)

    def _make(self, call: Call) -> None:
        """Make all calls that wait, unless another caller has made this one."""
        with self._lock:
            if self.is_closed and not call.is_done:
                raise closed_error()
            if not call.is_done:
                self._make_calls()

    def _work(self) -> None:
        """Start calls in workers and receive results, until there are none."""
        while True:
            with self._mutex:
                if self.is_closed or not (self._waiting or self._rows.active):
                    self._thread = None
                    return
            self._make_calls()

    def _select_calls(self) -> list[Call]:
        """Remove the calls that can start, and return them."""
        calls: list[Call] = []
        others: list[Call] = []
        is_blocked = False
        with self._mutex:
            for call in self._waiting:
                if is_blocked or not self._rows.can_start(call):
                    others.append(call)
                    # Later calls let it run when nothing is active any longer.
                    is_blocked = is_blocked or call.is_alone
                else:
                    calls.append(call)
            self._waiting = others
        return calls

    def _make_calls(self) -> None:
        """Start calls and receive results: of all, or of workers those that arrive."""
        has_workers, calls = self._rows.has_workers, []
        try:
            calls = self._select_calls()
            self._rows.start(calls)
            while self._rows.active:
                self._rows.collect()
                if has_workers:
                    break
        except BaseException as error:
            # Of all: faults of one environment are its results.
            calls += self._rows.active
            self._rows.demand_reset()
            if has_workers or isinstance(error, Exception):
                _fail_rest(calls, error)
                return
            # Ctrl-C strikes the thread of one caller; the others learn of it.
            _fail_rest(calls, RuntimeError("the batch of this call was interrupted"))
            raise

    def close(self) -> None:
        """Let all callers that wait raise a ClosedError, also of steps in workers.

        A batch that runs is ended first.  Every later call raises ClosedError.
        """
        with self._mutex:
            self.is_closed = True
            thread = self._thread
        self._rows.wake()
        if thread is not None:
            thread.join()
            _fail_rest([*self._waiting, *self._rows.active], closed_error())
        with self._lock:
            pass


def closed_error() -> ClosedError:
    """Return the error of calls after `Sessions.close`."""
    return ClosedError("the sessions are closed")


def _fail_rest(calls: Iterable[Call], error: BaseException) -> None:
    """Let calls fail that have no result yet."""
    for call in calls:
        if not call.is_done:
            call.fail(error)
