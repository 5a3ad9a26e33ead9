"""Folders that one process builds and all processes of a user on a machine share.

A folder lives as long as a process uses it; the last user deletes it.  A killed process
loses its locks to the kernel, so that nobody waits for it or trusts what it left.

::

    <temporary folder>/roll_vec-<user>-<name>/
        gate      locked alone while a process enters, builds or leaves
        users     locked together by all users; alone by the process that builds
        content   what was built

Under the gate, ``users`` can be locked alone if and only if nobody uses the folder.
What is there then, a killed process has left.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import util
from pathlib import Path

from roll_vec.errors import InvalidOptionError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["IS_SUPPORTED", "SharedFolder", "remove_unused_folders", "share_folder"]

IS_SUPPORTED = fcntl is not None
"""False where the system has no ``flock``: nothing can be shared there."""

_GATE, _USERS, _CONTENT = "gate", "users", "content"

# Milliseconds that a process waits for the gate when it leaves.  It may leave in the
# middle of anything, so it must not wait for long: only a process that builds has the
# gate for longer, and that one deletes the folder later.
_PATIENCE = 100


class SharedFolder:
    """A folder that this process uses, until `release`.

    `share_folder` makes it.

    Attributes
    ----------
    path : Path
        What was built; read only.  A file that is open or mapped stays usable after
        `release`.
    """

    def __init__(self, folder: Path, users: int) -> None:
        self.path = folder / _CONTENT
        self._folder, self._users = folder, users
        self._process = os.getpid()

    def release_with(self, owner: object) -> None:
        """Call `release` when an object is collected, or this process ends."""
        # Not weakref.finalize: a process of multiprocessing ends without calling it.
        util.Finalize(owner, self.release, exitpriority=0)

    def release(self) -> None:
        """Stop the use; the last user deletes the folder.

        A second call does nothing, nor does a call in a forked child.
        """
        if self._users < 0 or os.getpid() != self._process:
            return
        users, self._users = self._users, -1
        _unlock(users)
        _remove_if_unused(self._folder)


def share_folder(name: str, build: Callable[[Path], object]) -> SharedFolder:
    """Return a folder for use; builds it if no process on this machine uses it.

    Others that need it wait meanwhile.

    Parameters
    ----------
    name : str
        Part of a file name; stands for everything that the content depends on.
    build : function of Path
        Makes the folder at a path that does not exist.  Its errors are raised, and then
        another process builds.

    Raises
    ------
    InvalidOptionError
        If the temporary folder cannot be used, or the content not be written.
    """
    remove_unused_folders()
    folder = _parent() / f"{_prefix()}{name}"
    try:
        while True:
            _make_private(folder)
            with _gate(folder) as is_entered:
                if is_entered:
                    return _enter(folder, build)
    except BaseException as error:
        _remove_if_unused(folder)
        if not isinstance(error, OSError):
            raise
        message = f"{folder} cannot be used: {error}; TMPDIR names another place"
        raise InvalidOptionError(message) from error


def remove_unused_folders() -> None:
    """Delete the folders of this user that killed processes have left."""
    if IS_SUPPORTED:
        for folder in _parent().glob(f"{_prefix()}*"):
            _remove_if_unused(folder, patience=0)


def _parent() -> Path:
    return Path(tempfile.gettempdir())


def _prefix() -> str:
    return f"roll_vec-{os.getuid()}-shared-"


def _make_private(folder: Path) -> None:
    """Make a folder; refuse one that others can write to.

    Raises
    ------
    OSError
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    with suppress(FileNotFoundError):  # deleted by its last user
        if not _is_private(folder):
            message = "it is not a folder that is this user's alone"
            raise PermissionError(message)


def _is_private(folder: Path) -> bool:
    status = folder.lstat()
    is_open = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not is_open


def _enter(folder: Path, build: Callable[[Path], object]) -> SharedFolder:
    """Become a user of a folder, under its gate."""
    users = os.open(folder / _USERS, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if _try_lock(users):
            _clear(folder, keep=(_GATE, _USERS))
            build(folder / _CONTENT)
        fcntl.flock(users, fcntl.LOCK_SH)
    except BaseException:
        _unlock(users)
        raise
    return SharedFolder(folder, users)


def _remove_if_unused(folder: Path, patience: int = _PATIENCE) -> None:
    """Delete a folder of this user that nobody uses; errors are ignored."""
    with suppress(OSError):
        if not _is_private(folder):
            return
        with _gate(folder, patience) as is_entered:
            if not is_entered:
                return
            users = os.open(folder / _USERS, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if _try_lock(users):
                    # The gate last: until then nobody can enter by a new one.
                    _clear(folder, keep=(_GATE,))
                    (folder / _GATE).unlink()
                    folder.rmdir()
            finally:
                _unlock(users)


@contextmanager
def _gate(folder: Path, patience: int | None = None) -> Iterator[bool]:
    """Hold the gate of a folder.

    Parameters
    ----------
    folder : Path
    patience : int or None
        Milliseconds to wait for another process; None: as long as it takes.

    Yields
    ------
    bool
        False if another process has the gate, or the folder was deleted.
    """
    try:
        gate = os.open(folder / _GATE, os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:
        yield False
        return
    try:
        if patience is None:
            fcntl.flock(gate, fcntl.LOCK_EX)
        is_locked = patience is None or _try_lock(gate)
        for _ in range(patience or 0):
            if is_locked:
                break
            time.sleep(0.001)
            is_locked = _try_lock(gate)
        yield is_locked and os.fstat(gate).st_nlink > 0
    finally:
        _unlock(gate)


def _try_lock(file: int) -> bool:
    """Lock a file alone if no other process has a lock on it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(file: int) -> None:
    """Unlock and close a file."""
    # A forked child may have the same lock: to close the file would not unlock it.
    fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


def _clear(folder: Path, keep: tuple[str, ...]) -> None:
    for entry in folder.iterdir():
        if entry.name in keep:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
