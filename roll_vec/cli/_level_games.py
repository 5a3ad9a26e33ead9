"""The games whose levels ``roll-vec levels`` makes, reads, writes and measures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.level_archives import SUFFIX, read_archive
from roll_vec.arrays.level_sets import LevelSet
from roll_vec.cli._errors import argument_error
from roll_vec.recordings.environments import full_id
from roll_vec.storage.files import check_regular

Measures = dict[str, NDArray[Any]]


class SearchBudget(NamedTuple):
    """The bounds of a search for solutions."""

    max_states: int | None
    """States that a search may visit in a level; None: the solver's own bound."""
    num_threads: int


class LevelGame:
    """A game that plays levels; the methods take and return its `LevelSet`."""

    ENV_ID: ClassVar[str]
    # The first is the usual one.
    TEXT_SUFFIXES: ClassVar[tuple[str, ...]]
    # Letters of this game's text files.
    CHARSET: ClassVar[str]
    # Keywords that the play of a level depends on, but not the level.
    PLAY_KEYWORDS: ClassVar[tuple[str, ...]] = (
        "max_episode_steps",
        "max_steps",
        "render_scale",
    )

    def load(self, levels: Any) -> LevelSet:
        """Return levels in any form of the keyword ``levels`` as a set."""
        raise NotImplementedError

    def from_generated(self, arrays: tuple[NDArray[Any], ...]) -> LevelSet:
        """Return rows of a provider's generated levels as a set."""
        raise NotImplementedError

    def format_text(self, levels: LevelSet, numbers: NDArray[np.int64]) -> str:
        """Return levels in the text format of the game, each below its number."""
        raise NotImplementedError

    def count(self, levels: LevelSet) -> Measures:
        """Return what can be counted on each board."""
        raise NotImplementedError

    def solve(
        self, levels: LevelSet, options: Mapping[str, Any], budget: SearchBudget
    ) -> Measures:
        """Return the exact measures of each level; NaN where there is none.

        ``options`` are the keywords of the environment that plays the levels.
        """
        raise NotImplementedError


class SokobanLevels(LevelGame):
    """Levels of ``roll_vec/Sokoban-v0``."""

    ENV_ID = "roll_vec/Sokoban-v0"
    TEXT_SUFFIXES = (".txt", ".xsb", ".sok")
    CHARSET = "#@+$*. -_"

    def load(self, levels: Any) -> LevelSet:
        """See `LevelGame.load`."""
        from roll_vec.envs.sokoban import load_levels

        return load_levels(levels)

    def from_generated(self, arrays: tuple[NDArray[Any], ...]) -> LevelSet:
        """See `LevelGame.from_generated`."""
        return self.load(arrays[0])

    def format_text(self, levels: LevelSet, numbers: NDArray[np.int64]) -> str:
        """See `LevelGame.format_text`."""
        from roll_vec.envs.sokoban.level_files import format_levels

        return format_levels(levels.grids, numbers)

    def count(self, levels: LevelSet) -> Measures:
        """See `LevelGame.count`."""
        from roll_vec.kernels.sokoban import rules

        boxes = (levels.grids == rules.BOX) | (levels.grids == rules.BOX_ON_TARGET)
        return {
            "cells": (levels.grids != rules.WALL).sum(axis=(1, 2)),
            "boxes": boxes.sum(axis=(1, 2)),
        }

    def solve(
        self, levels: LevelSet, options: Mapping[str, Any], budget: SearchBudget
    ) -> Measures:
        """See `LevelGame.solve`."""
        from roll_vec.envs.sokoban.solver import GAVE_UP, NO_SOLUTION, measure_rooms

        del options
        bound = {} if budget.max_states is None else {"max_states": budget.max_states}
        steps, pushes = measure_rooms(
            levels.grids, num_threads=budget.num_threads, **bound
        )
        lowest = np.minimum(steps, pushes)
        return {
            "solution_steps": np.where(steps < 0, np.nan, steps),
            "solution_pushes": np.where(pushes < 0, np.nan, pushes),
            "result": np.select(
                [(steps == NO_SOLUTION) | (pushes == NO_SOLUTION), lowest == GAVE_UP],
                ["unsolvable", "gave up"],
                "solved",
            ),
        }


