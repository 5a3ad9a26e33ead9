"""Data files that worlds are made from: absolute paths, and digests that show a change.

A pickle, and the recipe of a pool's environments, name a file by its absolute path and
the digest of its content; whoever reads the file later refuses another content.

A digest takes about a second a gigabyte.  It is computed once a process; afterwards the
file's status (size, times, inode) tells whether it is still right.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from roll_vec.errors import InvalidOptionError

__all__ = [
    "PinnedFile",
    "check_path",
    "fingerprint",
    "folder_status",
    "hash_file",
    "pin_files",
    "read_blocks",
    "refuse_change",
    "refuse_unreadable",
    "unpin_files",
]

Status = tuple[int, int, int, int]

# Nanoseconds of the coarsest clock of a file system (FAT).  A file written less than
# this before it is read can change again and keep its status: its digest is not kept.
_CLOCK_STEP = 2_000_000_000

# By path: the status that a digest belongs to, and the digest.
_digests: dict[str, tuple[Status, str]] = {}


def check_path(argument: str, value: Any) -> str | None:
    """Return the absolute path of a data file as a str.

    Raises
    ------
    InvalidOptionError
        If it is neither a path nor None.
    """
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)):
        message = f"{argument}: expected the path of a file or None, got {value!r}"
        raise InvalidOptionError(message)
    path = str(Path(os.fsdecode(value)).absolute())
    # One string for all who check it again: a pickle then holds it once.
    return value if value == path else path


def fingerprint(argument: str, path: str, manifest: str = "") -> str:
    """Return the digest of a file's content, as it is now.

    Parameters
    ----------
    argument : str
        The keyword that gave the path, for messages.
    path : str
    manifest : str
        Name of the file that stands for all others where the path is a folder.

    Raises
    ------
    InvalidOptionError
        If the file cannot be read, or is not a regular file, such as a pipe.
    """
    try:
        read = Path(path)
        status = read.stat()
        if manifest and stat.S_ISDIR(status.st_mode):
            read /= manifest
            status = read.stat()
        if not stat.S_ISREG(status.st_mode):
            refuse_unreadable(argument, read, "it is no regular file")
        entry = _digests.get(str(read))
        if entry is not None and entry[0] == _key(status):
            return entry[1]
        began = time.time_ns()
        digest = hash_file(read)
        changes = (status.st_mtime_ns, status.st_ctime_ns)
        is_old = all(abs(began - change) > _CLOCK_STEP for change in changes)
        if is_old and _key(read.stat()) == _key(status):
            _digests[str(read)] = _key(status), digest
        return digest
    except InvalidOptionError:
        raise
    except (OSError, ValueError) as error:
        refuse_unreadable(argument, path, error)


def _key(status: os.stat_result) -> Status:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def folder_status(path: str) -> tuple[tuple[str, Status], ...]:
    """Return name and status of every file in a folder and below, locks left out.

    It changes whenever a file does, also where the manifest stays as it is.
    """
    found: list[tuple[str, Status]] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir():
                found += folder_status(entry.path)
            elif not entry.name.endswith(".lock"):
                found.append((entry.path, _key(entry.stat())))
    return tuple(sorted(found))


def read_blocks(path: Path) -> Iterator[memoryview]:
    """Yield a file a block at a time, each in the buffer of the one before.

    The buffer stays in the processor's cache; new blocks would not.
    """
    buffer = memoryview(bytearray(1 << 17))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            yield buffer[:size]


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    for block in read_blocks(path):
        digest.update(block)
    return digest.hexdigest()


def refuse_unreadable(
    argument: str, path: str | Path, problem: str | Exception
) -> NoReturn:
    """Refuse a file that cannot be read.

    Raises
    ------
    InvalidOptionError
    """
    message = f"{argument}: {path} cannot be read: {problem}"
    raise InvalidOptionError(message)


def refuse_change(argument: str, path: str, since: str) -> NoReturn:
    """Refuse a file that has another content than it had.

    Raises
    ------
    InvalidOptionError
    """
    message = (
        f"{argument}: the content of {path} has changed since {since}; expected the "
        "same content, because other worlds would be played on"
    )
    raise InvalidOptionError(message)


class PinnedFile(NamedTuple):
    """A data file in the recipe of an environment: its path, and what it contained."""

    argument: str
    path: str
    manifest: str
    digest: str

    def check(self) -> str:
        """Return the path.

        Raises
        ------
        InvalidOptionError
            If the file has another content now, or cannot be read.
        """
        if fingerprint(self.argument, self.path, self.manifest) != self.digest:
            refuse_change(self.argument, self.path, "the batch was made")
        return self.path


def pin_files(keywords: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return keywords with pinned files in place of paths.

    Parameters
    ----------
    keywords : mapping
    names : mapping from str to str
        Keywords that are paths, with the manifest of a folder; see `fingerprint`.

    Notes
    -----
    A file that cannot be read is not pinned: either the environment refuses it, or it
    writes it.
    """
    pinned = dict(keywords)
    for name in names.keys() & keywords.keys():
        if isinstance(keywords[name], (str, os.PathLike)):
            path = str(check_path(name, keywords[name]))
            try:
                digest = fingerprint(name, path, names[name])
            except InvalidOptionError:
                pinned[name] = path
            else:
                pinned[name] = PinnedFile(name, path, names[name], digest)
    return pinned


def unpin_files(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords with paths in place of pinned files.

    Raises
    ------
    InvalidOptionError
        If one has changed since it was pinned.
    """
    return {
        name: value.check() if isinstance(value, PinnedFile) else value
        for name, value in keywords.items()
    }
