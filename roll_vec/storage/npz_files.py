"""Files of arrays and a header that detect any damage: snapshots and recorded runs.

Such a file is a ``.npz`` without pickled objects, which `numpy.load` can read,
too.  It has the arrays, and two more entries::

    header   the bytes of a JSON object: the kind of the file, its format version, the
             header of the caller, and dtype, shape and SHA-256 of each array
    sha256   the 32 bytes of the header's SHA-256

A reader checks both before it returns anything.

An archive of a stranger may be small and have gigabytes of zeros.  Sizes are checked
before memory is allocated for them: an archive has no more than `MAX_RATIO` times its
own size, an array is as large as its dtype and shape say, and the header has the size
that texts have.  Nothing that is written honestly is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidFileError
from roll_vec.storage.data_files import max_text_size
from roll_vec.storage.files import check_regular, replace_file
from roll_vec.storage.plain_data import check_depth, check_elements

MAX_RATIO = 1032
"""zlib never makes more bytes of one."""

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
        with open_archive(path) as archive:
            if f"{_HEADER}.npy" not in archive.namelist():
                _refuse(
                    path,
                    "it has no header: it is of another program, or of a version of "
                    f"roll_vec before version 1 of the format of a {kind}",
                )
            size = archive.getinfo(f"{_HEADER}.npy").file_size
            most = max_text_size(Path(path).stat().st_size)
            if size > most:
                _refuse(path, f"its header has {size} bytes, expected at most {most}")
            head = read_array(archive, _HEADER, "|u1").tobytes()
            digest = read_array(archive, _DIGEST, "|u1", [32]).tobytes()
            if hashlib.sha256(head).digest() != digest:
                _refuse(path, "its header is damaged")
            content = json.loads(head)
            check_depth(content)
            if content["kind"] != kind:
                _refuse(path, f"it is a {content['kind']}, not a {kind}")
            if content["version"] != version:
                _refuse(
                    path,
                    f"it has version {content['version']} of the format, and this "
                    f"version of roll_vec reads version {version}{others}",
                )
            arrays = {}
            for name, entry in content["arrays"].items():
                array = read_array(archive, name, entry["dtype"], entry["shape"])
                if _digest(array) != entry["sha256"]:
                    _refuse(path, f"the array {name} is damaged")
                arrays[name] = array
            return content["header"], arrays
    except (InvalidFileError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        # `zipfile` and `zlib` raise a dozen kinds of exceptions for damaged files.
        problem = f"it is damaged, or no file that roll_vec wrote ({error})"
        message = _message(path, problem)
        raise InvalidFileError(message) from error


def open_archive(path: str | os.PathLike[str]) -> zipfile.ZipFile:
    """Return an open ``.npz`` file whose entries may be read one by one.

    Raises
    ------
    InvalidFileError
        If it is no regular file.
    ValueError
        If its entries are larger than honest ones can be.
    Exception
        Those of `zipfile` for a damaged file.
    """
    check_regular(path)
    archive = zipfile.ZipFile(path)
    entries, size = archive.infolist(), Path(path).stat().st_size
    # Entries can lie over each other in the file.
    if sum(entry.file_size for entry in entries) > MAX_RATIO * size:
        archive.close()
        message = f"its entries are larger than {MAX_RATIO} times its size"
        raise ValueError(message)
    return archive


def read_array(
    archive: zipfile.ZipFile,
    name: str,
    dtype: str | None = None,
    shape: list[int] | None = None,
) -> NDArray[Any]:
    """Return an array of an archive of `open_archive`.

    Parameters
    ----------
    archive : zipfile.ZipFile
    name : str
    dtype : str or None
        The one that it must have, as ``dtype.str``; None: any without objects.
    shape : list of int or None
        The one that it must have; None: any.

    Raises
    ------
    ValueError
        If it is of another dtype, shape or size; nothing of it is inflated then.
    Exception
        Those of `zipfile` and `zlib` for a damaged file.
    """
    entry = archive.getinfo(f"{name}.npy")
    # Others make any number of bytes of one.
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        message = f"{name} is compressed by another method than numpy's"
        raise ValueError(message)
    with archive.open(entry) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            message = f"{name} has another format version"
            raise ValueError(message)
        own_shape, _, own_dtype = np.lib.format.read_array_header_1_0(file)
        size = math.prod(own_shape) * own_dtype.itemsize
        if own_dtype.hasobject:
            message = f"{name} has Python objects"
            raise ValueError(message)
        if size != entry.file_size - file.tell():
            message = f"{name} has a wrong size"
            raise ValueError(message)
        if dtype not in (None, own_dtype.str) or shape not in (None, [*own_shape]):
            accepted = dtype if shape is None else f"{dtype} of shape {tuple(shape)}"
            message = (
                f"the array {name} is {own_dtype} of shape {own_shape}, expected "
                f"{accepted}"
            )
            raise ValueError(message)
        file.seek(0)
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    check_elements(array.ravel("K"))
    return array


def _digest(array: NDArray[Any]) -> str:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.sha256(data.data).hexdigest()


def _message(path: str | os.PathLike[str], problem: str) -> str:
    return f"{os.fspath(path)} cannot be read: {problem}"


def _refuse(path: str | os.PathLike[str], problem: str) -> None:
    raise InvalidFileError(_message(path, problem))