class LakeLevels(LevelGame):
    """Maps of ``roll_vec/RandomFrozenLake-v0``."""

    ENV_ID = "roll_vec/RandomFrozenLake-v0"
    TEXT_SUFFIXES = (".txt",)
    CHARSET = "SFHG"
    PLAY_KEYWORDS = ("is_slippery", *LevelGame.PLAY_KEYWORDS)

    def load(self, levels: Any) -> LevelSet:
        """See `LevelGame.load`."""
        from roll_vec.envs.frozen_lake.level_files import load_levels

        return load_levels(levels)

    def from_generated(self, arrays: tuple[NDArray[Any], ...]) -> LevelSet:
        """See `LevelGame.from_generated`."""
        from roll_vec.kernels.frozen_lake import rules

        # A band of difficulty adds more arrays.
        maps, starts, *_ = arrays
        size = math.isqrt(maps.shape[1])
        # Random maps are squares; the code of the player is that of a start.
        grids = maps.copy()
        grids[np.arange(len(maps)), starts] = rules.PLAYER
        return self.load(grids.reshape(-1, size, size))

    def format_text(self, levels: LevelSet, numbers: NDArray[np.int64]) -> str:
        """See `LevelGame.format_text`."""
        from roll_vec.envs.frozen_lake.level_files import format_levels

        return format_levels(levels.grids, numbers)

    def count(self, levels: LevelSet) -> Measures:
        """See `LevelGame.count`."""
        from roll_vec.kernels.frozen_lake import rules

        return {"holes": (levels.grids == rules.HOLE).sum(axis=(1, 2))}

    def solve(
        self, levels: LevelSet, options: Mapping[str, Any], budget: SearchBudget
    ) -> Measures:
        """See `LevelGame.solve`."""
        from roll_vec.envs.frozen_lake import RandomFrozenLakeOptions
        from roll_vec.envs.frozen_lake.solver import measure_maps

        is_slippery = options.get("is_slippery", RandomFrozenLakeOptions.is_slippery)
        maps, starts = levels.arrays
        chances = measure_maps(
            maps,
            starts,
            levels.shape,
            is_slippery=is_slippery,
            num_threads=budget.num_threads,
        )
        return {"success_probability": chances}


GAMES: dict[str, LevelGame] = {
    game.ENV_ID: game for game in (SokobanLevels(), LakeLevels())
}
LEVEL_SUFFIXES = (
    SUFFIX,
    *sorted({suffix for game in GAMES.values() for suffix in game.TEXT_SUFFIXES}),
)
"""Of files with levels: that of arrays, then those of text."""


def game_of_id(
    env_id: str, argument: str = "SOURCE", accepted: str = "a file or one of"
) -> LevelGame:
    """Return the game of an id; the error names the argument that it belongs to.

    Raises
    ------
    UsageError
        If its levels are not of a kind that these commands know.
    """
    name = full_id(env_id).rpartition(":")[2]
    if name not in GAMES:
        ids = ", ".join(GAMES)
        raise argument_error(argument, f"expected {accepted} {ids}, got {name}")
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
        suffixes = LEVEL_SUFFIXES[1:]
        if not (files := [each for each in files if each.suffix.lower() in suffixes]):
            text = f"{path} has no files {', '.join(suffixes)}"
            raise argument_error("SOURCE", text)
        file = files[0]
    check_regular(file)
    if file.suffix.lower() == SUFFIX:
        levels, env_id = read_archive(file)
        if env_id is None:
            # Letters are of lakes; codes up to 3 without a box are, too.
            is_lake = levels.dtype.kind in "SU" or (
                levels.dtype.kind in "iu" and bool((levels <= 3).all())
            )
            env_id = (LakeLevels if is_lake else SokobanLevels).ENV_ID
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
        if letters and letters <= set(game.CHARSET):
            return game
    formats = " or ".join(repr(game.CHARSET) for game in GAMES.values())
    text = f"{file} has no levels: expected rows of the letters {formats}"
    raise argument_error("SOURCE", text)
