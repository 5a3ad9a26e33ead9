"""Interruptions of programs that write files: at any access to a file, or any step."""

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


class Interruption(BaseException):
    """Something that ends a process."""


class Countdown:
    """Raises `Interruption` after some steps.

    An access to a file in the folder is a step, and so is a call of this object.  Where
    it stays dead, every later step raises, too, as after ``kill -9``; else one does, as
    with Ctrl-C.
    """

    def __init__(self, folder: Path, steps: int, *, stays_dead: bool) -> None:
        self.folder, self.steps, self.stays_dead = str(folder), steps, stays_dead

    def __call__(self, *_: Any) -> None:
        self.steps -= 1
        if self.steps < 0 and (self.stays_dead or self.steps == -1):
            raise Interruption


_current: list[Countdown] = []


@functools.cache
def _add_hook() -> None:
    """Count accesses; Python has no way to remove a hook, which now may do nothing."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _current and event in _EVENTS:
            path = arguments[0]
            if not isinstance(path, int) and str(path).startswith(_current[0].folder):
                _current[0]()

    sys.addaudithook(hook)


@contextmanager
def interrupt(countdown: Countdown) -> Iterator[None]:
    """Count the accesses to files of this block."""
    _add_hook()
    _current[:] = [countdown]
    try:
        yield
    finally:
        _current.clear()
