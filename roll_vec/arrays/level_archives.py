"""Level sets as ``.npz`` files: an array of levels, and the id that plays them.

Such a file is written by `numpy.savez_compressed`, and it is read without pickle:

``levels``
    (L, H, W): uint8 cell codes, or the letters of a text file as bytes (``S1``).
``id``
    The registered id, such as ``roll_vec/Sokoban-v0``; a file of your own may omit it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.storage.npz_files import open_archive, read_array

SUFFIX = ".npz"
_LEVELS, _ID = "levels", "id"


def write_archive(file: BinaryIO, env_id: str, levels: NDArray[Any]) -> None:
    """Write levels to an open file.

    Parameters
    ----------
    file : binary file
    env_id : str
    levels : (L, H, W) uint8 or S1
    """
    entries: dict[str, Any] = {_LEVELS: levels, _ID: np.array(env_id)}
    np.savez_compressed(file, **entries)


def read_archive(
    path: Path, env_id: str | None = None
) -> tuple[NDArray[Any], str | None]:
    """Return the array of a file, which the caller checks, and the id in it.

    Parameters
    ----------
    path : Path
    env_id : str or None
        The only id that is accepted in the file; None: any.

    Raises
    ------
    InvalidOptionError
        Names the file: if it is damaged or cannot be read, has no array ``levels``, or
        is of another id.
    """
    try:
        with open_archive(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            if _LEVELS not in names:
                message = f"it has no array {_LEVELS!r}, only {names}"
                raise ValueError(message)
            levels = read_array(archive, _LEVELS)
            file_id = str(read_array(archive, _ID)) if _ID in names else None
    except Exception as error:
        # `zipfile`, `zlib` and numpy raise a dozen kinds of exceptions for damage.
        message = f"levels: {path} cannot be read: {error}"
        raise InvalidOptionError(message) from error
    if None not in (env_id, file_id) and file_id != env_id:
        message = f"levels: {path} has levels of {file_id}, expected {env_id}"
        raise InvalidOptionError(message)
    return levels, file_id
