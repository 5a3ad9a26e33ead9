"""One catalogue for all processes of a user on a machine, mapped into their memory."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from roll_vec.envs.webshop.catalogue.data import CatalogueData
from roll_vec.envs.webshop.catalogue.options import DATA_FILES, CatalogueOptions
from roll_vec.envs.webshop.catalogue.storage import FIXED_OPTIONS, open_stored, save
from roll_vec.errors import InvalidOptionError
from roll_vec.storage.files import HAS_LOCKS, private_folder, wait_for_lock
from roll_vec.version import __version__

__all__ = ["ENVIRONMENT_VARIABLE", "is_sharing", "open_shared", "share_catalogues"]

ENVIRONMENT_VARIABLE = "ROLL_VEC_SHARE_CATALOGUES"
"""``1``: processes share their catalogues; ``0`` or not set: each has its own."""

# Packages that the words of the search index and of titles come from.
_PACKAGES = ("nltk", "regex", "tantivy", "spacy", "en_core_web_sm")
_UNUSED_SECONDS = 7 * 24 * 60 * 60


def share_catalogues() -> None:
    """Let this process, and those that it starts, share catalogues with others.

    The first process on a machine that needs a catalogue stores it in a private
    temporary folder; the others wait and map it.  A catalogue that nobody has opened
    for a week is deleted when another one is stored.  Keywords, pickles, snapshots and
    results stay those of a catalogue in memory.

    Catalogues that are in memory already stay there.  Without ``flock``, as on Windows,
    this has no effect.
    """
    os.environ[ENVIRONMENT_VARIABLE] = "1"


def is_sharing() -> bool:
    """Return whether this process shares its catalogues.

    Raises
    ------
    InvalidOptionError
        If the environment variable is neither 0 nor 1.
    """
    text = os.environ.get(ENVIRONMENT_VARIABLE, "0")
    if text not in ("0", "1"):
        raise InvalidOptionError.expected(ENVIRONMENT_VARIABLE, "0 or 1", text)
    return text == "1" and HAS_LOCKS


def open_shared(
    options: CatalogueOptions,
    digests: Sequence[str | None],
    build: Callable[[], CatalogueData],
) -> CatalogueData:
    """Return a catalogue that all processes on this machine map.

    Parameters
    ----------
    options : CatalogueOptions
    digests : sequence of str or None
        Of the data files, see `CatalogueOptions.fingerprints`.
    build : function
        Makes the catalogue if no process on this machine has stored it.

    Raises
    ------
    InvalidOptionError, MissingExtraError
    """
    if options.is_stored:
        return open_stored(dataclasses.replace(options, memory_map=True))
    parent = Path(tempfile.gettempdir()) / f"roll_vec-{os.getuid()}-shared-webshop"
    path = parent / _digest(options, digests)

    def open_mapped() -> CatalogueData:
        fixed = {name: getattr(options, name) for name in FIXED_OPTIONS}
        data = open_stored(CatalogueOptions(products=path, memory_map=True, **fixed))
        os.utime(path)  # it is in use
        return data

    try:
        private_folder(parent)
        with wait_for_lock(parent / f"{path.name}.lock"):
            if path.exists():
                # A cleaner of temporary files may have deleted a part of it.
                with suppress(InvalidOptionError):
                    return open_mapped()
                shutil.rmtree(path)
            _remove_unused(parent)
            save(build(), options, path)
            _return_memory()
            return open_mapped()
    except OSError as error:
        message = f"{parent} cannot be used: {error}; TMPDIR names another place"
        raise InvalidOptionError(message) from error


def _remove_unused(parent: Path) -> None:
    """Delete the catalogues that nobody has opened for a week.

    A process that maps one keeps its files.
    """
    for path in parent.iterdir():
        if path.is_dir() and time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _return_memory() -> None:
    """Give freed memory back to the system.

    Of 20,000 products a build leaves 290 MB in the heap, five times what processes map;
    100 MB after this.
    """
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):  # not the C library of GNU
        ctypes.CDLL(None).malloc_trim(0)


def _digest(options: CatalogueOptions, digests: Sequence[str | None]) -> str:
    """Return the digest of everything that the content of a catalogue depends on."""
    fields = dataclasses.asdict(options)
    values = {name: fields[name] for name in fields if name not in DATA_FILES}
    versions = __version__, sys.version, [_version(name) for name in _PACKAGES]
    text = repr((sorted(values.items()), list(digests), versions))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
