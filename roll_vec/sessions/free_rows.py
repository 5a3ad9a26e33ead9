"""The free environments of sessions, for callers in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TypeAlias

Place: TypeAlias = "SimpleQueue[int | None]"
"""Gets the row of one caller that waits; None: the sessions are closed."""


class FreeRows:
    """The rows that nobody has; a row that becomes free is that of the first who waits.

    Parameters
    ----------
    num_rows : int
    """

    def __init__(self, num_rows: int) -> None:
        self._rows: SimpleQueue[int | None] = SimpleQueue()
        self._waiting: deque[Place] = deque()
        # Nobody waits for it, see `_serve`.
        self._serving = threading.Lock()
        for row in range(num_rows):
            self._rows.put(row)

    def __len__(self) -> int:
        return self._rows.qsize()

    def put(self, row: int | None) -> None:
        """Free a row, at any time: a garbage collector may do it."""
        self._rows.put(row)
        self._serve()

    @contextmanager
    def wait(self) -> Iterator[Place]:
        """Wait behind all others that wait; yield the place where the row comes.

        A row that the caller has not taken at the end is free again.
        """
        place: Place = SimpleQueue()
        try:
            self._waiting.append(place)
            self._serve()
            yield place
        finally:
            with self._serving, suppress(ValueError):
                self._waiting.remove(place)
            with suppress(Empty):
                self._rows.put(place.get_nowait())
            self._serve()

    def _serve(self) -> None:
        """Hand rows to those who wait."""
        # Another thread, or this one beneath a garbage collector, may hold the lock.
        # It looks again after it has freed it, so that nothing is missed.
        while self._waiting and len(self) and self._serving.acquire(blocking=False):
            try:
                if self._waiting and len(self):
                    self._waiting[0].put(self._rows.get_nowait())
                    self._waiting.popleft()
            finally:
                self._serving.release()
