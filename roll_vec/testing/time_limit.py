"""A limit on how long a call may take, where the system offers one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TimeLimitExceeded(BaseException):
    """Raised in the middle of a call that took too long.

    Not an Exception: an environment that catches those must not swallow it.
    """


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeLimitExceeded in the body when it takes longer than `seconds`.

    It is a POSIX interval timer: it interrupts Python code and blocking system calls,
    not a compiled loop.  Without such a timer, outside the main thread, or while
    someone else's timer runs, there is no limit.
    """
    if seconds is None or not _timer_is_free():
        yield
        return

    def expire(*_: object) -> None:
        raise TimeLimitExceeded

    previous = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _timer_is_free() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
