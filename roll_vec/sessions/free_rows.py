"""The free environments of sessions, for callers in the order in which they came."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from roll_vec.sessions.calls import Waiter, wake


class RowWaiter(Waiter):
    """A caller that waits for a row.

    Attributes
    ----------
    rows : list of int or None
        The row, when there is one; None: the sessions are closed.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        super().__init__(loop)
        self.rows: list[int | None] = []
        self.has_gone = False


class FreeRows:
    """The rows that nobody has; a row that becomes free is that of the first who waits.

    There is no lock: a garbage collector may free a row beneath any method.  Each row
    is in one deque or list at a time, whose methods are atomic.

    Parameters
    ----------
    num_rows : int
    """

    def __init__(self, num_rows: int) -> None:
        self._rows: deque[int | None] = deque(range(num_rows))
        self._waiting: deque[RowWaiter] = deque()

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, row: int | None) -> None:
        """Free a row, at any time."""
        self._rows.append(row)
        self._serve()

    @contextmanager
    def wait(
        self, loop: asyncio.AbstractEventLoop | None = None
    ) -> Iterator[RowWaiter]:
        """Wait behind all others that wait; a row in ``rows`` at the end is free again.

        Parameters
        ----------
        loop : event loop or None
            See `Waiter`.
        """
        waiter = RowWaiter(loop)
        try:
            self._waiting.append(waiter)
            self._serve()
            yield waiter
        finally:
            waiter.has_gone = True
            with suppress(ValueError):
                self._waiting.remove(waiter)
            self._free_row_of(waiter)

    def _free_row_of(self, waiter: RowWaiter) -> None:
        with suppress(IndexError):
            self.put(waiter.rows.pop())

    def _serve(self) -> None:
        """Hand rows to those who wait."""
        while self._rows and self._waiting:
            try:
                row = self._rows.popleft()
            except IndexError:
                continue  # another thread has it
            try:
                waiter = self._waiting.popleft()
            except IndexError:
                self._rows.appendleft(row)
                continue
            waiter.rows.append(row)
            is_awake = wake([waiter])
            if waiter.has_gone or not is_awake:
                self._free_row_of(waiter)
