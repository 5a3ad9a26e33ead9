"""Micro-batches: one caller runs the calls of all that wait, then hands over.

The first caller that finds nobody at work leads: it runs its own call and all that
wait.  At the end of this batch the caller that waits longest leads the next one, with
all calls that have come meanwhile.  A caller leads one batch at most, so nobody works
for others for long; a call waits for the batch that runs and for its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from roll_vec.errors import ClosedError
from roll_vec.sessions.calls import (
    Call,
    TaskCall,
    ThreadCall,
    copy_error,
    finish_calls,
)

__all__ = ["MicroBatches"]


class MicroBatches:
    """The calls that wait, and the caller that runs them.

    Parameters
    ----------
    run : callable
        Gets a batch of calls of different environments, and sets the result or the
        error of each.  If it raises, the calls that have neither get this error.
    """

    def __init__(self, run: Callable[[Sequence[Call]], None]) -> None:
        self._run = run
        # Held for a few instructions only, never while a batch runs.
        self._mutex = threading.Lock()
        self._waiting: list[Call] = []
        # The call whose caller was chosen to run a batch, until this batch has ended.
        self._leader: Call | None = None
        self._is_idle = threading.Event()
        self._is_idle.set()
        self.is_closed = False

    # ------------------------------------------------------------- callers

    def run_thread_call(self, call: ThreadCall) -> None:
        """Let a call wait, and return when it is done.

        Raises
        ------
        ClosedError
        KeyboardInterrupt
            The call is withdrawn then; see `Call.is_withdrawn`.
        """
        must_lead = self._submit(call)
        try:
            if not must_lead:
                call.wait()
            if not call.is_done:
                self._run_batch(call)
        except BaseException:
            self._withdraw(call)
            raise

    async def run_task_call(self, call: TaskCall) -> None:
        """Let a call of a coroutine wait, and return when it is done.

        Raises
        ------
        ClosedError
        asyncio.CancelledError
            The call is withdrawn then.
        """
        if self._submit(call):
            # Not at once: coroutines that are ready by now join the batch.
            call.loop.call_soon(self._run_batch, call)
        try:
            await call.future
        except BaseException:
            self._withdraw(call)
            raise

    def _submit(self, call: Call) -> bool:
        """Let a call wait; return whether its caller leads."""
        call.lead = self._run_batch
        with self._mutex:
            if self.is_closed:
                raise closed_error()
            self._waiting.append(call)
            if self._leader is None:
                self._leader = call
            return self._leader is call

    def _withdraw(self, call: Call) -> None:
        """Take back a call whose caller has stopped to wait for it."""
        with self._mutex:
            if call not in self._waiting:
                # It was made, or it is in the batch that runs.
                return
            self._waiting.remove(call)
            call.is_withdrawn = True
            is_leader = self._leader is call
        if is_leader:
            self._hand_over()

    # ------------------------------------------------------------- batches

    def _run_batch(self, leader: Call) -> None:
        """Run the calls that wait, wake their callers, and hand over."""
        with self._mutex:
            if self._leader is not leader:
                # It was withdrawn, or all is closed.
                return
            calls, self._waiting = self._waiting, []
            self._is_idle.clear()
        try:
            self._run(calls)
        except Exception as error:
            _fail_rest(calls, error)
        except BaseException:
            # Ctrl-C strikes the thread of one caller; the others learn of it.
            _fail_rest(calls, RuntimeError("the batch of this call was interrupted"))
            raise
        finally:
            finish_calls(calls, leader)
            self._hand_over()

    def _hand_over(self) -> None:
        """Choose and wake the caller that leads next, if any waits."""
        while True:
            with self._mutex:
                self._is_idle.set()
                self._leader = self._waiting[0] if self._waiting else None
                leader = self._leader
            if leader is None or leader.wake():
                return
            # Its event loop is closed: nobody waits for it.
            with self._mutex:
                if leader in self._waiting:
                    self._waiting.remove(leader)

    def close(self) -> None:
        """Wake all callers that wait with a ClosedError; wait for the batch that runs.

        Every later call raises ClosedError.
        """
        with self._mutex:
            self.is_closed = True
            calls, self._waiting = self._waiting, []
            if self._is_idle.is_set():
                self._leader = None
            # A caller that was about to lead asks for its result after this lock.
            for call in calls:
                call.fail(closed_error())
        finish_calls(calls)
        self._is_idle.wait()


def closed_error() -> ClosedError:
    """Return the error of calls after `Sessions.close`."""
    return ClosedError("the sessions are closed")


def _fail_rest(calls: Sequence[Call], error: BaseException) -> None:
    """Let the calls of a batch fail that have no result yet."""
    for call in calls:
        if not call.is_done:
            call.fail(copy_error(error))
