"""The contents of a catalogue, and the file that stores them.

The file has, one after the other:

- the line ``roll_vec shop 1``, with the version of the format;
- a line of JSON, an object with ``fields``, those of `CatalogueData`, and ``lengths``,
  those of the arrays;
- the arrays of `ARRAYS`, in this order, each at a multiple of 64 bytes;
- the 32 bytes of the SHA-256 of all this.

Opening it compares the digest, which takes about a second per gigabyte.  The digest is
also what snapshots know the shop by (`roll_vec.storage.data_files.fingerprint`).  The
arrays are mapped into memory: all processes that open the file share its pages.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from roll_vec.envs.webshop.goals import Goals
from roll_vec.envs.webshop.products import Products
from roll_vec.envs.webshop.search.lucene_ranking import LuceneIndex
from roll_vec.errors import InvalidOptionError
from roll_vec.storage.data_files import DIGEST_SIZE, SHOP_START, refuse_unreadable
from roll_vec.storage.files import find_kind, replace_file

# The records of products and goals are JSON, one a line; terms and forms are lines.
ARRAYS = {
    "products": "u1",
    "product_ends": "<i8",
    "asins": "<U10",
    "goals": "u1",
    "goal_ends": "<i8",
    "goal_weights": "<f8",
    "terms": "u1",
    "forms": "u1",
    "form_terms": "<i4",
    "idf": "<f4",
    "numbers": "<i8",
    "starts": "<i8",
    "documents": "<i4",
    "saturations": "<f4",
}
"""The dtype of each array, of one dimension."""

FIXED_OPTIONS = ("human_goals", "catalog_seed")
"""Options that a stored catalogue was built with; opening it cannot change them."""

_FIRST_LINE = SHOP_START + b"1\n"
_ALIGNMENT = 64


class CatalogueData(NamedTuple):
    """The contents of a catalogue, as they are built or opened; read only.

    Parameters
    ----------
    products : Products
    goals : Goals
    search_index : LuceneIndex
    fields : dict of str to str, int or bool
        The options that the contents were built with and opening cannot change, and
        ``title_nouns``, the source of the title nouns.
    """

    products: Products
    goals: Goals
    search_index: LuceneIndex
    fields: dict[str, Any]


def is_stored(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as that of a stored shop."""
    try:
        # Reading a pipe might never end.
        if find_kind(path) is not None:
            return False
        with Path(path).open("rb") as file:
            return file.read(len(SHOP_START)) == SHOP_START
    except (OSError, ValueError):
        return False


def save(data: CatalogueData, path: Path) -> None:
    """Store a catalogue; a stored one is replaced when the new one is complete.

    Raises
    ------
    InvalidOptionError
        If something else is at the path, or it cannot be written.
    """
    if path.exists() and not is_stored(path):
        message = (
            f"path: {path} is there and is no stored shop; expected a new path, or "
            "that of a stored shop, which is replaced"
        )
        raise InvalidOptionError(message)
    products, goals = data.products, data.goals
    contents = {
        "products": products.block,
        "product_ends": products.ends,
        "asins": products.column,
        "goals": goals.block,
        "goal_ends": goals.ends,
        "goal_weights": goals.column,
        **data.search_index.pack(),
    }
    parts: dict[str, Any] = {
        name: np.asarray(part, ARRAYS[name]) if isinstance(part, np.ndarray) else part
        for name, part in contents.items()
    }
    lengths = {name: len(part) for name, part in parts.items()}
    header = json.dumps({"fields": data.fields, "lengths": lengths}).encode()
    head = _FIRST_LINE + header + b"\n"
    digest = hashlib.sha256(head)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as file:
            file.write(head)
            for name in ARRAYS:
                padding = bytes(-file.tell() % _ALIGNMENT)
                for part in (padding, parts[name]):
                    file.write(part)
                    digest.update(part)
            file.write(digest.digest())
    except OSError as error:
        message = f"path: {path} cannot be written: {error}"
        raise InvalidOptionError(message) from error


def open_stored(path: str) -> CatalogueData:
    """Return the catalogue in a file, mapped into memory.

    Raises
    ------
    InvalidOptionError
        If the file cannot be read, has another version, or is not as it was written.
    """
    try:
        with Path(path).open("rb") as file:
            block = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        refuse_unreadable("products", path, error)
    first_line = block.readline()
    if first_line != _FIRST_LINE:
        version = first_line[len(SHOP_START) :].strip().decode("ascii", "replace")
        refuse_unreadable(
            "products",
            path,
            f"it has the version {version[:20]!r} of the format, this version of "
            "roll_vec reads 1; store the shop anew with roll-vec webshop index",
        )
    content = np.frombuffer(block, np.uint8)
    body, digest = content[:-DIGEST_SIZE], content[-DIGEST_SIZE:]
    if hashlib.sha256(body.data).digest() != digest.tobytes():
        refuse_unreadable("products", path, "it is not whole, or was changed")
    try:
        header = json.loads(block.readline())
        arrays, position = {}, block.tell()
        for name, dtype in ARRAYS.items():
            position += -position % _ALIGNMENT
            start = position
            position += header["lengths"][name] * np.dtype(dtype).itemsize
            arrays[name] = body[start:position].view(dtype)
        return CatalogueData(
            Products(arrays["products"].data, arrays["product_ends"], arrays["asins"]),
            Goals(arrays["goals"].data, arrays["goal_ends"], arrays["goal_weights"]),
            LuceneIndex.unpack(arrays),
            {name: header["fields"][name] for name in (*FIXED_OPTIONS, "title_nouns")},
        )
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        refuse_unreadable("products", path, error)
