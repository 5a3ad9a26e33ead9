"""Write a file of episodes, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.export.formats import Format
from roll_vec.export.messages import MessagesFormat
from roll_vec.export.parquet import ParquetFormat
from roll_vec.export.vision import VisionFormat
from roll_vec.storage.files import replace_file
from roll_vec.trajectories import Trajectory

FORMATS: dict[str, type[Format]] = {
    each.name: each for each in (MessagesFormat, VisionFormat, ParquetFormat)
}
"""By name."""


def export(
    out: str | os.PathLike[str],
    envs: Any,
    episodes: Iterable[Trajectory],
    *,
    format: str = "messages",
    policy: str = "",
    overwrite: bool = False,
) -> None:
    """Write one row an episode; the same episodes give the same bytes.

    Episodes are played while they are written, if they come from a generator such as
    `roll_vec.trajectories.play_seeds`.  All else is checked before.  The file appears
    when it is complete; an error or Ctrl-C leaves nothing.

    Parameters
    ----------
    out : path
    envs : VectorEnv
        A batch of the environment that the episodes are of.
    episodes : iterable of Trajectory
    format : str
        A name in `FORMATS`.
    policy : str
        Its name, for the metadata of Parquet files.
    overwrite : bool
        True: an older file is replaced.

    Raises
    ------
    InvalidOptionError
        For a bad argument, an output that exists, an environment or an episode that the
        format cannot hold.
    InvalidFileError
        If the path is that of a directory, a device or a pipe.
    MissingExtraError
    OSError
    """
    if format not in FORMATS:
        accepted = f"one of {', '.join(FORMATS)}"
        raise InvalidOptionError.expected("format", accepted, format)
    check_out(out, FORMATS[format], overwrite)
    writer = FORMATS[format](envs, policy)
    with replace_file(out) as file:
        writer.write(file, episodes)
        # Hours may have gone by.
        check_out(out, FORMATS[format], overwrite)


def check_out(
    out: str | os.PathLike[str], format: type[Format], overwrite: bool
) -> None:
    """Raise an error for an output that cannot be written.

    Raises
    ------
    InvalidOptionError
    """
    path, name = Path(out), os.fspath(out)
    end = path.name.lower()
    if not end.endswith(format.suffix) or end == format.suffix:
        accepted = f"a name that ends with {format.suffix}"
        raise InvalidOptionError.expected("out", accepted, name)
    if not path.absolute().parent.is_dir():
        raise InvalidOptionError.expected("out", "a path in a folder that exists", name)
    if path.exists() and not overwrite:
        accepted = "a path where nothing is yet"
        hint = "; overwrite=True (--overwrite) replaces it"
        raise InvalidOptionError.expected("out", accepted, name, hint)
