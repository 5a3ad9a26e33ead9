"""The levels that a command line names: those of a file, or of an id's seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.cli._errors import argument_error
from roll_vec.cli._level_games import LevelGame, game_of_file, game_of_id
from roll_vec.recordings.environments import SetupError, full_id, make_vector
from roll_vec.stacked.level_sets import LevelSet

__all__ = ["MAX_LEVELS", "LevelSource", "draw_levels", "open_source"]

# Numbers of one command; a set of so many boards takes hundreds of megabytes.
MAX_LEVELS = 10_000_000
# An id names any number of levels: so many of them if the user does not say.
_DEFAULT_COUNT = 100


class LevelSource(NamedTuple):
    """Some levels, and the environment that plays them."""

    title: str
    """The file or the id, as the user named it."""
    game: LevelGame
    levels: LevelSet
    numbers: NDArray[np.int64]
    """(L,): numbers of the levels in their file, or seeds of the id."""
    options: Mapping[str, Any]
    """Keywords for an environment that plays the levels."""


def open_source(
    source: str,
    options: Mapping[str, Any],
    ranges: Sequence[range] | None,
    *,
    most: int | None = None,
) -> LevelSource:
    """Return the levels of a file, a folder or an id.

    Parameters
    ----------
    source : str
        A path that exists, or an id.
    options : mapping
        Keywords of the environment; beside a path only `LevelGame.PLAY_KEYWORDS`.
    ranges : sequence of range or None
        The levels to take; None: all of a file, the first 100 seeds of an id.
    most : int, optional
        The largest number of levels if ``ranges`` is None.

    Raises
    ------
    UsageError, InvalidOptionError, LevelGenerationError
    """
    numbers = None
    if ranges is not None:
        numbers = np.concatenate([np.arange(r.start, r.stop) for r in ranges])
    if Path(source).exists():
        return _open_file(source, options, numbers, most)
    try:
        name = full_id(source)
    except SetupError as error:
        text = f"there is no file {source}, and {error}"
        raise argument_error("SOURCE", text) from error
    game = game_of_id(name)
    if "levels" in options:
        text = (
            "levels cannot be given beside an id here: name the file in place of the id"
        )
        raise argument_error("-o", text)
    if numbers is None:
        numbers = np.arange(min(_DEFAULT_COUNT, most or _DEFAULT_COUNT))
    if int(numbers.max()) >> 32:
        text = f"expected seeds below 2**32, got {numbers.max()}"
        raise argument_error("--levels", text)
    levels = draw_levels(source, game, options, numbers)
    return LevelSource(
        name, game, levels, numbers, _play_options(game, options, levels)
    )


def draw_levels(
    env_id: str,
    game: LevelGame,
    options: Mapping[str, Any],
    numbers: NDArray[np.int64],
) -> LevelSet:
    """Return the levels that an id plays in the episodes of some seeds.

    Raises
    ------
    UsageError, LevelGenerationError
    """
    env: Any = make_vector(env_id, 1, options=options)
    try:
        provider = env.unwrapped.engine.level_provider
        arrays, indices = provider.get(numbers.astype(np.uint64))
    finally:
        env.close()
    return game.read_provider(tuple(array[indices] for array in arrays))


def _open_file(
    source: str,
    options: Mapping[str, Any],
    numbers: NDArray[np.int64] | None,
    most: int | None,
) -> LevelSource:
    game = game_of_file(Path(source))
    levels = game.load(source)
    count = len(levels)
    if numbers is None:
        numbers = np.arange(count if most is None else min(count, most))
    if numbers.max() >= count:
        text = f"{source} has {count:,} levels, from 0 on; got {numbers.max()}"
        raise argument_error("--levels", text)
    # Keywords that the environment refuses beside levels are errors here, too.
    make_vector(game.ENV_ID, 1, options={**options, "levels": levels}).close()
    if others := [name for name in options if name not in game.PLAY_KEYWORDS]:
        text = (
            f"{', '.join(others)}: cannot be given beside a file, which has its levels "
            f"already; those that can: {', '.join(game.PLAY_KEYWORDS)}"
        )
        raise argument_error("-o", text)
    if len(numbers) < count or (numbers != np.arange(count)).any():
        levels = game.load(levels.grids[numbers])
    return LevelSource(
        source, game, levels, numbers, _play_options(game, options, levels)
    )


def _play_options(
    game: LevelGame, options: Mapping[str, Any], levels: LevelSet
) -> dict[str, Any]:
    names = game.PLAY_KEYWORDS
    keywords = {name: options[name] for name in names if name in options}
    return {**keywords, "levels": levels}
