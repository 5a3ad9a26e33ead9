"""Signals: SystemExit for those that end a process, and a delay of Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = ["ending_signals", "hold_interrupts"]


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


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Raise the KeyboardInterrupt of a Ctrl-C in the body after it, and not within.

    It takes about a microsecond.  Other handlers than Python's own are left alone.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signals: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signals:
        raise KeyboardInterrupt
