"""The file of a stored shop: fields, arrays that processes map, and one digest.

The file has, one after the other:

- the line ``roll_vec shop 1``, with the version of the format;
- a line of JSON, an object with ``fields`` and ``lengths``, those of the arrays;
- the arrays of `ARRAYS`, in this order, each at a multiple of 64 bytes;
- the 32 bytes of the SHA-256 of all this.

Opening it compares the digest, which takes about a second per gigabyte.  The arrays are
mapped into memory: all processes that open the file share its pages.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.storage.data_files import refuse_unreadable
from roll_vec.storage.files import find_kind, replace_file
from roll_vec.storage.plain_data import check_elements

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

Values = bytes | memoryview | NDArray[Any]
"""An array, or the bytes of one of bytes."""

_MAGIC = b"roll_vec shop "
_FIRST_LINE = _MAGIC + b"1\n"
_ALIGNMENT = 64
_DIGEST_SIZE = 32


def is_stored(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as that of a stored shop."""
    try:
        # Reading a pipe might never end.
        if find_kind(path) is not None:
            return False
        with Path(path).open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False


def write_shop(
    path: Path, fields: Mapping[str, Any], arrays: Mapping[str, Values]
) -> None:
    """Write a file, which replaces that at the path when it is complete.

    Parameters
    ----------
    path : Path
    fields : mapping
        Anything that `json` can write.
    arrays : mapping from str to Values
        Those of `ARRAYS`, of the same dtypes or such as can be cast to them.

    Raises
    ------
    InvalidFileError
        If the path is that of a directory, a device, a pipe or a socket.
    OSError
    """
    parts = {
        name: np.asarray(value, ARRAYS[name])
        if isinstance(value, np.ndarray)
        else value
        for name, value in arrays.items()
    }
    lengths = {name: len(part) for name, part in parts.items()}
    header = json.dumps({"fields": fields, "lengths": lengths}).encode()
    digest = hashlib.sha256()
    with replace_file(path) as file:

        def write(data: Any) -> None:
            digest.update(data)
            file.write(data)

        write(_FIRST_LINE + header + b"\n")
        for name in ARRAYS:
            write(bytes(-file.tell() % _ALIGNMENT))
            write(parts[name])
        file.write(digest.digest())


def open_shop(path: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the fields and the arrays of a file, mapped into memory and read-only.

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
        version = first_line[len(_MAGIC) :].strip().decode("ascii", "replace")
        refuse_unreadable(
            "products",
            path,
            f"it has the version {version[:20]!r} of the format, this version of "
            "roll_vec reads 1; store the shop anew with roll-vec webshop index",
        )
    content = np.frombuffer(block, np.uint8)
    body, digest = content[:-_DIGEST_SIZE], content[-_DIGEST_SIZE:]
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
        if position != len(body):
            message = "its arrays do not fill the file"
            raise ValueError(message)
        check_elements(arrays["asins"])
        return header["fields"], arrays
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        refuse_unreadable("products", path, error)
