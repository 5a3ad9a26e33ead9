"""Episodes of files of results, for all that plays recorded episodes again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.result_files import (
    FORMAT,
    ResultFile,
    ResultHeader,
    read_results,
)
from roll_vec.evaluation.splits import Split, find_split, splits_of
from roll_vec.evaluation.turns import EpisodeTurns
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.registration.factories import WORK_KEYWORDS
from roll_vec.storage.files import check_regular
from roll_vec.storage.plain_data import decode

# The header of a file of results has far less.
_MOST_BYTES = 1 << 20


def results_id(path: str | os.PathLike[str]) -> str | None:
    """Return the id of a file of results; None: it does not begin as one.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    check_regular(path)
    with Path(path).open("rb") as file, suppress(ValueError, RecursionError):
        header = json.loads(file.readline(_MOST_BYTES))
        if isinstance(header, dict) and header.get("format") == FORMAT:
            return str(header.get("id"))
    return None


def find_split_of(header: ResultHeader, shop: Mapping[str, Any] | None) -> Split:
    """Return the split of a file of results; see `find_split`.

    Raises
    ------
    InvalidOptionError
    """
    if not splits_of(header.id):
        message = (
            f"id: there is no environment {header.id!r} here; if a module of yours "
            f"registers it, import that first (--id MODULE:{header.id})"
        )
        raise InvalidOptionError(message)
    return find_split(header.id, header.split, **(shop or {}))


def read_result_episodes(
    path: str | os.PathLike[str], shop: Mapping[str, Any] | None = None
) -> list[RecordedEpisode]:
    """Return the episodes of a file of results; of version 1 they have no answers.

    Parameters
    ----------
    path : path
    shop : mapping, optional
        For a file of WebShop on a shop of the user: as of `find_split`.

    Raises
    ------
    InvalidFileError
        If it is no file of results.
    InvalidOptionError
        If the id, the split or the shop does not exist here, or a keyword of the file
        would change the task.
    """
    content = read_results(path)
    return to_recorded_episodes(content, find_split_of(content.header, shop))


def to_recorded_episodes(content: ResultFile, split: Split) -> list[RecordedEpisode]:
    """Return the episodes of the content of a file of results, in their order.

    Raises
    ------
    InvalidOptionError
        If a keyword of the file would change the task.
    """
    keywords = content.header.keywords
    try:
        options = decode(json.dumps(keywords).encode())
    except ValueError as error:
        accepted = "plain data"
        raise InvalidOptionError.expected("keywords", accepted, keywords) from error
    # A file of a stranger does not say how many processes to start.
    options = {name: options[name] for name in options.keys() - WORK_KEYWORDS}
    if options.keys() & {"self", "num_envs"}:
        accepted = "keywords of environments, without num_envs"
        raise InvalidOptionError.expected("keywords", accepted, keywords)
    # It checks that the keywords leave the task as it is.
    split.make_vec(1, **options).close()
    keywords = {**split.keywords, **options}
    episodes = []
    for number, record in content.records.items():
        turns = record.turns or EpisodeTurns([], [], "")
        cut = {*turns.cut}
        episodes.append(
            RecordedEpisode(
                id=split.id,
                keywords=keywords,
                seed=record.seed,
                answers=turns.answers,
                place=f"episode {number}",
                rewards=turns.rewards,
                total_reward=record.total_reward,
                success=record.success,
                terminated=record.terminated,
                truncated=record.truncated,
                was_cut=[turn in cut for turn in range(len(turns.answers))],
                fault=record.fault,
            )
        )
    return episodes
