"""Storage of a catalogue in a folder, which processes can share.

With `share_catalogues` all processes of a user on a machine map one catalogue, which
the first of them stores in a temporary folder.
"""

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
from typing import Any, NamedTuple

from roll_vec.envs.webshop.goals import Goals
from roll_vec.envs.webshop.manifest import (
    check_at_opening,
    has_other_files,
    naming_damage,
    read_manifest,
    write_manifest,
)
from roll_vec.envs.webshop.options import DATA_FILES, CatalogueOptions
from roll_vec.envs.webshop.products import Products
from roll_vec.envs.webshop.search.lucene_ranking import LuceneIndex
from roll_vec.errors import InvalidOptionError
from roll_vec.storage.files import (
    HAS_LOCKS,
    find_target,
    private_folder,
    wait_for_lock,
)
from roll_vec.version import __version__

FIXED_OPTIONS = ("human_goals", "catalog_seed")
"""Options that a stored catalogue was built with; opening it cannot change them."""

# Each record has a checksum, which is compared when the record is read.
_PIECEWISE_FILES = ("products.jsonl", "goals.jsonl")

ENVIRONMENT_VARIABLE = "ROLL_VEC_SHARE_CATALOGUES"
"""``1``: processes share their catalogues; ``0`` or not set: each has its own."""

# Packages that the words of the search index and of titles come from.
_PACKAGES = ("nltk", "regex", "spacy", "en_core_web_sm")
_UNUSED_SECONDS = 7 * 24 * 60 * 60


class CatalogueData(NamedTuple):
    """The contents of a catalogue, as they are built or opened; read only.

    ``title_nouns_source`` is that of `Catalogue`.
    """

    products: Products
    goals: Goals
    search_index: LuceneIndex
    title_nouns_source: str


def save(data: CatalogueData, options: CatalogueOptions, directory: Path) -> None:
    """Store a catalogue; a stored one is replaced after the new one is complete.

    Raises
    ------
    InvalidOptionError
        If the folder has other files, or cannot be written.
    """
    directory = find_target(directory)
    if directory.exists() and not _is_replaceable(directory):
        message = (
            f"directory: {directory} is there and is no stored catalogue, or has other "
            "files beside it; expected a new or an empty folder, or a catalogue alone"
        )
        raise InvalidOptionError(message)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{directory.name}-", dir=directory.parent
        ) as work:
            new, old = Path(work) / "new", Path(work) / "old"
            new.mkdir()
            data.products.save(new)
            data.goals.save(new)
            data.search_index.save(new)
            content = {
                "options": dataclasses.asdict(options),
                "title_nouns": data.title_nouns_source,
            }
            write_manifest(new, content)
            try:
                if directory.exists():
                    directory.rename(old)
                new.rename(directory)
            except BaseException:
                if old.exists() and not directory.exists():
                    old.rename(directory)
                raise
    except OSError as error:
        message = f"directory: {directory} cannot be written: {error}"
        raise InvalidOptionError(message) from error


def _is_replaceable(directory: Path) -> bool:
    return directory.is_dir() and not has_other_files(directory)


def open_stored(options: CatalogueOptions) -> CatalogueData:
    """Return the catalogue that is stored in the folder ``options.products``.

    Raises
    ------
    InvalidOptionError
        If the folder has no stored catalogue, one with other options, or a damaged one.
    """
    directory = Path(str(options.products))
    manifest = read_manifest(directory)
    with naming_damage(directory):
        for name, stored_value in _fixed_options(manifest).items():
            value = getattr(options, name)
            if value != stored_value:
                message = (
                    f"{name}: {directory} was stored with {stored_value!r}, got "
                    f"{value!r}; give {name}={stored_value!r}"
                )
                raise InvalidOptionError(message)
        piecewise = (*_PIECEWISE_FILES, *LuceneIndex.piecewise_files)
        check_at_opening(directory, manifest, piecewise)
        return CatalogueData(
            Products.open(directory, options.memory_map),
            Goals.open(directory, options.memory_map),
            LuceneIndex.open(directory, options.memory_map),
            manifest["title_nouns"],
        )


def stored_options(directory: Path) -> dict[str, Any]:
    """Return the `FIXED_OPTIONS` of a stored catalogue.

    Raises
    ------
    InvalidOptionError
        If the folder has no stored catalogue.
    """
    return _fixed_options(read_manifest(directory))


def _fixed_options(manifest: dict[str, Any]) -> dict[str, Any]:
    return {name: manifest["options"][name] for name in FIXED_OPTIONS}


# -------------------------------------------------------------- sharing by processes


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
