"""The queue of the calls of sessions; a caller makes them, or a thread.

Without workers, the first caller that finds nobody at work leads: it makes its call and
all that wait, as a batch.  At its end the caller that waits longest leads the next
one, with all calls that have come meanwhile.  A caller leads one batch at most, so
nobody works for others for long; a call waits for the batch that runs and for the next.

Steps in workers take long, and a batch of them would end with its slowest.  There a
thread starts the calls that come and receives the results that arrive; it lives as long
as there are any.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

from roll_vec.errors import ClosedError
from roll_vec.sessions.calls import Call
from roll_vec.sessions.env_rows import EnvRows


class CallQueue:
    """The calls that wait.

    Parameters
    ----------
    rows : EnvRows
        If a batch fails as a whole, all of them must be reset.
    """

    def __init__(self, rows: EnvRows) -> None:
        self._rows = rows
        # Held for a few instructions only, never while a batch runs.
        self._mutex = threading.Lock()
        self._waiting: list[Call] = []
        # The call whose caller makes a batch, until this batch has ended.
        self._leader: Call | None = None
        # That of steps in workers, while there are any.
        self._thread: threading.Thread | None = None
        self._is_idle = threading.Event()
        self._is_idle.set()
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
            if call is not self._leader:
                call.wait()
            if not call.is_done:
                self._lead()
        except BaseException:
            self._withdraw(call)
            raise

    async def run_async(self, call: Call) -> None:
        """Run a call of a coroutine; see `run`."""
        try:
            self._submit(call)
            # Coroutines that are ready by now join the batch.
            await asyncio.sleep(0)
            if not (call.is_done or call is self._leader):
                await call.wait_async()
            if not call.is_done:
                self._lead()
        except BaseException:
            self._withdraw(call)
            raise

    def _submit(self, call: Call) -> None:
        """Let a call wait, or its caller lead; with workers a thread makes it."""
        with self._mutex:
            if self.is_closed:
                raise closed_error()
            self._waiting.append(call)
            if not self._rows.has_workers:
                if self._leader is None:
                    self._leader = call
                return
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
            is_leader = self._leader is call
        if is_leader:
            self._hand_over()

    def _lead(self) -> None:
        """Make all calls that wait, and let another caller lead."""
        self._is_idle.clear()
        try:
            self._make_calls()
        finally:
            self._hand_over()

    def _hand_over(self) -> None:
        """Choose the caller that leads next, if any waits."""
        with self._mutex:
            self._is_idle.set()
            self._leader = self._waiting[0] if self._waiting else None
            if self._leader is not None:
                self._leader.wake()

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
            calls, self._waiting = self._waiting, []
            thread = self._thread
            _fail_rest(calls, closed_error())
        self._rows.wake()
        self._is_idle.wait()
        if thread is not None:
            thread.join()
        _fail_rest(self._rows.active, closed_error())


def closed_error() -> ClosedError:
    """Return the error of calls after `Sessions.close`."""
    return ClosedError("the sessions are closed")


def _fail_rest(calls: Iterable[Call], error: BaseException) -> None:
    """Let calls fail that have no result yet."""
    for call in calls:
        if not call.is_done:
            call.fail(error)
