"""Compiled kernels on disk, outside the package.

This takes the place of numba's own cache, which

- writes beside the sources, where its files outlive ``pip uninstall`` and hide a
  later editable install;
- looks at the defining file of a kernel only, so that callers of an edited helper
  keep its old machine code, and does not look at ``NUMBA_BOUNDSCHECK``;
- raises where the disk is full or a file is damaged, and runs damaged machine code:
  of 300 single flipped bits 38 killed the process and one changed a result.

The folder is ``roll_vec/kernels-<version>-<digest>`` in ``NUMBA_CACHE_DIR`` if that is
set, else in the user's cache folder.  The digest covers all kernel files and the
versions of Python, numpy and numba.  A file holds one kernel for one signature, CPU
and set of numba's settings: the SHA-256 of the payload, then the payload, a pickle.
Nothing is read from a folder that another user could have filled.

Processes that start together compile a kernel once: each locks one byte of the file
``lock`` while it compiles, and the others wait and load.  A process that ends loses its
locks, and a forked child has none of them.  Threads of a process are kept apart by
numba's own lock.  It is taken after the byte, never before: so a fork, which takes it
too, waits for no other process, nor does another thread.
"""

import contextlib
import functools
import hashlib
import os
import pickle
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
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# Settings of numba.config that change machine code.
_SETTINGS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "DEBUG_NRT",
    "DISABLE_INTEL_SVML",
    "ENABLE_PROFILING",
    "EXTEND_VARIABLE_LIFETIMES",
    "LLVM_REFPRUNE_FLAGS",
    "LLVM_REFPRUNE_PASS",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
    "USE_LEGACY_TYPE_SYSTEM",
    "USING_SVML",
)
_CHECKSUM = hashlib.sha256
_CHECKSUM_SIZE = _CHECKSUM().digest_size
_DAY = 24 * 60 * 60
# Seconds of waiting for another process, which may hang, and between two looks.
_PATIENCE = 60
_PAUSE = 0.01
# Of the package that holds this layer; kernels import nothing from above.
_VERSION = sys.modules[__name__.partition(".")[0]].__version__


def cache_root():
    """Return the folder that holds the folders of all versions.

    Raises
    ------
    RuntimeError
        The user has no home folder.
    """
    cache_dir = _setting("CACHE_DIR")
    if cache_dir:
        return Path(cache_dir).absolute() / "roll_vec"
    if sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")
    elif sys.platform == "darwin":
        parent = Path("~/Library/Caches")
    else:
        parent = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not parent.is_absolute():  # to be ignored, says the XDG specification
            parent = Path("~/.cache")
    parent = parent.expanduser()
    if not parent.is_absolute():
        message = f"the home folder {str(parent.parent)!r} is not an absolute path"
        raise RuntimeError(message)
    return parent / "roll_vec"


def _setting(name):
    """Return one of numba's settings; None if this numba does not have it."""
    return getattr(config, name, None)


