"""Compiled kernels on disk, outside the package.

It replaces numba's cache, which

- writes beside the sources, where its files outlive ``pip uninstall`` and hide a
  later editable install;
- looks at the defining file of a kernel only, so that callers of an edited helper
  keep its old machine code, and does not look at ``NUMBA_BOUNDSCHECK``;
- raises where the disk is full or a file is damaged, and runs damaged machine code:
  of 300 single flipped bits 38 killed the process and one changed a result.

The folder is ``roll_vec/kernels-<version>-<digest>`` in ``NUMBA_CACHE_DIR`` if that is
set, else in the user's cache folder.  The digest covers all kernel files and the
versions of Python, numpy and numba.  A file holds one kernel for one signature, CPU
and set of numba's settings: a SHA-256, then the payload, a pickle.  The hash covers the
names of the folder and the file as well: no file stands in for another one.

Functions that kernels of several games call have files, too, whose names end in
``part``: rules by the digest of their code, and kernels of this package.

Nothing is read from a folder that another user could have filled: the folder, and the
one of all versions above it, must be this user's or root's, and closed to others.
`NUMBA_CACHE_DIR` itself must be a folder where others cannot rename what is yours: as
``/tmp``, which is sticky, or one of your home.

Processes that start together compile a kernel once: each locks one byte of the file
``lock`` while it compiles, and the others wait and load.  A process that ends loses its
locks, and a forked child has none of them.  Threads of a process are kept apart by
numba's lock.  It is acquired after the byte, never before: so a fork, which acquires it
too, waits for no other process, nor does another thread.
"""

import contextlib
import hashlib
import os
import pickle
import re
import shutil
import stat
import sys
import time
import uuid
import warnings
import zlib
from pathlib import Path

import numba
import numpy as np
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from ._compiler import stored

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# Settings of numba.config that change machine code.
_SETTINGS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "DISABLE_INTEL_SVML",
    "ENABLE_PROFILING",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
)
_DIGEST_SIZE = hashlib.sha256().digest_size
_UNUSED_SECONDS = 30 * 24 * 60 * 60
# Seconds of waiting for another process, which may hang, and between two looks.
_PATIENCE = 60
_PAUSE = 0.01
_STEM_SIZE = 100
# Of the package that holds this layer; kernels import nothing from above.
_VERSION = sys.modules[__name__.partition(".")[0]].__version__


def cache_root():
    """Return the folder that holds the folders of all versions.

    Raises
    ------
    RuntimeError
        The user has no home folder.
    """
    parent = getattr(config, "CACHE_DIR", "") or {
        "win32": os.environ.get("LOCALAPPDATA") or "~/AppData/Local",
        "darwin": "~/Library/Caches",
    }.get(sys.platform, os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return Path(parent).expanduser().absolute() / "roll_vec"


class CacheFolder:
    """The folder of compiled kernels for one version of the kernel files.

    No failure of the disk reaches the caller: the first one in a process is a
    RuntimeWarning, and no more kernels are stored.

    Parameters
    ----------
    source_folder : Path
        The folder of the kernel files, which may stand in subfolders.

    Attributes
    ----------
    path : Path or None
        The folder; None before its first use and where it cannot be used.
    """

    def __init__(self, source_folder):
        files = sorted(source_folder.rglob("*.py"))
        names = [file.relative_to(source_folder).as_posix() for file in files]
        digests = [hashlib.sha256(file.read_bytes()).digest() for file in files]
        versions = sys.version, np.__version__, numba.__version__, __package__
        content = repr((names, digests, versions)).encode()
        self._name = f"kernels-{_VERSION}-{hashlib.sha256(content).hexdigest()[:16]}"
        # Without files, as in a zip file, nothing tells versions apart.
        self._has_failed, self._locks, self.path = not files, None, None

    def read(self, name):
        """Return the payload of a file; None if it is not there or damaged."""
        folder = self._open()
        if folder is None:
            return None
        try:
            content = (folder / name).read_bytes()
        except OSError:
            return None
        digest, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        return payload if self._hash(name, payload) == digest else None

    def write(self, name, payload):
        """Store a file, all of it or nothing."""
        folder = self._open()
        if folder is None or self._has_failed:
            return
        path = folder / name
        temporary = path.with_name(f"{name}.{uuid.uuid4().hex[:8]}.tmp")
        try:
            temporary.write_bytes(self._hash(name, payload) + payload)
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            # Windows keeps a file that another process reads.  It holds the same.
            if not path.exists():
                self._fail(f"{name} cannot be stored in {self.path}", error)

    @contextlib.contextmanager
    def lock(self, name):
        """Keep other processes from making a file.

        Waits for a process that makes it, until it is stored; a minute at most.  No
        lock is held if the file is there, if none can be stored, and without `fcntl`.
        The caller must not hold numba's lock, and signals are handled.
        """
        folder = self._open()
        if self._has_failed or fcntl is None:
            folder = None
        byte, end = zlib.crc32(name.encode()), time.monotonic() + _PATIENCE
        try:
            with contextlib.suppress(OSError):  # read-only, or without locks
                if folder is not None and self._locks is None:
                    # Never closed: the process would lose the locks of all threads.
                    self._locks = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
                while folder is not None and time.monotonic() < end:
                    try:
                        if not (folder / name).exists():
                            lock = fcntl.LOCK_EX | fcntl.LOCK_NB
                            fcntl.lockf(self._locks, lock, 1, byte)  # type: ignore[arg-type]
                        break
                    except BlockingIOError:
                        time.sleep(_PAUSE)
            yield
        finally:
            if self._locks is not None:
                with contextlib.suppress(OSError):
                    fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, byte)

    def _hash(self, name, payload):
        return hashlib.sha256(f"{self._name}/{name}\n".encode() + payload).digest()

    def _open(self):
        """Make the folder at its first use; return it, or None if it is unusable.

        Folders that no process has used for 30 days are removed.
        """
        if self.path is None and not self._has_failed:
            try:
                path = cache_root() / self._name
                path.parent.parent.mkdir(parents=True, exist_ok=True)
                _make_private(path.parent)
                _make_private(path)
            except (OSError, RuntimeError) as error:
                self._fail("there is no folder for compiled kernels", error)
                return None
            self.path = path
            with contextlib.suppress(OSError):  # root's, or read-only
                os.utime(path)
            for old in path.parent.glob("kernels-*"):
                with contextlib.suppress(OSError):  # another process removes it
                    if time.time() - old.stat().st_mtime > _UNUSED_SECONDS:
                        shutil.rmtree(old, ignore_errors=True)
        return self.path

    def _fail(self, failure, error):
        """Store no more, and warn the user once."""
        if not self._has_failed:
            self._has_failed = True
            warnings.warn(
                f"roll_vec: {failure} ({type(error).__name__}: {error}), so kernels "
                "are compiled again; if every process says so, set NUMBA_CACHE_DIR to "
                "a writable folder of yours",
                RuntimeWarning,
                stacklevel=3,
            )


