"""Chats as JSON lines, for supervised fine-tuning: one row an episode."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, ClassVar

import numpy as np
from gymnasium.spaces import Text

from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.export.formats import Format
from roll_vec.trajectories import Trajectory, to_messages
from roll_vec.trajectories.trajectory import TEXTS

_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class MessagesFormat(Format):
    """JSON lines with the column ``messages``, a list of ``role`` and ``content``.

    The other columns are ``id``, ``keywords`` (JSON), ``seed``, ``return``,
    ``success``, ``num_steps``, ``terminated``, ``truncated`` and ``rewards``.
    """

    name: ClassVar[str] = "messages"
    suffix: ClassVar[str] = ".jsonl"
    summary: ClassVar[str] = "JSON lines: the episode as the messages of a chat"
    needs: ClassVar[str] = "observations and actions that are texts"
    keywords: ClassVar[Mapping[str, str]] = TEXTS

    def __init__(self, envs: Any, policy: str) -> None:
        super().__init__(envs, policy)
        spaces = self.observation_space, self.action_space
        if not all(isinstance(space, Text) for space in spaces):
            raise self.refuse()

    def write(self, file: BinaryIO, episodes: Iterable[Trajectory]) -> None:
        """Write the lines."""
        for episode in episodes:
            if not np.isfinite([*episode.rewards, episode.total_reward]).all():
                message = (
                    "format: messages needs finite rewards; those of the episode with "
                    f"seed {episode.seed} are {shorten(episode.rewards.tolist())}"
                )
                raise InvalidOptionError(message)
            row = {"messages": to_messages(episode), **self.to_columns(episode)}
            # Half a surrogate pair, in an answer of a model, is the escape of JSON.
            file.write(_write(row).encode("utf-8", "backslashreplace") + b"\n")
