"""The games whose levels ``roll-vec levels`` makes, reads, writes and measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.cli._environments import full_id
from roll_vec.cli._errors import argument_error
from roll_vec.stacked.level_archives import SUFFIX, read_archive

__all__ = ["GAMES", "Columns", "Effort", "LevelGame", "game_of_file", "game_of_id"]

Columns = dict[str, NDArray[Any]]


class Effort(NamedTuple):
    """The bounds of a measurement."""

    max_states: int | None
    """States that a search may visit in a level; None: the solver's own bound."""
    num_threads: int


class LevelGame:
    """A game that plays levels; the methods take and return its sets of levels."""

    ENV_ID: ClassVar[str]
    # The first is the usual one.
    TEXT_SUFFIXES: ClassVar[tuple[str, ...]]
    # Letters that only this game's text files have.
    LETTERS: ClassVar[str]

    def load(self, levels: Any) -> Any:
        """Return levels in any form of the keyword ``levels`` as a set."""
        raise NotImplementedError

    def from_provider(self, arrays: tuple[NDArray[Any], ...]) -> Any:
        """Return the rows of a `LevelProvider` as a set."""
        raise NotImplementedError

    def take(self, levels: Any, numbers: NDArray[np.int64]) -> Any:
        """Return some levels of a set as a set."""
        raise NotImplementedError

    def to_text(self, levels: Any, numbers: NDArray[np.int64]) -> str:
        """Return levels in the text format of the game, each below its number."""
        raise NotImplementedError

    def to_array(self, levels: Any) -> NDArray[Any]:
        """Return levels as the (L, H, W) array of a ``.npz`` file."""
        raise NotImplementedError

    def count(self, levels: Any) -> Columns:
        """Return what can be counted on each board."""
        raise NotImplementedError


class SokobanLevels(LevelGame):
    """Levels of ``roll_vec/Sokoban-v0``."""

    ENV_ID = "roll_vec/Sokoban-v0"
    TEXT_SUFFIXES = (".txt", ".xsb", ".sok")
    LETTERS = "#@+$*. -_"

    def load(self, levels: Any) -> Any:
        """See `LevelGame.load`."""
        from roll_vec.envs.sokoban import load_levels

        return load_levels(levels)

    def from_provider(self, arrays: tuple[NDArray[Any], ...]) -> Any:
        """See `LevelGame.from_provider`."""
        return self.load(arrays[0])

    def take(self, levels: Any, numbers: NDArray[np.int64]) -> Any:
        """See `LevelGame.take`."""
        return self.load(levels.grids[numbers])

    def to_text(self, levels: Any, numbers: NDArray[np.int64]) -> str:
        """See `LevelGame.to_text`."""
        from roll_vec.envs.sokoban.level_files import format_levels

        return format_levels(levels.grids, numbers)

    def to_array(self, levels: Any) -> NDArray[Any]:
        """See `LevelGame.to_array`."""
        return levels.grids  # type: ignore[no-any-return]

    def count(self, levels: Any) -> Columns:
        """See `LevelGame.count`."""
        from roll_vec.kernels.sokoban import rules

        boxes = (levels.grids == rules.BOX) | (levels.grids == rules.BOX_ON_TARGET)
        return {
            "cells": (levels.grids != rules.WALL).sum(axis=(1, 2)),
            "boxes": boxes.sum(axis=(1, 2)),
        }


GAMES: dict[str, LevelGame] = {game.ENV_ID: game for game in (SokobanLevels(),)}


def game_of_id(env_id: str) -> LevelGame:
    """Return the game of an id.

    Raises
    ------
    UsageError
        If its levels are not of a kind that these commands know.
    """
    name = full_id(env_id)
    if name not in GAMES:
        ids = ", ".join(GAMES)
        raise argument_error("SOURCE", f"expected a file or one of {ids}, got {name}")
    return GAMES[name]


def game_of_file(path: Path) -> LevelGame:
    """Return the game of a file or folder of levels, by its content.

    Raises
    ------
    UsageError, InvalidOptionError
        If it cannot be read, or has levels of no game.
    """
    file = path
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.is_file())
        suffixes = {suffix for game in GAMES.values() for suffix in game.TEXT_SUFFIXES}
        file = next((each for each in files if each.suffix in suffixes), path)
    if file.suffix == SUFFIX:
        levels, env_id = read_archive(file)
        if env_id is None:
            kinds = {"S": "roll_vec/RandomFrozenLake-v0"}
            env_id = kinds.get(levels.dtype.kind, SokobanLevels.ENV_ID)
        if env_id not in GAMES:
            text = f"{file} has levels of {env_id}, expected one of {', '.join(GAMES)}"
            raise argument_error("SOURCE", text)
        return GAMES[env_id]
    try:
        with file.open(encoding="utf-8-sig") as lines:
            row = next(
                (line for line in lines if line.strip() and not line.startswith(";")),
                "",
            )
    except (OSError, UnicodeDecodeError) as error:
        raise argument_error("SOURCE", f"{file} cannot be read: {error}") from error
    letters = set(row.strip())
    for game in GAMES.values():
        if letters and letters <= set(game.LETTERS):
            return game
    formats = " or ".join(repr(game.LETTERS) for game in GAMES.values())
    text = f"{file} has no levels: expected rows of the letters {formats}"
    raise argument_error("SOURCE", text)
