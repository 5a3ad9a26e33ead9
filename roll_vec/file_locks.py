"""A lock for a file or a folder that one process writes at a time."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from roll_vec.errors import InvalidOptionError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["WriteLock"]

_HAS_LOCKS = fcntl is not None
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class WriteLock:
    """A lock that this process has until `release`, or until it ends.

    Where the system or the file system has no locks, it keeps nobody out.

    Parameters
    ----------
    path : Path
        Of the lock's own file, which `release` deletes.
    target : Path
        What is written; for the message.

    Raises
    ------
    InvalidOptionError
        If another process has the lock.
    OSError
    """

    def __init__(self, path: Path, target: Path) -> None:
        self._path = path
        self._file = open(path, "ab", opener=_open)  # noqa: SIM115
        while not _lock(self._file, path, target):
            self._file = open(path, "ab", opener=_open)  # noqa: SIM115

    def release(self) -> None:
        """Let other processes write; a second call does nothing."""
        if self._file.closed:
            return
        if not _HAS_LOCKS:
            # Windows does not delete open files.
            self._file.close()
        with suppress(OSError):
            self._path.unlink()
        self._file.close()


def _open(path: str, flags: int) -> int:
    """Open the file of a lock; never by a link, and without waiting for a pipe."""
    return os.open(path, flags | _NO_LINKS, 0o666)


def _lock(file: IO[bytes], path: Path, target: Path) -> bool:
    """Lock an open file; close it and return False if it is no longer at its path."""
    if not _HAS_LOCKS:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        message = f"out: another process is writing to {str(target)!r}"
        raise InvalidOptionError(message) from None
    except OSError:
        return True  # a file system without locks
    # The last owner may have deleted it since it was opened: then it keeps nobody out.
    with suppress(OSError):
        if os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return True
    file.close()
    return False