def _make_private(folder):
    """Make a folder that only this user can write to, if it is not there.

    Raises
    ------
    OSError
        It cannot be made, is no folder, or another user may write into it.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    is_private = stat.S_ISDIR(status.st_mode)
    if hasattr(os, "geteuid"):  # Windows keeps the folders of users apart
        is_private &= status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022
    if not is_private:
        message = f"{folder} belongs to another user, or others may write into it"
        raise PermissionError(message)


class KernelCache(NullCache):
    """The cache of one kernel, in the place of numba's ``FunctionCache``.

    Parameters
    ----------
    function : callable
        The kernel before it is compiled.
    folder : CacheFolder
    """

    def __init__(self, function, folder):
        self._folder = folder
        module = function.__module__.removeprefix(f"{__package__}.")
        self._stem = f"{module}.{function.__qualname__}".replace("<locals>", "_")

    def lock(self, sig, target_context):
        """Return the lock of the kernel; see `CacheFolder.lock`."""
        return self._folder.lock(self._file_name(sig, target_context.codegen()))

    def load_overload(self, sig, target_context):
        """Return the stored CompileResult for a signature, or None."""
        target_context.refresh()
        payload = self._folder.read(self._file_name(sig, target_context.codegen()))
        if payload is None:
            return None
        try:
            return self._rebuild(target_context, *pickle.loads(payload))
        except Exception:  # whatever is odd in it, it can be made anew
            return None

    def save_overload(self, sig, data):
        """Store a CompileResult, unless it holds addresses of this process."""
        values = self._reduce(data)
        if values is not None:
            self._folder.write(self._file_name(sig, data.codegen), dumps(values))

    def _reduce(self, data):
        parts = stored.reduce_parts(data.library) if stored else []
        if data.lifted or data.library.has_dynamic_globals or parts is None:
            return None
        return parts, *data._reduce()

    def _rebuild(self, target_context, parts, *values):
        libraries = parts and stored.rebuild_parts(target_context.codegen(), parts)
        result = CompileResult._rebuild(target_context, *values)
        if parts:
            # They live as long as it does.
            result.library.parts = libraries
        return result

    def _file_name(self, sig, codegen):
        """Return the name of the file for a signature and a target."""
        settings = [str(getattr(config, name, None)) for name in _SETTINGS]
        key = repr((sig, codegen.magic_tuple(), settings)).encode()
        return f"{self._stem}-{hashlib.sha256(key).hexdigest()[:16]}.bin"


class CalleeCache(KernelCache):
    """The cache of a function that kernels of several games call.

    Parameters
    ----------
    function : callable
        Its name, and types of arguments, tell its code apart from all other.
    folder : CacheFolder
    """

    def __init__(self, function, folder):
        super().__init__(function, folder)
        self._stem = re.sub(r"\W", "-", f"{self._stem[:_STEM_SIZE]}-part")

    def _reduce(self, data):
        return stored and stored.reduce_callee(data)

    def _rebuild(self, target_context, *values):
        return stored.rebuild_callee(target_context, *values)


FOLDER = CacheFolder(Path(__file__).parent)
