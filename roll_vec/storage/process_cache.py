"""A cache of objects that are built once per process, however many users they have."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class ProcessCache(Generic[T]):
    """Objects by key, for as long as somebody uses them.

    The object of the last call stays without a user: a batch that is made after another
    was closed does not wait again.  While one thread builds an object, others that need
    it wait.
    """

    def __init__(self) -> None:
        self._objects: weakref.WeakValueDictionary[Hashable, T] = (
            weakref.WeakValueDictionary()
        )
        self._last: T | None = None
        self._renew_lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        """Make a new lock: in a forked child nobody would release the old one."""
        self._lock = threading.Lock()

    def get(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return the object of a key, or build it; errors of ``build`` are raised."""
        with self._lock:
            value = self._objects.get(key)
            if value is None:
                value = build()
                self._objects[key] = value
            self._last = value
            return value
