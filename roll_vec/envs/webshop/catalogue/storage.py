"""A catalogue in a folder, from which processes can share it."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

from roll_vec.data_files import hash_file
from roll_vec.envs.webshop.catalogue.parts import Parts
from roll_vec.envs.webshop.catalogue.products import Products
from roll_vec.envs.webshop.catalogue.sources import MANIFEST, CatalogueOptions
from roll_vec.envs.webshop.goals import Goals
from roll_vec.envs.webshop.manifest import (
    check_file,
    read_manifest,
    refuse_damage,
    write_manifest,
)
from roll_vec.envs.webshop.search.backends import backend_class
from roll_vec.errors import InvalidOptionError

__all__ = ["check_files", "open_stored", "save", "stored_options"]

_FORMAT = 2
_FIELDS = ("options", "title_nouns", "num_skipped")
# Blocks of records are checked a record at a time, when it is read.
_RECORDS = ".jsonl"
# What a stored catalogue was made with and cannot be changed by who opens it.
_FIXED = ("human_goals", "catalog_seed", "search_backend")


def save(parts: Parts, options: CatalogueOptions, directory: Path) -> None:
    """Store a catalogue; one that is there is replaced when the new one is whole.

    Raises
    ------
    InvalidOptionError
        If there is something else, or it cannot be written.
    """
    if directory.exists() and not _is_replaceable(directory):
        message = (
            f"directory: {directory} is there and is no stored catalogue; expected a "
            "new or an empty folder"
        )
        raise InvalidOptionError(message)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{directory.name}-", dir=directory.parent
        ) as work:
            made, old = Path(work) / "made", Path(work) / "old"
            made.mkdir()
            _write(parts, options, made)
            if directory.exists():
                directory.rename(old)
            made.rename(directory)
    except OSError as error:
        message = f"directory: {directory} cannot be written: {error}"
        raise InvalidOptionError(message) from error


def _is_replaceable(directory: Path) -> bool:
    return directory.is_dir() and (
        (directory / MANIFEST).is_file() or not any(directory.iterdir())
    )


def _write(parts: Parts, options: CatalogueOptions, directory: Path) -> None:
    parts.products.save(directory)
    parts.goals.save(directory)
    parts.search_index.save(directory)
    content = {
        "options": dataclasses.asdict(options),
        "title_nouns": parts.title_nouns_source,
        "num_skipped": parts.num_skipped,
    }
    files = (path for path in directory.rglob("*") if path.is_file())
    write_manifest(directory / MANIFEST, _FORMAT, content, list(files))


def open_stored(options: CatalogueOptions) -> Parts:
    """Return what is stored in the folder ``options.products``.

    Raises
    ------
    InvalidOptionError
        If it is no stored catalogue, or one made with other options.
    """
    directory = Path(str(options.products))
    main = read_manifest(directory / MANIFEST, _FORMAT, _FIELDS)
    made = main["options"]
    for name in _FIXED:
        if getattr(options, name) != made[name]:
            message = (
                f"{name}: {directory} was stored with {made[name]!r}, "
                f"got {getattr(options, name)!r}; give {name}={made[name]!r}"
            )
            raise InvalidOptionError(message)
    for name, known in main["files"].items():
        # The search index checks its own files, but not whose index it is.
        whole = name.endswith(".json") if "/" in name else not name.endswith(_RECORDS)
        check_file(directory / name, known, whole=whole)
    try:
        products = Products.open(directory, options.memory_map)
        goals = Goals.open(directory, products, options.memory_map)
        index = backend_class(options.search_backend).open(
            directory, options.memory_map
        )
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidOptionError):
            raise
        refuse_damage(directory, str(error))
    return Parts(products, goals, index, main["title_nouns"], main["num_skipped"])


def stored_options(directory: Path) -> dict[str, Any]:
    """Return the keywords of `CatalogueOptions` that a catalogue was made with.

    Raises
    ------
    InvalidOptionError
        If the folder has no stored catalogue.
    """
    options: dict[str, Any] = read_manifest(directory / MANIFEST, _FORMAT, _FIELDS)[
        "options"
    ]
    return options


def check_files(directory: Path) -> int:
    """Return how many bytes a stored catalogue has, after reading all of them.

    Raises
    ------
    InvalidOptionError
        If a file is not what was stored.
    """
    total = 0
    for name, known in read_manifest(directory / MANIFEST, _FORMAT, _FIELDS)[
        "files"
    ].items():
        path = directory / name
        try:
            digest = hash_file(path)
        except OSError as error:
            refuse_damage(path, str(error))
        if digest != known["sha256"]:
            refuse_damage(path, "it has changed since it was stored")
        total += int(known["bytes"])
    return total
