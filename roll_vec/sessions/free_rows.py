"""The free environments of sessions, for callers in the order in which they came."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress


class FreeRows:
    """The rows that nobody has; a row that becomes free is that of the first who waits.

    There is no lock: a garbage collector may free a row beneath any method.  Each row
    is in one deque or future at a time, whose methods are atomic.

    Parameters
    ----------
    num_rows : int
    """

    def __init__(self, num_rows: int) -> None:
        self._rows: deque[int | None] = deque(range(num_rows))
        self._waiting: deque[Future[int | None]] = deque()

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, row: int | None) -> None:
        """Free a row, at any time; None: there are no rows any longer."""
        self._rows.append(row)
        self._serve()

    def _serve(self) -> None:
        """Hand rows to those who wait."""
        while self._rows and self._waiting:
            try:
                row = self._rows.popleft()
            except IndexError:
                continue  # another thread has it
            try:
                future = self._waiting.popleft()
            except IndexError:
                self._rows.appendleft(row)
                continue
            if future.set_running_or_notify_cancel():
                future.set_result(row)
            else:
                self._rows.appendleft(row)

    @contextmanager
    def request(self) -> Iterator[Future[int | None]]:
        """Wait behind all others that wait; after an exception the row is free again.

        Yields
        ------
        Future
            Of the row.
        """
        future: Future[int | None] = Future()
        try:
            self._waiting.append(future)
            self._serve()
            yield future
        except BaseException:
            with suppress(ValueError):
                self._waiting.remove(future)
            if not future.cancel():
                self.put(future.result())
            raise
