"""Files: written whole or not at all, by one process, and never a device or a pipe.

Renaming a file over a device, a pipe or a link would replace that itself.  Reading a
device or a pipe may never end.
"""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from roll_vec.errors import InvalidFileError, InvalidOptionError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_HAS_LOCKS = fcntl is not None
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def find_kind(path: str | os.PathLike[str]) -> str | None:
    """Return what is at a path, such as "a pipe"; None: a regular file, or nothing.

    Raises
    ------
    OSError
        It cannot be found out.
    """
    try:
        return _KINDS.get(stat.S_IFMT(Path(path).stat().st_mode))
    except FileNotFoundError:
        return None


def check_regular(path: str | os.PathLike[str], use: str = "read") -> None:
    """Check that a path is that of a regular file, or of nothing.

    Parameters
    ----------
    path : str or PathLike
    use : str
        "read" or "written", for the message.

    Raises
    ------
    InvalidFileError
    OSError
    """
    kind = find_kind(path)
    if kind is not None:
        message = f"{os.fspath(path)!r} cannot be {use}: it is {kind}, expected a file"
        raise InvalidFileError(message)


def find_target(path: str | os.PathLike[str]) -> Path:
    """Return the path itself, or where its symbolic link leads to."""
    path = Path(path)
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def keep_mode(old: Path, new: Path) -> None:
    """Give a new file or folder the permissions of the one that it replaces, if any."""
    # Some network file systems have no permissions.
    with suppress(OSError):
        shutil.copymode(old, new)


@contextmanager
def replace_file(
    path: str | os.PathLike[str], partial: Path | None = None
) -> Iterator[BinaryIO]:
    """Open a new file, which replaces the old one when the body ends without an error.

    Otherwise the old file is as it was, and nothing else is left.  Permissions are
    kept.  A symbolic link stays, and the file that it leads to is replaced.

    Parameters
    ----------
    path : str or PathLike
    partial : Path, optional
        Where the new file stands until it is complete, in the same folder.  None: a new
        name, so that threads and processes do not disturb each other.  Who has a lock
        passes one name, and overwrites what a killed process left.

    Yields
    ------
    binary file

    Raises
    ------
    InvalidFileError
        If the path is that of a directory, a device, a pipe or a socket.
    OSError
        Names the path.
    """
    check_regular(path, "written")
    target = find_target(path)
    if partial is None:
        # The whole name may be as long as the file system allows.
        partial = target.with_name(f".{target.name[:50]}.{uuid.uuid4().hex[:8]}.part")
    try:
        # Never by a link that another user has put there.
        with suppress(FileNotFoundError):
            partial.unlink()
        with partial.open("xb") as file:
            keep_mode(target, partial)
            yield file
        partial.replace(target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(partial)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        with suppress(OSError):
            partial.unlink()


# --------------------------------------------------------------------------- locks


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
