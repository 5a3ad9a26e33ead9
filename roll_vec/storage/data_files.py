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
from pathlib import Path
from typing import Any, NoReturn, TextIO

from roll_vec.errors import InvalidOptionError
from roll_vec.storage.files import find_kind

# Nanoseconds of the coarsest clock of a file system (FAT).  A younger file can change
# again with the same status: its digest is not stored.
_CLOCK_STEP = 2_000_000_000

SHOP_START = b"roll_vec shop "
"""The beginning of a stored shop, whose last 32 bytes are the SHA-256 of the others."""
DIGEST_SIZE = 32

# By path: size, times and inode of the file, and its digest.
_digests: dict[str, tuple[tuple[int, ...], str]] = {}


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
        kind = find_kind(file)
        if kind is not None:
            refuse_unreadable(argument, file, f"it is {kind}, expected a file")
        times = status.st_mtime_ns, status.st_ctime_ns
        key = status.st_size, *times, status.st_ino
        entry = _digests.get(path)
        if entry is not None and entry[0] == key:
            return entry[1]
        with file.open("rb") as content:
            if content.read(len(SHOP_START)) == SHOP_START:
                content.seek(max(0, status.st_size - DIGEST_SIZE))
                return content.read().hex()
        now, digest = time.time_ns(), hash_file(file)
        if now - max(times) > _CLOCK_STEP:
            _digests[path] = key, digest
        return digest
    except InvalidOptionError:
        raise
    except (OSError, ValueError) as error:
        refuse_unreadable(argument, path, error)


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
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 17):
            digest.update(block)
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
