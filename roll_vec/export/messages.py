"""Chats as JSON lines, for supervised fine-tuning: one row an episode."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from roll_vec.errors import InvalidFileError, InvalidOptionError, shorten
from roll_vec.export.formats import MALFORMED, Format, Row
from roll_vec.export.source import Source, encode_keywords
from roll_vec.trajectories import Trajectory, to_messages

_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_write_ascii = json.JSONEncoder(allow_nan=False).encode


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
        keywords = encode_keywords(source.keywords)
        with out.open("wb") as file:
            for episode in episodes:
                row = {
                    "messages": to_messages(episode),
                    "id": source.id,
                    "keywords": keywords,
                    "seed": episode.seed,
                    "return": episode.total_reward,
                    "success": episode.success,
                    "num_steps": episode.num_steps,
                    "terminated": episode.terminated,
                    "truncated": episode.truncated,
                    "rewards": episode.rewards.tolist(),
                }
                try:
                    line = _write(row).encode()
                except UnicodeEncodeError:
                    # An answer of a model may have half a surrogate pair.
                    line = _write_ascii(row).encode()
                file.write(line + b"\n")

    def read(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a file."""
        # As bytes: a damaged character is an error of its line.
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = _read(json.loads(line))
                except MALFORMED as error:
                    message = f"{path}, line {number}: no row of format messages"
                    raise InvalidFileError(message) from error
                yield row


def _read(columns: dict[str, Any]) -> Row:
    """Return the parts of a row to play again."""
    contents: dict[str, list[str]] = {"system": [], "user": [], "assistant": []}
    for message in columns["messages"]:
        contents[message["role"]].append(message["content"])
    return Row(
        id=columns["id"],
        keywords=json.loads(columns["keywords"]),
        seed=columns["seed"],
        actions=contents["assistant"],
        total_reward=float(columns["return"]),
        success=columns["success"],
        num_steps=columns["num_steps"],
        rewards=columns["rewards"],
        observations=contents["user"],
    )
