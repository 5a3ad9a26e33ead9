"""Calls of a pool with workers: each starts as it comes, and ends when it is done.

Steps in workers take long.  A batch of them would end with its slowest step, so that
there are no batches here.  A thread starts the calls that come and takes the results
that arrive; it lives as long as there are any.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from roll_vec.sessions.calls import (
    Call,
    TaskCall,
    ThreadCall,
    copy_error,
    finish_calls,
)
from roll_vec.sessions.env_rows import EnvRows
from roll_vec.sessions.micro_batches import closed_error

__all__ = ["WorkerCalls"]


class WorkerCalls:
    """The calls of a pool with workers; the interface of `MicroBatches`.

    Parameters
    ----------
    rows : EnvRows
    demand_reset : callable
        Called if the pool fails as a whole: all environments must be reset.
    """

    def __init__(self, rows: EnvRows, demand_reset: Callable[[], None]) -> None:
        self._rows, self._demand_reset = rows, demand_reset
        self._mutex = threading.Lock()
        self._waiting: list[Call] = []
        self._is_idle = threading.Event()
        self._is_idle.set()
        self.is_closed = False

    # ------------------------------------------------------------- callers

    def run_thread_call(self, call: ThreadCall) -> None:
        """Start a call, and return when it is done; see `MicroBatches`."""
        self._submit(call)
        try:
            call.wait()
        except BaseException:
            self._withdraw(call)
            raise

    async def run_task_call(self, call: TaskCall) -> None:
        """Start a call of a coroutine, and return when it is done."""
        self._submit(call)
        try:
            await call.future
        except BaseException:
            self._withdraw(call)
            raise

    def _submit(self, call: Call) -> None:
        with self._mutex:
            if self.is_closed:
                raise closed_error()
            self._waiting.append(call)
            needs_thread = self._is_idle.is_set()
            self._is_idle.clear()
        if not needs_thread:
            self._rows.wake()
            return
        name = "roll_vec-sessions"
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _withdraw(self, call: Call) -> None:
        """Take back a call whose caller has stopped to wait for it."""
        with self._mutex:
            if call in self._waiting:
                self._waiting.remove(call)
                call.is_withdrawn = True

    # -------------------------------------------------------------- thread

    def _work(self) -> None:
        """Start calls and take results, until there are none."""
        while True:
            calls = self._take_calls()
            if calls is None:
                return
            try:
                self._rows.start(calls)
                # Errors and pictures do not wait for the steps of others.
                finish_calls(call for call in calls if call.is_done)
                ended_calls = self._rows.collect() if self._rows.active else []
            except BaseException as error:
                # Of the pool as a whole: faults of one environment are its results.
                ended_calls = [*calls, *self._rows.active]
                for call in ended_calls:
                    if not call.is_done:
                        call.fail(copy_error(error))
                self._demand_reset()
            finish_calls(ended_calls)

    def _take_calls(self) -> list[Call] | None:
        """Return the calls that can start; None if there is nothing to do."""
        with self._mutex:
            if self.is_closed or not (self._waiting or self._rows.active):
                self._is_idle.set()
                return None
            calls: list[Call] = []
            others: list[Call] = []
            is_blocked = False
            for call in self._waiting:
                if call.operation == "render":
                    # The pool renders when nothing is active; later calls let it.
                    is_blocked = is_blocked or bool(calls or self._rows.active)
                if is_blocked or not self._rows.can_start(call):
                    others.append(call)
                else:
                    calls.append(call)
                    is_blocked = call.operation == "render"
            self._waiting = others
        return calls

    def close(self) -> None:
        """Wake all callers with a ClosedError, also those whose steps have begun."""
        with self._mutex:
            self.is_closed = True
            calls, self._waiting = self._waiting, []
        self._rows.wake()
        self._is_idle.wait()
        calls += self._rows.active
        for call in calls:
            call.fail(closed_error())
        finish_calls(calls)
