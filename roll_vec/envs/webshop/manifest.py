"""Manifests: the files of a stored folder with checksums, to find and name damage.

A manifest is a JSON object with the fields ``format``, ``check``, the CRC-32 of all
other fields, and ``files``: size, CRC-32 and SHA-256 of each file by its relative path.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from roll_vec.data_files import hash_file, read_blocks, refuse_unreadable

__all__ = ["check_file", "read_manifest", "refuse_damage", "write_manifest"]

_WAY_OUT = "store the catalogue anew with roll-vec webshop index"


def refuse_damage(path: Path, problem: str) -> NoReturn:
    """Refuse a stored file by name.

    Raises
    ------
    InvalidOptionError
    """
    refuse_unreadable("products", path, problem)


def write_manifest(
    path: Path, version: int, content: Mapping[str, Any], files: Iterable[Path]
) -> None:
    """Write the manifest of some files in its folder or below.

    Parameters
    ----------
    path : Path
    version : int
        Of the folder's format.
    content : mapping
        Further fields.
    files : iterable of Path
    """
    listed = {
        file.relative_to(path.parent).as_posix(): {
            "bytes": file.stat().st_size,
            "crc32": _checksum(file),
            "sha256": hash_file(file),
        }
        for file in sorted(files)
    }
    body = {"format": version, **content, "files": listed}
    main = {**body, "check": _check_of(body)}
    path.write_text(json.dumps(main, indent=1), encoding="utf-8")


def read_manifest(
    path: Path, version: int, fields: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the fields of a manifest.

    Parameters
    ----------
    path : Path
    version : int
    fields : iterable of str
        Those that it has besides ``files``.

    Raises
    ------
    InvalidOptionError
        If it is not there, damaged, of another format or that of another folder.
    """
    try:
        main = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        refuse_damage(path, str(error))
    if not isinstance(main, dict) or "format" not in main:
        refuse_damage(path, "it is no manifest of a stored catalogue")
    if main["format"] != version:
        problem = f"it has the format {main['format']!r}, this version reads {version}"
        refuse_damage(path, f"{problem}; {_WAY_OUT}")
    check = main.pop("check", None)
    try:
        is_whole = check == _check_of(main)
    except RecursionError:
        is_whole = False
    if not is_whole:
        refuse_damage(path, "it has changed since it was stored")
    if main.keys() != {"format", "files", *fields}:
        refuse_damage(path, "it is the manifest of another folder")
    return main


def check_file(path: Path, known: Mapping[str, Any], *, whole: bool = True) -> None:
    """Compare a file with its entry in the manifest.

    Parameters
    ----------
    path : Path
    known : mapping
    whole : bool
        Whether all of it is read, or only its size is compared.

    Raises
    ------
    InvalidOptionError
    """
    try:
        size = path.stat().st_size
        if size != known["bytes"]:
            refuse_damage(path, f"it has {size} bytes, not {known['bytes']}")
        if whole and _checksum(path) != known["crc32"]:
            refuse_damage(path, "it has changed since it was stored")
    except OSError as error:
        refuse_damage(path, str(error))


def _check_of(body: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _checksum(path: Path) -> int:
    value = 0
    for block in read_blocks(path):
        value = zlib.crc32(block, value)
    return value
