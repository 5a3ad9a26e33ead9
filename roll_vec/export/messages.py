"""Chats as JSON lines, for supervised fine-tuning: one row an episode."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from roll_vec.errors import InvalidFileError, InvalidOptionError, shorten
from roll_vec.export.formats import Format, Row, to_columns
from roll_vec.export.source import Source
from roll_vec.trajectories import Trajectory, to_messages

_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
# What readers of rows meet in JSON that no export writes.
_MALFORMED = ValueError, TypeError, LookupError, AttributeError, RecursionError


class MessagesFormat(Format):
    """JSON lines with the column ``messages``, a list of ``role`` and ``content``.

    The other columns are ``id``, ``keywords`` (JSON), ``seed``, ``return``,
    ``success``, ``num_steps``, ``terminated``, ``truncated`` and ``rewards``.
    """

    name: ClassVar[str] = "messages"
    suffix: ClassVar[str] = ".jsonl"
    summary: ClassVar[str] = "JSON lines: the episode as the messages of a chat"
    needs_texts: ClassVar[bool] = True

    def check_episode(self, episode: Trajectory) -> None:
        """Refuse rewards that JSON lacks."""
        if not np.isfinite([*episode.rewards, episode.total_reward]).all():
            message = (
                "format: messages needs finite rewards; those of the episode with "
                f"seed {episode.seed} are {shorten(episode.rewards.tolist())}"
            )
            raise InvalidOptionError(message)

    def finish(
        self, episodes: Iterator[Trajectory], out: Path, source: Source, target: Path
    ) -> None:
        """Write the lines."""
        del target
        with out.open("wb") as file:
            for episode in episodes:
                row = {"messages": to_messages(episode), **to_columns(episode, source)}
                # Half a surrogate pair, in an answer of a model, is the escape of JSON.
                file.write(_write(row).encode("utf-8", "backslashreplace") + b"\n")

    def read(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a file."""
        # As bytes: a damaged character is an error of its line.
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = _read(json.loads(line))
                except _MALFORMED as error:
                    message = f"{path}, line {number}: no row of format messages"
                    message += "; --format names another"
                    raise InvalidFileError(message) from error
                yield row


def _read(columns: dict[str, Any]) -> Row:
    """Return the parts of a row to play again."""
    contents: dict[str, list[str]] = {"system": [], "user": [], "assistant": []}
    for message in columns["messages"]:
        contents[message["role"]].append(message["content"])
    return Row.of(columns, contents["assistant"], contents["user"])
