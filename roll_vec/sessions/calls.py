"""The callers of sessions, who wait, and the calls that they wait for."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Any, Literal, TypeAlias, TypeVar

Result = TypeVar("Result")
Operation: TypeAlias = Literal["reset", "step", "render", "get_state", "set_state"]


class Waiter:
    """A caller that waits: a thread, or a coroutine.

    Parameters
    ----------
    loop : event loop or None
        That of the coroutine; None: it is a thread.

    Attributes
    ----------
    future : asyncio.Future
        A coroutine waits for it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.loop = loop
        if loop is None:
            # A bare lock: an Event takes five times as long.
            self._lock = threading.Lock()
            self._lock.acquire()
        else:
            self.future: asyncio.Future[None] = loop.create_future()

    async def wait(self, timeout: float | None = None) -> None:
        """Wait for `wake`, for so many seconds at most; a thread is blocked."""
        if self.loop is None:
            seconds = -1.0 if timeout is None else min(timeout, threading.TIMEOUT_MAX)
            self._lock.acquire(timeout=seconds)
        elif timeout is None:
            await self.future
        else:
            await asyncio.wait([self.future], timeout=timeout)

    def release(self) -> None:
        """Let the caller go on; for a coroutine its event loop calls this."""
        if self.loop is None:
            # Already released: `close` wakes callers that were chosen to lead.
            with suppress(RuntimeError):
                self._lock.release()
        elif not self.future.done():
            self.future.set_result(None)


def wake(waiters: Iterable[Waiter]) -> bool:
    """Wake threads and coroutines, each event loop once.

    Returns
    -------
    bool
        False if an event loop is closed: nobody waits there.
    """
    by_loop: dict[asyncio.AbstractEventLoop, list[Waiter]] = {}
    for waiter in waiters:
        if waiter.loop is None:
            waiter.release()
        else:
            by_loop.setdefault(waiter.loop, []).append(waiter)
    are_open = True
    for loop, of_loop in by_loop.items():
        try:
            loop.call_soon_threadsafe(_release_all, of_loop)
        except RuntimeError:
            are_open = False
    return are_open


def _release_all(waiters: list[Waiter]) -> None:
    for waiter in waiters:
        waiter.release()


def run_in_thread(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine whose waits block the thread.

    So threads and coroutines run the same code.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    message = "the coroutine of a thread waits for an event loop"
    raise RuntimeError(message)


class Call(Waiter):
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
    loop : event loop or None
        See `Waiter`.

    Attributes
    ----------
    is_done : bool
        Whether there is a result or an error.
    has_result : bool
    is_lost : bool
        Whether the caller stopped to wait after it had begun: its result is unknown.
    """

    def __init__(
        self,
        row: int,
        operation: Operation,
        argument: Any,
        epoch: int = 0,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(loop)
        self.row, self.operation, self.argument = row, operation, argument
        self.epoch = epoch
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


def copy_error(error: BaseException) -> BaseException:
    """Return an error for one of several callers, with its separate traceback."""
    try:
        return copy.copy(error)
    except Exception:
        return error
