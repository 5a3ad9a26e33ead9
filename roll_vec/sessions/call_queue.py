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

from roll_vec.errors import ClosedError
from roll_vec.sessions.calls import Call, copy_error, wake
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
        self._batch: list[Call] = []
        # The call whose caller was chosen to make a batch, until this batch has ended.
        self._leader: Call | None = None
        self._is_idle = threading.Event()
        self._is_idle.set()
        self.is_closed = False

    # ------------------------------------------------------------- callers

    async def run(self, call: Call) -> None:
        """Let a call wait, and return when it is done.

        Raises
        ------
        ClosedError
        KeyboardInterrupt
            The call is withdrawn then, or `Call.is_lost`.
        """
        must_lead = self._submit(call)
        try:
            if not must_lead:
                await call.wait()
            elif call.loop is not None:
                # Coroutines that are ready by now join the batch.
                await asyncio.sleep(0)
            if not call.is_done:
                self._lead(call)
        except BaseException:
            self._withdraw(call)
            raise

    def _submit(self, call: Call) -> bool:
        """Let a call wait; return whether its caller leads."""
        with self._mutex:
            if self.is_closed:
                raise closed_error()
            self._waiting.append(call)
            if not self._rows.has_workers:
                if self._leader is None:
                    self._leader = call
                return self._leader is call
            needs_thread = self._is_idle.is_set()
            self._is_idle.clear()
        if needs_thread:
            name = "roll_vec-sessions"
            threading.Thread(target=self._work, name=name, daemon=True).start()
        else:
            self._rows.wake()
        return False

    def _withdraw(self, call: Call) -> None:
        """Remove a call whose caller does not wait any longer, unless it has begun."""
        with self._mutex:
            # Otherwise it was made, or it is in the batch that runs.
            call.is_lost = call not in self._waiting
            if call.is_lost:
                return
            self._waiting.remove(call)
            is_leader = self._leader is call
        if is_leader:
            self._hand_over()

    # ------------------------------------------------------------- batches

    def _lead(self, leader: Call) -> None:
        """Make the calls that wait, wake their callers, and hand over."""
        with self._mutex:
            if self._leader is not leader:
                # It was withdrawn, or all is closed.
                return
            self._is_idle.clear()
        try:
            self._make_calls(leader)
        finally:
            self._hand_over()

    def _hand_over(self) -> None:
        """Choose and wake the caller that leads next, if any waits."""
        while True:
            with self._mutex:
                self._is_idle.set()
                self._leader = self._waiting[0] if self._waiting else None
                leader = self._leader
            if leader is None or wake([leader]):
                return
            # Its event loop is closed: nobody waits for it.
            with self._mutex:
                if leader in self._waiting:
                    self._waiting.remove(leader)

    def _work(self) -> None:
        """Start calls in workers and receive results, until there are none."""
        while True:
            with self._mutex:
                if self.is_closed or not (self._waiting or self._rows.active):
                    self._is_idle.set()
                    return
            self._make_calls()

    def _select_calls(self) -> None:
        """Let the calls that can start be the next batch."""
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
            self._batch, self._waiting = calls, others

    def _make_calls(self, leader: Call | None = None) -> None:
        """Start calls, receive results, and wake the callers of those that are done.

        The caller that leads is awake.
        """
        ended_calls: list[Call] = []
        try:
            self._select_calls()
            self._rows.start(self._batch)
            # Errors, pictures and states do not wait for the steps of others.
            wake(call for call in self._batch if call.is_done and call is not leader)
            while self._rows.active:
                ended_calls += self._rows.collect()
                if leader is None:
                    break
        except BaseException as error:
            # Of all: faults of one environment are its results.
            ended_calls = [*self._batch, *self._rows.active]
            is_interrupt = leader is not None and not isinstance(error, Exception)
            if is_interrupt:
                # Ctrl-C strikes the thread of one caller; the others learn of it.
                message = "the batch of this call was interrupted"
                _fail_rest(ended_calls, RuntimeError(message))
            else:
                _fail_rest(ended_calls, error)
            self._rows.demand_reset()
            if is_interrupt:
                raise
        finally:
            wake(call for call in ended_calls if call is not leader)

    def close(self) -> None:
        """Wake all callers with a ClosedError, also of steps in workers.

        A batch that runs is ended first.  Every later call raises ClosedError.
        """
        with self._mutex:
            self.is_closed = True
            calls, self._waiting = self._waiting, []
            if self._is_idle.is_set():
                self._leader = None
            # A caller that was about to lead asks for its result after this lock.
            for call in calls:
                call.fail(closed_error())
        wake(calls)
        self._rows.wake()
        self._is_idle.wait()
        active = self._rows.active
        _fail_rest(active, closed_error())
        wake(active)


def closed_error() -> ClosedError:
    """Return the error of calls after `Sessions.close`."""
    return ClosedError("the sessions are closed")


def _fail_rest(calls: list[Call], error: BaseException) -> None:
    """Let calls fail that have no result yet."""
    for call in calls:
        if not call.is_done:
            call.fail(copy_error(error))