class CacheFolder:
    """The folder of compiled kernels for one version of the kernel files.

    Parameters
    ----------
    source_folder : Path
        The folder of the kernel files, which may stand in folders of its own.

    Attributes
    ----------
    path : Path or None
        The folder; None before its first use and where it cannot be used.
    """

    def __init__(self, source_folder):
        files = sorted(source_folder.rglob("*.py"))
        self._digests = {file: _CHECKSUM(file.read_bytes()).digest() for file in files}
        names = [file.relative_to(source_folder).as_posix() for file in files]
        versions = sys.version, np.__version__, numba.__version__, __package__
        content = repr((names, [*self._digests.values()], versions))
        digest = _CHECKSUM(content.encode()).hexdigest()
        self._name = f"kernels-{_VERSION}-{digest[:16]}"
        self._usable = True
        self._writable = True
        self._warned = False
        self._locks = None
        self.path = None

    def follow(self, file):
        """Stop using the folder if a kernel file was edited since this process began.

        A notebook may reload edited files; their digest is not this folder's.
        """
        try:
            status = Path(file).stat()
            digest = _file_digest(file, status.st_mtime_ns, status.st_size)
        except OSError:
            digest = None
        if digest is None or digest != self._digests.get(Path(file)):
            self._usable = False

    def read(self, name):
        """Return the payload of a file, or None if there is no such file.

        Raises
        ------
        ValueError
            The file is damaged.
        OSError, RuntimeError
            It cannot be read, or the folder cannot be used (raised once).
        """
        folder = self._open()
        if folder is None:
            return None
        try:
            content = memoryview((folder / name).read_bytes())
        except FileNotFoundError:
            return None
        checksum, payload = content[:_CHECKSUM_SIZE], content[_CHECKSUM_SIZE:]
        if _CHECKSUM(payload).digest() != checksum:
            message = "the file is damaged"
            raise ValueError(message)
        return payload

    def write(self, name, payload):
        """Store a file, all of it or nothing.  After a failure store no more.

        Raises
        ------
        OSError, RuntimeError
            The file cannot be written, or the folder cannot be used (raised once).
        """
        folder = self._open()
        if folder is None or not self._writable:
            return
        self._writable = False
        _prepare(folder)  # again, because it may have been removed
        temporary = folder / f"{name}.{uuid.uuid4().hex[:8]}.tmp"
        try:
            temporary.write_bytes(_CHECKSUM(payload).digest() + payload)
            try:
                temporary.replace(folder / name)
            except PermissionError:
                # Windows keeps a file that another process reads.  It holds the same.
                if not (folder / name).is_file():
                    raise
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        self._writable = True

    def lock(self, name):
        """Keep other processes from making a file, until `unlock`.

        Waits for a process that makes it, until it is stored; a minute at most.  No
        lock is taken if the file is there, if none can be stored, and without `fcntl`.

        Raises
        ------
        OSError, RuntimeError
            The folder cannot be used (raised once).
        """
        folder = self._open()
        if folder is None or not self._writable or fcntl is None:
            return
        end = time.monotonic() + _PATIENCE
        with contextlib.suppress(OSError):  # read-only, or a file system without locks
            if self._locks is None:
                # Never closed: the process would lose the locks of all its threads.
                self._locks = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            while not (folder / name).exists() and time.monotonic() < end:
                try:
                    fcntl.lockf(
                        self._locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte_of(name)
                    )
                    return
                except BlockingIOError:
                    time.sleep(_PAUSE)

    def unlock(self, name):
        """Let other processes make a file; also if this one has no lock."""
        if self._locks is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, _byte_of(name))

    def remove(self, pattern):
        """Remove the files whose names fit a pattern."""
        for path in self.path.glob(pattern) if self.path is not None else ():
            with contextlib.suppress(OSError):
                path.unlink()

    def warn(self, failure, error):
        """Warn the user of the first failure in this process."""
        # On Windows a file that another process has open is no failure.
        if self._warned or (os.name == "nt" and isinstance(error, PermissionError)):
            return
        self._warned = True
        if self.path is None:
            failure = "there is no folder for compiled kernels"
        else:
            failure = f"{failure} in {self.path}"
        warnings.warn(
            f"roll_vec: {failure} ({type(error).__name__}: {error}), so kernels are "
            "compiled again; if every process says so, set NUMBA_CACHE_DIR to a "
            "writable folder of your own",
            RuntimeWarning,
            stacklevel=3,
        )

    def _open(self):
        """Prepare the folder at its first use; return it, or None if it is unusable."""
        if self._usable and self.path is None:
            try:
                if not self._digests:
                    message = "the kernel files cannot be read"  # as in a zip file
                    raise FileNotFoundError(message)
                path = cache_root() / self._name
                _prepare(path)
            except (OSError, RuntimeError):
                self._usable = False
                raise
            self.path = path
        return self.path if self._usable else None


def _byte_of(name):
    """Return the byte of the file of locks that stands for a file."""
    return zlib.crc32(name.encode())


def _prepare(folder):
    """Create the folder if it is not there, and note the time of its use."""
    root = folder.parent
    root.parent.mkdir(parents=True, exist_ok=True)
    _make_private(root)
    if _make_private(folder):
        _remove_unused(root)
    else:
        with contextlib.suppress(OSError):  # root's, or read-only
            os.utime(folder)


