"""The errors that end a check, exceptions written as one line, and limits of time."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TRACEBACK = "Traceback (most recent call last)"
_MAX_CHARACTERS = 240


class DoesNotApply(Exception):
    """Raised when a check makes no sense for this environment."""


class CallFailed(Exception):
    """Raised when a documented use of the environment raised.

    Parameters
    ----------
    did : str
        The call, as a user would write it.
    error : BaseException
        The error that it raised.
    """

    def __init__(self, did: str, error: BaseException) -> None:
        super().__init__(f"{did} raised {type(error).__name__}: {error}")
        self.did, self.error = did, error
        self.text = describe_error(error)


def error_of(function: Callable[..., object], *args: Any, **kwargs: Any) -> Any:
    """Call a function; return the exception that it raises, or None."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return error
    return None


def describe_error(error: BaseException) -> str:
    """Return an exception as one line, with the place that raised it."""
    message = " ".join(str(error).split())
    if len(message) > _MAX_CHARACTERS:
        message = f"{message[: _MAX_CHARACTERS - 1]}…"
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    # A call that did not even begin was raised by the checker: no place to name.
    if frames and Path(frames[-1].filename).parent != Path(__file__).parent:
        last = frames[-1]
        text += f" ({Path(last.filename).name}:{last.lineno}, in {last.name})"
    return text


# -------------------------------------------------------------------- limits of time


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
    is_free = (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
    if seconds is None or not is_free:
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
