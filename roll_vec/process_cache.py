"""Things that are made once in a process, however many environments ask for them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["ProcessCache"]

T = TypeVar("T")


class ProcessCache(Generic[T]):
    """What was made, by key, for as long as somebody uses it.

    The one that was asked for last is kept without a user, so that a batch made after
    another was closed need not wait again.  A thread that asks for what another one is
    making waits for it.
    """

    def __init__(self) -> None:
        self._made: weakref.WeakValueDictionary[Hashable, T] = (
            weakref.WeakValueDictionary()
        )
        self._last: T | None = None
        self._renew_lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        """In a forked child nobody is left who would release the lock."""
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what a key stands for; what `make` raises is raised."""
        with self._lock:
            found = self._made.get(key)
            if found is None:
                found = make()
                self._made[key] = found
            self._last = found
            return found
