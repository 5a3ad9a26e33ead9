"""A call of a session, for which its caller waits."""

from __future__ import annotations

import asyncio
import copy
import threading
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
    epoch : int
        How often all environments had to be reset before this call.

    Attributes
    ----------
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
        # A bare lock: an Event takes five times as long.
        self._is_asleep = threading.Lock()
        self._is_asleep.acquire()
        # Of a coroutine that waits.
        self._future: asyncio.Future[None] | None = None
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
        self.wake()

    def fail(self, error: BaseException) -> None:
        """Set a copy of an error, with its separate traceback; others may have it."""
        with suppress(Exception):
            error = copy.copy(error)
        self.end(None, error)

    def wait(self) -> None:
        """Wait for `wake`."""
        self._is_asleep.acquire()

    async def wait_async(self) -> None:
        """Wait for `wake`, in a coroutine."""
        self._future = asyncio.get_running_loop().create_future()
        # In this order: `wake` looks for the future when it has released the lock.
        if self._is_asleep.locked():
            await self._future

    def wake(self) -> None:
        """Let the caller go on, because the call is done, or so that it leads."""
        if self._is_asleep.locked():
            self._is_asleep.release()
        future = self._future
        if future is not None:
            # An event loop that is closed raises: nobody waits there.
            with suppress(RuntimeError):
                future.get_loop().call_soon_threadsafe(_finish, future)

    def get(self) -> Any:
        """Return the result, or raise the error."""
        if self._error is not None:
            raise self._error
        return self._result


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
