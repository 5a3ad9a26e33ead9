"""A catalogue in a folder, from which processes can share it."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from roll_vec.errors import InvalidOptionError
from roll_vec.webshop.goals import Goals
from roll_vec.webshop.parts import Parts
from roll_vec.webshop.products import Products
from roll_vec.webshop.search import backend_class
from roll_vec.webshop.sources import MANIFEST, CatalogueOptions

__all__ = ["check_files", "open_stored", "save", "stored_options"]

_FORMAT = 1
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
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    main = {
        "format": _FORMAT,
        "options": dataclasses.asdict(options),
        "title_nouns": parts.title_nouns_source,
        "num_skipped": parts.num_skipped,
        "files": {
            path.relative_to(directory).as_posix(): {
                "bytes": path.stat().st_size,
                "sha256": _digest(path),
            }
            for path in files
        },
    }
    (directory / MANIFEST).write_text(json.dumps(main, indent=1), encoding="utf-8")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(functools.partial(file.read, 1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def open_stored(options: CatalogueOptions) -> Parts:
    """Return what is stored in the folder ``options.products``.

    Raises
    ------
    InvalidOptionError
        If it is no stored catalogue, or one made with other options.
    """
    directory = Path(str(options.products))
    main = _read_main(directory)
    made = main["options"]
    for name in _FIXED:
        if getattr(options, name) != made[name]:
            message = (
                f"{name}: {directory} was stored with {made[name]!r}, "
                f"got {getattr(options, name)!r}; give {name}={made[name]!r}"
            )
            raise InvalidOptionError(message)
    try:
        for name, known in main["files"].items():
            size = (directory / name).stat().st_size
            if size != known["bytes"]:
                _refuse(directory, f"{name} has {size} bytes, not {known['bytes']}")
        products = Products.open(directory, options.memory_map)
        goals = Goals.open(directory, products, options.memory_map)
        index = backend_class(options.search_backend).open(
            directory, options.memory_map
        )
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, InvalidOptionError):
            raise
        _refuse(directory, str(error))
    return Parts(products, goals, index, main["title_nouns"], main["num_skipped"])


def stored_options(directory: Path) -> dict[str, Any]:
    """Return the keywords of `CatalogueOptions` that a catalogue was made with.

    Raises
    ------
    InvalidOptionError
        If the folder has no stored catalogue.
    """
    options: dict[str, Any] = _read_main(directory)["options"]
    return options


def check_files(directory: Path) -> int:
    """Return how many bytes a stored catalogue has, after reading all of them.

    Raises
    ------
    InvalidOptionError
        If a file is not what was stored.
    """
    total = 0
    for name, known in _read_main(directory)["files"].items():
        path = directory / name
        try:
            digest = _digest(path)
        except OSError as error:
            _refuse(directory, str(error))
        if digest != known["sha256"]:
            _refuse(directory, f"{name} has changed since it was stored")
        total += int(known["bytes"])
    return total


def _read_main(directory: Path) -> dict[str, Any]:
    path = directory / MANIFEST
    try:
        main: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        made_for = main["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        _refuse(directory, f"{MANIFEST} cannot be read: {error}")
    if made_for != _FORMAT:
        problem = f"it has the format {made_for}, this version reads {_FORMAT}"
        _refuse(directory, f"{problem}; store it anew with roll-vec webshop index")
    return main


def _refuse(directory: Path, problem: str) -> NoReturn:
    message = f"products: {os.fspath(directory)} is no stored catalogue: {problem}"
    raise InvalidOptionError(message)
