"""Interruptions of programs that write files: at any access to a file, or any step."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


class Interruption(BaseException):
    """Something that ends a process."""


class Countdown:
    """Raises `Interruption` at one of the next steps.

    Parameters
    ----------
    folder : Path
        An access to a file in it is a step, and so is a call of this object.
    steps : int
        How many steps are made before.
    stays_dead : bool
        True: every later step raises it, too, as after ``kill -9``; False: once, as
        Ctrl-C does.
    """

    def __init__(self, folder: Path, steps: int, *, stays_dead: bool) -> None:
        self.folder, self.steps, self.stays_dead = str(folder), steps, stays_dead

    def __call__(self, *_: Any) -> None:
        self.steps -= 1
        if self.steps < 0 and (self.stays_dead or self.steps == -1):
            raise Interruption


_current: list[Countdown] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _current and event in _EVENTS:
        path = arguments[0]
        if not isinstance(path, int) and str(path).startswith(_current[0].folder):
            _current[0]()


@contextmanager
def interrupt(countdown: Countdown) -> Iterator[None]:
    """Count the accesses to files of this block."""
    if not _HOOKED:
        # Python has no way to remove a hook: without a countdown it does nothing.
        sys.addaudithook(_hook)
        _HOOKED.append(True)
    _current[:] = [countdown]
    try:
        yield
    finally:
        _current.clear()


_HOOKED: list[bool] = []