def _make_private(folder):
    """Create a folder that only this user can use; return whether it is new.

    Raises
    ------
    OSError
        It cannot be created, is no folder, or another user may write into it.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        return True
    status = folder.stat()
    if not stat.S_ISDIR(status.st_mode):
        message = f"{folder} is not a folder"
        raise NotADirectoryError(message)
    # Windows keeps the folders of users apart by itself.
    if hasattr(os, "geteuid") and (
        status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o022
    ):
        message = f"{folder} belongs to another user, or others may write into it"
        raise PermissionError(message)
    return False


def _remove_unused(root):
    """Remove the folders of other versions that no process has used for long.

    The time of a folder is that of its last use: each process sets it at its first
    kernel.  A folder is removed after 30 days; after one day if more than ten others
    were used later, as in a day of edits.  Its processes, if any, create it again.
    """
    ages = {}
    for folder in root.glob("kernels-*"):
        with contextlib.suppress(OSError):
            ages[folder] = time.time() - folder.stat().st_mtime
    for rank, folder in enumerate(sorted(ages, key=ages.__getitem__)):
        if ages[folder] > (30 if rank <= 10 else 1) * _DAY:
            shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _file_digest(file, mtime_ns, size):
    """Return the digest of a file that has this time and size."""
    return _CHECKSUM(Path(file).read_bytes()).digest()


class KernelCache(_Cache):
    """The cache of one kernel, in the place of numba's ``FunctionCache``.

    No failure of the disk reaches the caller: the first one in a process is a
    RuntimeWarning, and the kernel is compiled.

    Parameters
    ----------
    function : callable
        The kernel before it is compiled.
    folder : CacheFolder
    key : str
        Tells kernels of the same function apart.
    """

    def __init__(self, function, folder, key=""):
        self._folder, self.key = folder, key
        module = function.__module__.removeprefix(f"{__package__}.")
        self._stem = f"{module}.{function.__qualname__}".replace("<locals>", "_") + key
        self._enabled = True
        folder.follow(function.__code__.co_filename)

    @property
    def cache_path(self):
        """The folder as a str; None before its first use."""
        return None if self._folder.path is None else str(self._folder.path)

    def enable(self):
        """Use the cache."""
        self._enabled = True

    def disable(self):
        """Neither load nor save."""
        self._enabled = False

    def flush(self):
        """Remove what is stored of this kernel."""
        self._folder.remove(f"{self._stem}-*")

    @contextlib.contextmanager
    def lock(self, sig, target_context):
        """Wait while another process compiles the kernel; keep others waiting.

        The caller must not hold numba's lock, and signals are handled.
        """
        if not self._enabled:
            yield
            return
        name = self._file_name(sig, target_context.codegen())
        try:
            try:
                self._folder.lock(name)
            except (OSError, RuntimeError) as error:
                self._folder.warn(f"{name} cannot be loaded", error)
            yield
        finally:
            self._folder.unlock(name)

    def load_overload(self, sig, target_context):
        """Return the stored CompileResult for a signature, or None."""
        target_context.refresh()
        if not self._enabled:
            return None
        name = self._file_name(sig, target_context.codegen())
        try:
            payload = self._folder.read(name)
            if payload is None:
                return None
            return CompileResult._rebuild(target_context, *pickle.loads(payload))
        except ModuleNotFoundError:
            # Code of a user's rules names their module, which may have no name here.
            return None
        except Exception as error:
            self._folder.warn(f"{name} cannot be loaded", error)
            return None

    def save_overload(self, sig, data):
        """Store a CompileResult."""
        if not self._enabled:
            return
        name = self._file_name(sig, data.codegen)
        try:
            if data.lifted or data.library.has_dynamic_globals:
                message = "its machine code holds addresses of this process"
                raise ValueError(message)
            self._folder.write(name, dumps(data._reduce()))
        except Exception as error:
            self._folder.warn(f"{name} cannot be stored", error)

    def _file_name(self, sig, codegen):
        """Return the name of the file for a signature and a target."""
        settings = [str(_setting(name)) for name in _SETTINGS]
        key = repr((sig, codegen.magic_tuple(), settings))
        return f"{self._stem}-{_CHECKSUM(key.encode()).hexdigest()[:16]}.bin"


FOLDER = CacheFolder(Path(__file__).parent)
