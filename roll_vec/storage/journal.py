"""A locked file of lines, with which an interrupted program goes on.

Evaluations write such files: the first line is the plan, each other line one result. A
line counts when it has its end. So a program that is killed at any point loses no more
than the line that it was writing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from roll_vec.errors import InvalidOptionError
from roll_vec.storage.files import replace_file

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Journal:
    """A file of lines that one process writes at a time, until `close`.

    Beside it stands its lock, ``.NAME.lock``, which `close` deletes.  The lock keeps
    nobody out where the system or the file system has no locks, and a process that
    begins in the moment in which another one ends.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InvalidOptionError
        If another process has the lock.
    OSError
        As the methods.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._lock_path = path.with_name(f".{path.name}.lock")
        self._lock = self._lock_path.open("ab")
        try:
            if fcntl is not None:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            message = f"out: another process is writing to {str(path)!r}"
            raise InvalidOptionError(message) from None
        except OSError:
            pass  # a file system without locks

    def replace(self, lines: Iterable[bytes]) -> None:
        """Write the whole file.  An interrupted call leaves the old one.

        Parameters
        ----------
        lines : iterable of bytes
            Without their ends.
        """
        self._close_file()
        with replace_file(self.path) as file:
            file.writelines(line + b"\n" for line in lines)

    def add(self, line: bytes) -> None:
        """Write a line; it is in the file when this returns."""
        if self._file is None:
            self._file = self.path.open("ab")
        self._file.write(line + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Let other processes write; a second call does nothing."""
        try:
            self._close_file()
        finally:
            if not self._lock.closed:
                # In this order: nobody else has the lock yet.  Windows does not delete
                # open files; there it stays.
                with suppress(OSError):
                    self._lock_path.unlink()
                self._lock.close()

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that have their end, without it.

    Raises
    ------
    OSError
    """
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]
