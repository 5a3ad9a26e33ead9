"""One call of a session: its arguments, its result, and its caller, who waits."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Literal, TypeAlias

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
    loop : event loop or None
        That of the caller, a coroutine; None: it is a thread, which waits.

    Attributes
    ----------
    is_done : bool
        Whether there is a result or an error.
    has_result : bool
    is_withdrawn : bool
        Whether it was taken back before it began.
    epoch : int
        How often all environments had to be reset before this call.
    lead : callable
        Runs the next batch; gets this call.
    """

    lead: Callable[[Call], None]
    epoch = 0

    def __init__(
        self,
        row: int,
        operation: Operation,
        argument: Any = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.row, self.operation, self.argument = row, operation, argument
        self.loop = loop
        self._result: Any = None
        self._error: BaseException | None = None
        self.is_done = self.is_withdrawn = False
        if loop is None:
            # A bare lock: an Event takes five times as long.
            self._lock = threading.Lock()
            self._lock.acquire()
        else:
            self.future: asyncio.Future[None] = loop.create_future()

    @property
    def is_alone(self) -> bool:
        """Whether nothing else may be active while it is made."""
        return self.operation not in ("reset", "step")

    @property
    def has_result(self) -> bool:  # noqa: D102
        return self.is_done and self._error is None

    def succeed(self, result: Any) -> None:
        """Set the result, in the form of the single environment."""
        self._result, self.is_done = result, True

    def fail(self, error: BaseException) -> None:
        """Set the error that is raised in place of a result."""
        self._error, self.is_done = error, True

    def get(self) -> Any:
        """Return the result, or raise the error."""
        if self._error is not None:
            raise self._error
        return self._result

    def wait(self) -> None:
        """Let a thread wait for `wake`."""
        self._lock.acquire()

    def wake(self) -> bool:
        """Wake the caller, who leads the next batch unless the call is done.

        Returns
        -------
        bool
            False if nobody can be woken.
        """
        if self.loop is not None:
            if self.is_done:
                return call_in_loop(self.loop, _resolve, [self])
            return call_in_loop(self.loop, self.lead, self)
        # Already released: `close` wakes callers that were chosen to lead.
        with suppress(RuntimeError):
            self._lock.release()
        return True


def finish_calls(calls: Iterable[Call], leader: Call | None = None) -> None:
    """Wake the callers of calls that are done; each event loop once.

    A thread that leads is awake.
    """
    by_loop: dict[asyncio.AbstractEventLoop, list[Call]] = {}
    for call in calls:
        if call.loop is not None:
            by_loop.setdefault(call.loop, []).append(call)
        elif call is not leader:
            call.wake()
    for loop, of_loop in by_loop.items():
        # A loop that is closed has nobody who waits.
        call_in_loop(loop, _resolve, of_loop)


def call_in_loop(
    loop: asyncio.AbstractEventLoop, function: Callable[[Any], None], argument: Any
) -> bool:
    """Let an event loop call a function soon; return False if it is closed."""
    try:
        loop.call_soon_threadsafe(function, argument)
    except RuntimeError:
        return False
    return True


def _resolve(calls: list[Call]) -> None:
    """Let coroutines go on; called in their event loop."""
    for call in calls:
        if not call.future.done():
            call.future.set_result(None)


def copy_error(error: BaseException) -> BaseException:
    """Return an error for one of several callers, with a traceback of its own."""
    try:
        return copy.copy(error)
    except Exception:
        return error
