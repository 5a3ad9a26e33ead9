"""Files of arrays and a header that detect any damage: snapshots and recorded runs.

Such a file is a ``.npz`` without pickled objects, which `numpy.load` can read,
too.  It has the arrays, and two more entries::

    header   the bytes of a JSON object: the kind of the file, its format version, the
             header of the caller, and dtype, shape and SHA-256 of each array
    sha256   the 32 bytes of the header's SHA-256

A reader checks both before it returns anything.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidFileError

__all__ = ["read_npz", "write_npz"]

_HEADER, _DIGEST = "header", "sha256"


def write_npz(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write a file; an interrupted call leaves the old file, or none.

    Parameters
    ----------
    path : str or PathLike
        The file; nothing is added to its name.
    kind : str
        The content in a word or two, such as ``snapshot``.
    version : int
        The format version of this kind of file.
    header : mapping
        Anything that `json` can write.
    arrays : mapping from str to array
        Arrays without objects; names other than ``header`` and ``sha256``.

    Raises
    ------
    OSError
    """
    path = Path(path)
    if not path.parent.is_dir():
        # Else the message would have the name of the temporary file.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    contents = {
        name: {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "sha256": _digest(array),
        }
        for name, array in arrays.items()
    }
    text = json.dumps(
        {"kind": kind, "version": version, "header": header, "arrays": contents}
    )
    head = np.frombuffer(text.encode(), np.uint8)
    digest = np.frombuffer(hashlib.sha256(head.tobytes()).digest(), np.uint8)
    entries: dict[str, Any] = {_HEADER: head, _DIGEST: digest, **arrays}
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            np.savez_compressed(file, **entries)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_npz(
    path: str | os.PathLike[str], kind: str, version: int
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a file, checked.

    Parameters
    ----------
    path : str or PathLike
    kind : str
        As passed to `write_npz`.
    version : int
        The only format version that the caller reads.

    Raises
    ------
    InvalidFileError
        Names the file: if it is of another kind or version, truncated or changed.
    OSError
        If it cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if f"{_HEADER}.npy" not in archive.namelist():
                _refuse(
                    path,
                    "it has no header: it is of another program, or of a version of "
                    f"roll_vec before version 1 of the format of a {kind}",
                )
            head = _read_entry(archive, _HEADER).tobytes()
            digest = _read_entry(archive, _DIGEST).tobytes()
            if hashlib.sha256(head).digest() != digest:
                _refuse(path, "its header is damaged")
            content = json.loads(head)
            if content["kind"] != kind:
                _refuse(path, f"it is a {content['kind']}, not a {kind}")
            if content["version"] != version:
                _refuse(
                    path,
                    f"it has version {content['version']} of the format, and this "
                    f"version of roll_vec reads version {version}",
                )
            arrays = {}
            for name, entry in content["arrays"].items():
                array = _read_entry(archive, name)
                if (
                    array.dtype.str != entry["dtype"]
                    or list(array.shape) != entry["shape"]
                    or _digest(array) != entry["sha256"]
                ):
                    _refuse(path, f"the array {name} is damaged")
                arrays[name] = array
            return content["header"], arrays
    except (InvalidFileError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        # `zipfile` and `zlib` raise a dozen kinds of exceptions for damaged files.
        problem = f"it is damaged, or no file that roll_vec wrote ({error})"
        message = _message(path, problem)
        raise InvalidFileError(message) from error


def _read_entry(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Return an array of the archive; its size is checked before it is allocated."""
    data = archive.read(f"{name}.npy")
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        message = f"{name} has another format version"
        raise ValueError(message)
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
    size = len(data) - file.tell()
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != size:
        message = f"{name} has a wrong size"
        raise ValueError(message)
    array: NDArray[Any] = np.frombuffer(data, dtype, offset=file.tell())
    return array.reshape(shape, order="F" if fortran_order else "C")


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _message(path: str | os.PathLike[str], problem: str) -> str:
    return f"{os.fspath(path)} cannot be read: {problem}"


def _refuse(path: str | os.PathLike[str], problem: str) -> None:
    raise InvalidFileError(_message(path, problem))
