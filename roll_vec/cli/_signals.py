"""Signals: SystemExit for those that end a process, and a delay of Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = ["CriticalSection", "ending_signals"]


@contextmanager
def ending_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise SystemExit, so that `finally` blocks run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = ("SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    handlers = {number: signal.signal(number, _exit) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _exit(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


class CriticalSection:
    """A part of the code, entered many times, within which Ctrl-C waits.

    The KeyboardInterrupt is raised when the part ends.  To enter and leave it takes
    less than a microsecond: the handler of the signal is set once, until `close`.
    Handlers other than Python's own stay.
    """

    def __init__(self) -> None:
        self._is_inside = self._is_due = False
        self._is_installed = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._is_installed:
            signal.signal(signal.SIGINT, self._handle)

    def close(self) -> None:
        """Handle Ctrl-C as before."""
        if self._is_installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, number: int, frame: object) -> None:
        del number, frame
        if not self._is_inside:
            raise KeyboardInterrupt
        self._is_due = True

    def __enter__(self) -> None:
        self._is_inside = True

    def __exit__(self, *_: object) -> None:
        self._is_inside = False
        if self._is_due:
            self._is_due = False
            raise KeyboardInterrupt
