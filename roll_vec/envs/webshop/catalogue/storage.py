"""Storage of a catalogue in a folder, from which processes can share it."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roll_vec.envs.webshop.catalogue.data import CatalogueData
from roll_vec.envs.webshop.catalogue.options import CatalogueOptions
from roll_vec.envs.webshop.goals import Goals
from roll_vec.envs.webshop.manifest import (
    MANIFEST,
    check_at_opening,
    has_other_files,
    read_manifest,
    refuse_damage,
    write_manifest,
)
from roll_vec.envs.webshop.products import Products
from roll_vec.envs.webshop.search.backends import backend_class
from roll_vec.errors import InvalidOptionError
from roll_vec.storage.files import find_target

FIXED_OPTIONS = ("human_goals", "catalog_seed", "search_backend")
"""Options that a stored catalogue was built with; opening it cannot change them."""

# Each record has a checksum, which is compared when the record is read.
_PIECEWISE_FILES = ("products.jsonl", "goals.jsonl")


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
                "num_skipped": data.num_skipped,
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
    for name, stored_value in _fixed_options(directory, manifest).items():
        value = getattr(options, name)
        if value != stored_value:
            message = (
                f"{name}: {directory} was stored with {stored_value!r}, got {value!r}; "
                f"give {name}={stored_value!r}"
            )
            raise InvalidOptionError(message)
    backend = backend_class(options.search_backend)
    piecewise = (*_PIECEWISE_FILES, *backend.piecewise_files)
    check_at_opening(directory, manifest, piecewise)
    try:
        products = Products.open(directory, options.memory_map)
        goals = Goals.open(directory, products, options.memory_map)
        index = backend.open(directory, options.memory_map)
    except InvalidOptionError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        refuse_damage(directory, str(error))
    nouns_source, num_skipped = manifest["title_nouns"], manifest["num_skipped"]
    return CatalogueData(products, goals, index, nouns_source, num_skipped)


def stored_options(directory: Path) -> dict[str, Any]:
    """Return the `FIXED_OPTIONS` of a stored catalogue.

    Raises
    ------
    InvalidOptionError
        If the folder has no stored catalogue.
    """
    return _fixed_options(directory, read_manifest(directory))


def _fixed_options(directory: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `FIXED_OPTIONS` of a manifest."""
    try:
        return {name: manifest["options"][name] for name in FIXED_OPTIONS}
    except KeyError as error:
        refuse_damage(directory / MANIFEST, f"it has no option {error}")
