"""Files of arrays and a header that detect any damage: snapshots and recorded runs.

Such a file is a ``.npz`` without pickled objects, which `numpy.load` can read,
too.  It has the arrays, and two more entries::

    header   the bytes of a JSON object: the kind of the file, its format version, the
             header of the caller, and dtype, shape and SHA-256 of each array
    sha256   the 32 bytes of the header's SHA-256

A reader checks both before it returns anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidFileError
from roll_vec.storage.files import check_regular, replace_file

_HEADER, _DIGEST = "header", "sha256"


def write_npz(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    compressed: Container[str] = (),
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
    compressed : container of str
        Names of arrays whose bytes are compressed already: once more would take twenty
        times as long and save nothing.

    Raises
    ------
    InvalidFileError
        If the path is that of a directory, a device, a pipe or a socket.
    OSError
    """
    contents = {name: _describe(array) for name, array in arrays.items()}
    text = json.dumps(
        {"kind": kind, "version": version, "header": header, "arrays": contents}
    )
    head = np.frombuffer(text.encode(), np.uint8)
    digest = np.frombuffer(hashlib.sha256(head.data).digest(), np.uint8)
    entries: dict[str, Any] = {_HEADER: head, _DIGEST: digest, **arrays}
    # As `numpy.savez_compressed`, which compresses all entries.
    with replace_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in entries.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            if name not in compressed:
                entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)


def read_npz(
    path: str | os.PathLike[str], kind: str, version: int, others: str = ""
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a file, checked.

    Parameters
    ----------
    path : str or PathLike
    kind : str
        As passed to `write_npz`.
    version : int
        The only format version that the caller reads.
    others : str
        What reads files of other versions, for the message.

    Raises
    ------
    InvalidFileError
        Names the file: if it is of another kind or version, truncated or changed, or
        no regular file.
    OSError
        If it cannot be read.
    """
    try:
        check_regular(path)
        # A path that `numpy.load` opens itself stays open after an error.
        with (
            Path(path).open("rb") as file,
            np.load(file, allow_pickle=False) as archive,
        ):
            head = archive[_HEADER].tobytes()
            if hashlib.sha256(head).digest() != archive[_DIGEST].tobytes():
                _refuse(path, "its header is damaged")
            content = json.loads(head)
            if content["kind"] != kind:
                _refuse(path, f"it is a {content['kind']}, not a {kind}")
            if content["version"] != version:
                _refuse(
                    path,
                    f"it has version {content['version']} of the format, and this "
                    f"version of roll_vec reads version {version}{others}",
                )
            arrays = {}
            for name, description in content["arrays"].items():
                arrays[name] = archive[name]
                if _describe(arrays[name]) != description:
                    _refuse(path, f"the array {name} is damaged")
            return content["header"], arrays
    except (InvalidFileError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        # `zipfile` and `zlib` raise a dozen kinds of exceptions for damaged files.
        _refuse(path, f"it is damaged, or no file that roll_vec wrote ({error})")


def _describe(array: NDArray[Any]) -> dict[str, Any]:
    """Return dtype, shape and digest of an array, as the header has them."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "sha256": hashlib.sha256(data.data).hexdigest(),
    }


def _refuse(path: str | os.PathLike[str], problem: str) -> NoReturn:
    message = f"{os.fspath(path)} cannot be read: {problem}"
    raise InvalidFileError(message)
