"""Reports of long calls to a listener.

A call that draws a million levels takes half a minute.  It reports how far it is to the
function that the calling thread has set with `listen`, and to nobody otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

__all__ = ["Listener", "listen", "report"]

Listener: TypeAlias = Callable[[str, int, int], None]
"""Called with the unit, the number done and the total."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listen(listener: Listener | None) -> Iterator[None]:
    """Call a function about the progress of long calls in this block.

    Parameters
    ----------
    listener : callable or None
        For example ``listener("rooms", 2048, 1_000_000)``.  It is called from the
        thread that makes the long call, some ten times a second.  None: nobody.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(unit: str, done: int, total: int) -> None:
    """Tell the listener of this thread, if there is one, how far a long call is."""
    listener = _listener.get()
    if listener is not None:
        listener(unit, done, total)
