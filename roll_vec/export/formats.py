"""The table of formats, and the interface of a format."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from gymnasium.spaces import Text

from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.export.source import Source, encode_keywords
from roll_vec.trajectories import Trajectory


@dataclass(frozen=True)
class Row:
    """The parts of a row that `roll_vec.export.verify` plays again and compares."""

    id: str
    keywords: dict[str, Any]
    seed: int | None
    actions: list[Any]
    total_reward: float
    success: bool | None
    num_steps: int
    rewards: list[float]
    observations: list[Any]
    """The first ones of the episode, as many as the file has; maybe none."""

    @classmethod
    def of(
        cls, columns: Mapping[str, Any], actions: list[Any], observations: list[Any]
    ) -> Row:
        """Return a row of the columns of `to_columns`.

        Raises
        ------
        ValueError, TypeError, LookupError
            For columns that no export writes.
        """
        seed, keywords = columns["seed"], json.loads(columns["keywords"])
        is_seed = seed is None or (type(seed) is int and seed >= 0)
        if not is_seed or not isinstance(keywords, dict) or "num_envs" in keywords:
            message = f"a seed or keywords of no export: {seed}, {keywords}"
            raise ValueError(message)
        return cls(
            id=str(columns["id"]),
            keywords=keywords,
            seed=seed,
            actions=actions,
            total_reward=float(columns["return"]),
            success=columns["success"],
            num_steps=columns["num_steps"],
            rewards=[float(each) for each in columns["rewards"]],
            observations=observations,
        )


def to_columns(episode: Trajectory, source: Source) -> dict[str, Any]:
    """Return an episode without observations and actions, as JSON can write it."""
    return {
        "id": source.id,
        "keywords": encode_keywords(source.keywords),
        "seed": episode.seed,
        "return": episode.total_reward,
        "success": episode.success,
        "num_steps": episode.num_steps,
        "terminated": episode.terminated,
        "truncated": episode.truncated,
        "rewards": episode.rewards.tolist(),
    }


class Format(ABC):
    """A format of files, or of folders, of episodes.

    An export calls `check` once, `check_episode` for each row, and `finish` at the end.

    Attributes
    ----------
    name : str
        The value of ``--format``.
    suffix : str
        The end that the name of a file has to have; ``""``: any.
    summary : str
        One line for ``--help``.
    needs_texts : bool
        True: observations and actions have to be texts.  The command line then asks
        grid games for texts, with the action in tags.
    needs_pictures : bool
        True: observations have to be pictures, actions texts.  The command line then
        asks grid games for them.
    """

    name: ClassVar[str]
    suffix: ClassVar[str] = ""
    summary: ClassVar[str]
    needs_texts: ClassVar[bool] = False
    needs_pictures: ClassVar[bool] = False

    def check(self, source: Source, out: Path) -> None:
        """Raise an error for a source or an output that the format cannot have.

        Without a method of the format's own, ``needs_texts`` decides.

        Raises
        ------
        InvalidOptionError
        MissingExtraError
        """
        del out
        if self.needs_texts:
            _check_texts(self.name, source)

    def check_episode(self, episode: Trajectory) -> None:  # noqa: B027
        """Raise an error for an episode that the format cannot have.

        Raises
        ------
        InvalidOptionError
        """

    @abstractmethod
    def finish(
        self, episodes: Iterator[Trajectory], out: Path, source: Source, target: Path
    ) -> None:
        """Write all rows to a file or folder that does not exist yet.

        The same episodes give the same bytes.

        Parameters
        ----------
        episodes : iterator of Trajectory
            In their order.  Of the infos they have the instruction alone.
        out : Path
        source : Source
        target : Path
            ``out`` is moved there when it is complete.
        """

    @abstractmethod
    def read(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a complete file.

        Raises
        ------
        InvalidFileError
            If it is none of this format.
        """

    def is_output(self, path: Path) -> bool:
        """Return whether a path has an output of this format, and nothing else.

        No other file or folder is ever deleted.
        """
        return path.is_file()


def _check_texts(format: str, source: Source) -> None:
    """Raise InvalidOptionError if observations or actions are no texts."""
    for name, space, keyword in (
        ("observations", source.observation_space, "obs_mode"),
        ("actions", source.action_space, "action_mode"),
    ):
        if not isinstance(space, Text):
            message = (
                f"format: {format} needs {name} that are texts; those of "
                f"{source.id} are {shorten(space)} (a game on a grid has texts "
                f"with {keyword}='text')"
            )
            raise InvalidOptionError(message)


def check_unicode(name: str, episode: Trajectory) -> None:
    """Refuse texts that UTF-8 does not have: a model may write half a surrogate pair.

    Raises
    ------
    InvalidOptionError
    """
    for value in (*episode.observations, *episode.actions):
        try:
            if isinstance(value, str):
                value.encode()
        except UnicodeEncodeError:
            message = (
                f"format: {name} needs texts of whole characters; the episode with "
                f"seed {episode.seed} has half a surrogate pair in {shorten(value)} "
                "(the format messages can write it)"
            )
            raise InvalidOptionError(message) from None


FORMATS: dict[str, Format] = {}
"""By name; `register_format` adds one."""


def register_format(format: Format) -> None:
    """Add a format, or replace the one of the same name."""
    FORMATS[format.name] = format


def find_format(name: str) -> Format:
    """Return the format of a name.

    Raises
    ------
    InvalidOptionError
    """
    if name not in FORMATS:
        raise InvalidOptionError.expected(
            "format", f"one of {', '.join(FORMATS)}", name
        )
    return FORMATS[name]
