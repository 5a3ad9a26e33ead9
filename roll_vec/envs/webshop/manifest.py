"""Manifest of a stored shop: the checksums that find and name a damaged file.

``catalogue.json`` is a JSON object: ``format``; ``files``, with the size, CRC-32 and
SHA-256 of every other file by its relative path; further fields; and ``check``, the
CRC-32 of all this.

Opening compares all sizes and reads the files that are used as a whole.  Two kinds of
files are large and used in pieces, so each piece has a checksum of its own that is
compared when the piece is first read: records (`records`) and the postings of the
search index (`search.lucene_ranking`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from roll_vec.errors import InvalidOptionError
from roll_vec.storage.data_files import hash_file, read_blocks, refuse_unreadable
from roll_vec.storage.files import find_kind

MANIFEST = "catalogue.json"
_FORMAT = 3
# Errors of data whose checksums may be true, but whose content is not.
_MALFORMED = ValueError, LookupError, TypeError, AttributeError, RecursionError
_CHANGE_MESSAGE = "it has changed since it was stored"


def refuse_damage(path: Path, problem: str) -> NoReturn:
    """Refuse a stored file by name.

    Raises
    ------
    InvalidOptionError
    """
    refuse_unreadable("products", path, problem)


@contextmanager
def naming_damage(path: Path, prefix: str = "") -> Iterator[None]:
    """Refuse a stored file by name if the body cannot read it.

    Raises
    ------
    InvalidOptionError
    """
    try:
        yield
    except InvalidOptionError:
        raise
    except (OSError, *_MALFORMED) as error:
        refuse_damage(path, f"{prefix}{error or repr(error)}")


def write_manifest(directory: Path, content: Mapping[str, Any]) -> None:
    """Write the manifest of all files in a folder and below.

    Parameters
    ----------
    directory : Path
    content : mapping
        Further fields.
    """
    files = {
        path.relative_to(directory).as_posix(): {
            "bytes": path.stat().st_size,
            "crc32": _checksum(path),
            "sha256": hash_file(path),
        }
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
    manifest: dict[str, Any] = {"format": _FORMAT, **content, "files": files}
    manifest["check"] = _checksum_of_fields(manifest)
    text = json.dumps(manifest, indent=1)
    (directory / MANIFEST).write_text(text, encoding="utf-8")


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return the fields of a folder's manifest.

    Raises
    ------
    InvalidOptionError
        If it does not exist, is damaged or has another format.
    """
    path = directory / MANIFEST
    with naming_damage(path):
        for each in (path, *directory.rglob("*")):
            # A reader might never come to the end of a device or a pipe.
            kind = find_kind(each)
            if kind not in (None, "a directory"):
                refuse_damage(each, f"it is {kind}, expected a file")
        manifest = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or "format" not in manifest:
        refuse_damage(path, "it is no manifest of a stored catalogue")
    if manifest["format"] != _FORMAT:
        refuse_damage(
            path,
            f"it has the format {manifest['format']!r}, this version reads {_FORMAT}; "
            "store the catalogue anew with roll-vec webshop index",
        )
    if manifest.pop("check", None) != _checksum_of_fields(manifest):
        refuse_damage(path, _CHANGE_MESSAGE)
    return manifest


def has_other_files(directory: Path) -> bool:
    """Return whether a folder has files that its manifest, if any, does not name.

    The manifest may be of another format.
    """
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        own = {MANIFEST, *manifest["files"]}
    except (OSError, ValueError, LookupError, TypeError):
        own = set()
    return any(
        path.relative_to(directory).as_posix() not in own
        for path in directory.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )


def check_at_opening(
    directory: Path, manifest: Mapping[str, Any], piecewise: Collection[str]
) -> None:
    """Compare the files of a stored shop with its manifest.

    Parameters
    ----------
    directory : Path
    manifest : mapping
    piecewise : collection of str
        Relative paths of files whose pieces are checked later: only their sizes are
        compared now.

    Raises
    ------
    InvalidOptionError
    """
    for name, entry in manifest["files"].items():
        path = directory / name
        if not path.is_file():
            refuse_damage(path, "it is not there")
        with naming_damage(path):
            size = path.stat().st_size
            if size != entry["bytes"]:
                refuse_damage(path, f"it has {size} bytes, not {entry['bytes']}")
            if name not in piecewise and _checksum(path) != entry["crc32"]:
                refuse_damage(path, _CHANGE_MESSAGE)


def _checksum_of_fields(manifest: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(manifest, sort_keys=True).encode())


def _checksum(path: Path) -> int:
    value = 0
    for block in read_blocks(path):
        value = zlib.crc32(block, value)
    return value
