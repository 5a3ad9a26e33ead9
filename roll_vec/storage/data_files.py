"""Data files of environments: absolute paths, digests, texts.

The digest of a file's content is a part of the configuration of an environment, by
which snapshots know each other.

A digest takes about a second per gigabyte.  It is computed once per process; later the
file's status (size, times, inode) shows whether it is still valid.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TextIO

from roll_vec.errors import InvalidOptionError
from roll_vec.storage.files import find_kind

Status = tuple[int, int, int, int]

# Nanoseconds of the coarsest clock of a file system (FAT).  A file that was written in
# this time before it is read can change again with the same status: the digest of such
# a file is not cached.
_CLOCK_STEP = 2_000_000_000

SHOP_START = b"roll_vec shop "
"""The beginning of a stored shop, whose last 32 bytes are the SHA-256 of the others."""
DIGEST_SIZE = 32

# By path: the file's status and its digest.
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
        raise InvalidOptionError.expected(argument, "the path of a file or None", value)
    path = str(Path(os.fsdecode(value)).absolute())
    # The same object for an absolute path: a pickle then holds one string.
    return value if value == path else path


def fingerprint(argument: str, path: str) -> str:
    """Return the digest of the present content of a file, or of a folder.

    That of a folder is made of the names and digests of its files.  That of a stored
    shop is the digest at its end, which opening the shop compares with its content.

    Parameters
    ----------
    argument : str
        The keyword of the path, for messages.
    path : str

    Raises
    ------
    InvalidOptionError
        If a file cannot be read, or is not a regular file, such as a pipe.
    """
    try:
        file = Path(path)
        status = file.stat()
        if stat.S_ISDIR(status.st_mode):
            digests = [
                f"{each.name} {fingerprint(argument, str(each))}"
                for each in sorted(file.iterdir())
                if each.suffix != ".lock"
            ]
            lines = "\n".join(digests).encode("utf-8", "surrogateescape")
            return hashlib.sha256(lines).hexdigest()
        if not stat.S_ISREG(status.st_mode):
            kind = find_kind(file)
            refuse_unreadable(argument, file, f"it is {kind}, expected a file")
        entry = _digests.get(str(file))
        if entry is not None and entry[0] == _key(status):
            return entry[1]
        with file.open("rb") as content:
            if content.read(len(SHOP_START)) == SHOP_START:
                content.seek(max(0, status.st_size - DIGEST_SIZE))
                return content.read().hex()
        now = time.time_ns()
        digest = hash_file(file)
        changes = (status.st_mtime_ns, status.st_ctime_ns)
        is_old = all(abs(now - change) > _CLOCK_STEP for change in changes)
        if is_old and _key(file.stat()) == _key(status):
            _digests[str(file)] = _key(status), digest
        return digest
    except InvalidOptionError:
        raise
    except (OSError, ValueError) as error:
        refuse_unreadable(argument, path, error)


def _key(status: os.stat_result) -> Status:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def open_text(path: str) -> TextIO:
    """Open a text file in UTF-8, plain or with the ending ``.gz``.

    A byte order mark at the beginning is left out.
    """
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return Path(path).open(encoding="utf-8-sig")


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    # One buffer stays in the processor's cache; a new one for each block would not.
    buffer = memoryview(bytearray(1 << 17))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return digest.hexdigest()


def refuse_unreadable(
    argument: str, path: str | Path, problem: str | Exception
) -> NoReturn:
    """Raise the error about a file that cannot be read.

    Raises
    ------
    InvalidOptionError
    """
    message = f"{argument}: {path} cannot be read: {problem}"
    raise InvalidOptionError(message)


def refuse_change(argument: str, path: str, since: str) -> NoReturn:
    """Raise the error about a file whose content has changed.

    Raises
    ------
    InvalidOptionError
    """
    message = (
        f"{argument}: the content of {path} has changed since {since}; expected the "
        "same content, because other worlds would be played on"
    )
    raise InvalidOptionError(message)


def resolve_paths(keywords: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return keywords in which those with some names are absolute paths.

    They then mean the same in other folders and processes.
    """
    paths = {
        name: check_path(name, keywords[name])
        for name in names
        if isinstance(keywords.get(name), (str, os.PathLike))
    }
    return {**keywords, **paths}
