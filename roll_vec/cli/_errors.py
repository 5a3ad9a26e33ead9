"""Error messages and exit codes; files that commands write.

Files are checked early and replaced whole, also at signals.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn

from roll_vec.errors import RollVecError, one_line
from roll_vec.storage.files import find_kind, find_target, replace_file

# Exit codes.
FAILURE = 1
USER_ERROR = 2
INTERRUPTED = 130


class UsageError(RollVecError):
    """Raised when an argument cannot be used; the message is for the user."""


def argument_error(argument: str, text: str) -> UsageError:
    """Return the error ``argument NAME: text``."""
    return UsageError(f"argument {argument}: {text}")


def as_argument(error: RollVecError, arguments: Mapping[str, str]) -> UsageError:
    """Return an error ``keyword: text`` as one about the keyword's argument."""
    keyword, _, text = one_line(error).partition(": ")
    if keyword not in arguments:
        return UsageError(one_line(error))
    return argument_error(arguments[keyword], text)


def say_error(message: str) -> None:
    """Write one line on stderr, after the program's name."""
    sys.stderr.write(f"roll-vec: {message}\n")


def say_all_faults(count: int, first: str) -> int:
    """Say that faults ended all episodes, and return the exit code."""
    say_error(
        f"error: all {count:,} episodes ended by faults, the first by this: "
        f"{one_line(first)}"
    )
    return FAILURE


# ------------------------------------------------------------------- files to write


def check_target(argument: str, path: Path | None) -> None:
    """Raise UsageError if a file certainly cannot be written."""
    if path is None:
        return
    with file_errors(argument, path):
        kind, target = find_kind(path), find_target(path)
    folder = target.parent
    if kind is not None:
        reason = f"it is {kind}"
    elif not folder.is_dir():
        reason = f"there is no directory {str(folder)!r}"
    elif not os.access(target if target.exists() else folder, os.W_OK):
        reason = "no permission"
    else:
        return
    raise argument_error(argument, f"cannot write {str(path)!r}: {reason}")


@contextmanager
def file_errors(argument: str, path: Path, verb: str = "write") -> Iterator[None]:
    """Turn an OSError of the body into a UsageError that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or one_line(error)
        text = f"cannot {verb} {str(path)!r}: {reason}"
        raise argument_error(argument, text) from error


@contextmanager
def new_file(argument: str, path: Path) -> Iterator[BinaryIO]:
    """Open a file to write; it gets its name when the body ends without an error.

    After an error, Ctrl-C or a signal that ends the process, the old file is as it was,
    and nothing else is left.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    with file_errors(argument, path), ending_signals(), replace_file(path) as file:
        yield file


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
