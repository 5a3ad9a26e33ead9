"""Progress reports of long calls, to a listener.

Generating a million levels takes half a minute.  Such a call reports its progress to
the function that its thread has set with `listen`, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

__all__ = ["listen"]

Listener: TypeAlias = Callable[[str, int, int], None]
"""Gets the unit, the count so far and the total."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listen(listener: Listener | None) -> Iterator[None]:
    """Report the progress of long calls in this block to a function.

    Parameters
    ----------
    listener : callable or None
        Called as ``listener("rooms", 2048, 1_000_000)``, by the thread of the long
        call, about ten times a second.  None: no reports.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(unit: str, count: int, total: int) -> None:
    """Report the progress of a long call to the listener of this thread, if any."""
    listener = _listener.get()
    if listener is not None:
        listener(unit, count, total)
