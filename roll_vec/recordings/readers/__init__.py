"""Episodes of files that trainers wrote, whatever the trainer.

`read_episodes` reads a file.  Each format of `FORMATS` has a module, which says what
writes such a file, and how the seed gets into it:

=============== ========================================================================
`plain`         JSON lines that a person writes
`roll`          ROLL's rollout dumps
`verl_agent`    verl-agent's rollout dumps
`trl`           TRL's completions
`verifiers`     traces of verifiers
`openenv`       trajectories of ``openenv collect``
=============== ========================================================================

`rows` and `kinds` check values, `chats` reads chats and calls of tools, `task` makes
the episodes.  No file can run code: all are
JSON, or Parquet without objects.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from roll_vec.errors import InvalidFileError, shorten
from roll_vec.options import check_choice
from roll_vec.recordings.readers import (
    openenv,
    plain,
    roll,
    trl,
    verifiers,
    verl_agent,
)
from roll_vec.recordings.readers.rows import Row, read_rows
from roll_vec.recordings.readers.task import Task
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.storage.files import check_regular

__all__ = ["RecordedEpisode", "read_episodes"]


FORMATS: Mapping[str, Any] = {
    "roll": roll,
    "verl_agent": verl_agent,
    "verifiers": verifiers,
    "trl": trl,
    "openenv": openenv,
    "plain": plain,
}
"""The module of each format.

``NAMES`` are sets of names, of which an object of the format has one; ``read`` yields
the episodes.
"""
# The ``format`` of the files of `roll_vec.evaluation`, which reads them itself.
_RESULTS = "roll-vec eval"


def read_episodes(
    path: str | os.PathLike[str],
    format: str | None = None,
    id: str | None = None,
    keywords: Mapping[str, Any] | None = None,
) -> list[RecordedEpisode]:
    """Return the episodes of a file.

    Parameters
    ----------
    path : path
    format : str, optional
        A name of `FORMATS`; None: the one that the first object of the file is of.
    id : str, optional
        Of the environment, if the file does not say it, or for another one.
    keywords : mapping, optional
        Of `roll_vec.make_vec`, beside those of the file, which they replace.

    Returns
    -------
    list of RecordedEpisode
        In the order of the file.

    Raises
    ------
    InvalidFileError
        If the file cannot be read: with the line, and what is accepted there.
    InvalidOptionError
        If there is no such format.
    MissingExtraError
        For a Parquet file, without the extra ``parquet``.
    """
    path = Path(path)
    check_choice("format", format, (None, *FORMATS))
    task = Task(id, dict(keywords or {}))
    try:
        check_regular(path)
        with path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        rows = trl.read_parquet(path) if is_parquet else read_rows(path)
        first = list(islice(rows, 1))
        if not first:
            message = f"{os.fspath(path)!r}: expected episodes, got an empty file"
            raise InvalidFileError(message)
        name = _recognise(first[0]) if format is None else format
        return list(FORMATS[name].read(chain(first, rows), task))
    except OSError as error:
        message = f"{os.fspath(path)!r} cannot be read: {error.strerror}"
        raise InvalidFileError(message) from error
    except RecursionError as error:
        message = f"{os.fspath(path)!r}: expected values that are not nested so deeply"
        raise InvalidFileError(message) from error


def _recognise(row: Row) -> str:
    """Return the name of the format that an object is of."""
    for name, format in FORMATS.items():
        if any(names <= row.content.keys() for names in format.NAMES):
            return name
    if row.content.get("format") == _RESULTS:
        message = f"expected a file of a trainer; this one is of {_RESULTS}, whose"
        raise row.error("format", f"{message} commands read it")
    message = f"expected an object of one of the formats {', '.join(FORMATS)}"
    raise row.error("format", f"{message}; its names are {shorten([*row.content])}")
