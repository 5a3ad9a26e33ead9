"""Files: written whole or not at all, and never a device or a pipe.

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
from typing import BinaryIO

from roll_vec.errors import InvalidFileError

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
        If the file system does not say.
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
def replace_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file, which replaces the old one when the body ends without an error.

    Otherwise the old file is as it was, and nothing else is left, unless the process is
    killed.  Permissions are kept.  A symbolic link stays, and the file that it leads to
    is replaced.

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
    # The whole name may be as long as the file system allows.  A new name, so that
    # threads and processes do not disturb each other.
    partial = target.with_name(f".{target.name[:50]}.{uuid.uuid4().hex[:8]}.part")
    try:
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
