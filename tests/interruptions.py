"""Interruptions of programs that write files: at any access to a file, or any step."""

import functools
import random
import sys
from collections.abc import Callable, Iterator
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


def goes_on_to_the_same_bytes(
    folder: Path,
    run: Callable[[str, Countdown], Any],
    seed: int,
    damage: Callable[[random.Random], None],
) -> None:
    """Interrupt a program anywhere, again and again, until its file is complete.

    Parameters
    ----------
    folder : Path
    run : callable
        From the name of a file in the folder, and what it has to call at each step.
    seed : int
        Of the interruptions.
    damage : callable
        Called after each interruption, to do what a power failure does.
    """
    rng = random.Random(seed)
    counter = Countdown(folder, 10**6, stays_dead=False)
    with interrupt(counter):
        run("whole", counter)
    num_steps, is_complete = 10**6 - counter.steps, False
    while not is_complete:
        steps = rng.randrange(2 * num_steps)
        countdown = Countdown(folder, steps, stays_dead=rng.random() < 0.5)
        try:
            with interrupt(countdown):
                run("parts", countdown)
            is_complete = True
        except Interruption:
            damage(rng)
    assert bytes_of(folder / "parts") == bytes_of(folder / "whole")
    assert sorted(path.name for path in folder.iterdir()) == ["parts", "whole"]


def bytes_of(path: Path) -> bytes | dict[str, bytes]:
    """Return the content of a file, or of the files of a folder by name."""
    if path.is_file():
        return path.read_bytes()
    return {each.name: each.read_bytes() for each in path.iterdir()}
