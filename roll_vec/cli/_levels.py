"""The games and levels that ``roll-vec levels`` names, and their measures."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.level_sets import (
    SUFFIX,
    LevelSet,
    decode_text,
    read_archive,
    split_lines,
)
from roll_vec.arrays.row_threads import resolve_num_threads
from roll_vec.cli._errors import argument_error
from roll_vec.progress import report
from roll_vec.recordings.environments import SetupError, full_id, make_vector
from roll_vec.storage.files import check_regular

# Numbers of one command; a set of so many boards takes hundreds of megabytes.
MAX_LEVELS = 10_000_000
# An id names any number of levels: so many of them if the user does not say.
_DEFAULT_COUNT = 100
# Random players at once, unless one level has more of them.
_PLAYERS = 1 << 15
# The most random players of a level.
MAX_PLAYERS = 100_000
# Keeps the streams of random players apart from others of the same seed.
_SEED_WORD = 0x72616E64
_QUANTILES = {"lowest": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "highest": 1.0}
_NO_VALUE = "\N{EN DASH}"

# Measures of L levels by name, (L,) each: numbers, NaN where there is none; texts.
Columns = dict[str, NDArray[Any]]


# ------------------------------------------------------------------------- the games


class LevelGame(NamedTuple):
    """A game that plays levels.

    Attributes
    ----------
    env_id : str
    package : str
        Of `roll_vec.envs`; its ``level_files`` reads and writes levels.
    text_suffixes : tuple of str
        The first is the usual one.
    charset : str
        The letters of its text files.
    generated : callable
        From the rows of a provider's arrays to boards.
    measure : callable
        From a source of levels, a bound of states and threads.
    play_keywords : tuple of str
        Keywords that the play of a level depends on, but not the level.
    """

    env_id: str
    package: str
    text_suffixes: tuple[str, ...]
    charset: str
    generated: Callable[..., NDArray[np.uint8]]
    measure: Callable[..., Columns]
    play_keywords: tuple[str, ...]

    def load(self, levels: Any) -> LevelSet:
        """Return levels in any form of the keyword ``levels`` as a set."""
        levels_of_game: LevelSet = self._files.load_levels(levels)
        return levels_of_game

    def format_text(self, levels: LevelSet, numbers: NDArray[np.int64]) -> str:
        """Return levels in the text format of the game, each below its number."""
        text: str = self._files.format_levels(levels.grids, numbers)
        return text

    @property
    def _files(self) -> Any:
        return import_module(f"roll_vec.envs.{self.package}.level_files")


def _draw_maps(
    maps: NDArray[np.uint8], starts: NDArray[np.int64], *_: Any
) -> NDArray[np.uint8]:
    """Return generated lakes as boards; a band of difficulty adds more arrays."""
    from roll_vec.kernels.frozen_lake import rules

    # Random maps are squares; the code of the player is that of a start.
    size = math.isqrt(maps.shape[1])
    grids = maps.copy()
    grids[np.arange(len(maps)), starts] = rules.PLAYER
    return grids.reshape(-1, size, size)


def _measure_rooms(
    source: LevelSource, max_states: int | None, num_threads: int
) -> Columns:
    from roll_vec.envs.sokoban.solver import GAVE_UP, NO_SOLUTION, measure_rooms
    from roll_vec.kernels.sokoban import rules

    grids = source.levels.grids
    bound = {} if max_states is None else {"max_states": max_states}
    steps, pushes = measure_rooms(grids, num_threads=num_threads, **bound)
    lowest = np.minimum(steps, pushes)
    boxes = np.isin(grids, (rules.BOX, rules.BOX_ON_TARGET))
    return {
        "cells": (grids != rules.WALL).sum(axis=(1, 2)),
        "boxes": boxes.sum(axis=(1, 2)),
        "solution_steps": np.where(steps < 0, np.nan, steps),
        "solution_pushes": np.where(pushes < 0, np.nan, pushes),
        "result": np.select(
            [(steps == NO_SOLUTION) | (pushes == NO_SOLUTION), lowest == GAVE_UP],
            ["unsolvable", "gave up"],
            "solved",
        ),
    }


def _measure_maps(
    source: LevelSource, max_states: int | None, num_threads: int
) -> Columns:
    from roll_vec.envs.frozen_lake import RandomFrozenLakeOptions
    from roll_vec.envs.frozen_lake.solver import measure_maps
    from roll_vec.kernels.frozen_lake import rules

    del max_states
    levels, default = source.levels, RandomFrozenLakeOptions.is_slippery
    is_slippery = source.options.get("is_slippery", default)
    maps, starts = levels.arrays
    chances = measure_maps(
        maps, starts, levels.shape, is_slippery=is_slippery, num_threads=num_threads
    )
    holes = (levels.grids == rules.HOLE).sum(axis=(1, 2))
    return {"holes": holes, "success_probability": chances}


_PLAY_KEYWORDS = ("max_episode_steps", "max_steps", "render_scale")
SOKOBAN = LevelGame(
    "roll_vec/Sokoban-v0",
    "sokoban",
    (".txt", ".xsb", ".sok"),
    "#@+$*. -_",
    lambda rooms, *_: rooms,
    _measure_rooms,
    _PLAY_KEYWORDS,
)
_LAKES = LevelGame(
    "roll_vec/RandomFrozenLake-v0",
    "frozen_lake",
    (".txt",),
    "SFHG",
    _draw_maps,
    _measure_maps,
    ("is_slippery", *_PLAY_KEYWORDS),
)
_GAMES = {game.env_id: game for game in (SOKOBAN, _LAKES)}
_TEXT_SUFFIXES = sorted({name for game in _GAMES.values() for name in game[2]})
# Of files with levels: that of arrays, then those of text.
LEVEL_SUFFIXES = (SUFFIX, *_TEXT_SUFFIXES)


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
    if name not in _GAMES:
        ids = ", ".join(_GAMES)
        raise argument_error(argument, f"expected {accepted} {ids}, got {name}")
    return _GAMES[name]


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
        suffixes = _TEXT_SUFFIXES
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
            env_id = (_LAKES if is_lake else SOKOBAN).env_id
        if env_id not in _GAMES:
            text = f"{file} has levels of {env_id}, expected one of {', '.join(_GAMES)}"
            raise argument_error("SOURCE", text)
        return _GAMES[env_id]
    try:
        text = decode_text(file.read_bytes())
    except (OSError, UnicodeDecodeError) as error:
        raise argument_error("SOURCE", f"{file} cannot be read: {error}") from error
    # Collections of Sokoban begin with titles and credits.
    rows = [line.strip() for line in split_lines(text)]
    row = next((each for each in rows if each and not each.startswith(";")), "")
    if row and set(row) <= set(_LAKES.charset):
        return _LAKES
    if "#" in text:
        return SOKOBAN
    formats = " or ".join(repr(game.charset) for game in _GAMES.values())
    text = f"{file} has no levels: expected rows of the letters {formats}"
    raise argument_error("SOURCE", text)


# ------------------------------------------------------------------ levels, measures


class LevelSource(NamedTuple):
    """Some levels, and the environment that plays them.

    Attributes
    ----------
    title : str
        The file or the id, as the user named it.
    game : LevelGame
    levels : LevelSet
    numbers : (L,) int64
        Numbers of the levels in their file, or seeds of the id.
    options : mapping
        Keywords for an environment that plays the levels.
    """

    title: str
    game: LevelGame
    levels: LevelSet
    numbers: NDArray[np.int64]
    options: Mapping[str, Any]


def open_source(
    source: str,
    options: Mapping[str, Any],
    ranges: Sequence[range] | None,
    *,
    max_levels: int | None = None,
) -> LevelSource:
    """Return the levels of a file, a folder or an id.

    Parameters
    ----------
    source : str
        A path that exists, or an id.
    options : mapping
        Keywords of the environment; beside a path only `LevelGame.play_keywords`.
    ranges : sequence of range or None
        The levels to take; None: all of a file, the first 100 seeds of an id.
    max_levels : int, optional
        The largest number of levels if ``ranges`` is None.

    Raises
    ------
    UsageError, InvalidOptionError, LevelGenerationError
    """
    numbers = None
    if ranges is not None:
        numbers = np.concatenate([np.arange(r.start, r.stop) for r in ranges])
    open_it = _open_file if Path(source).exists() else _open_id
    title, game, levels, numbers = open_it(source, options, numbers, max_levels)
    keywords = {key: options[key] for key in game.play_keywords if key in options}
    return LevelSource(title, game, levels, numbers, {**keywords, "levels": levels})


def _open_id(
    source: str,
    options: Mapping[str, Any],
    numbers: NDArray[np.int64] | None,
    max_levels: int | None,
) -> tuple[str, LevelGame, LevelSet, NDArray[np.int64]]:
    """Return the first fields of the source that draws the levels of an id."""
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
        numbers = np.arange(min(_DEFAULT_COUNT, max_levels or _DEFAULT_COUNT))
    if int(numbers.max()) >> 32:
        text = f"expected seeds below 2**32, got {numbers.max()}"
        raise argument_error("--levels", text)
    return name, game, draw_levels(source, game, options, numbers), numbers


def draw_levels(
    env_id: str, game: LevelGame, options: Mapping[str, Any], numbers: NDArray[np.int64]
) -> LevelSet:
    """Return the levels that an id plays in the episodes of some seeds.

    Raises
    ------
    UsageError, LevelGenerationError
    """
    with closing(make_vector(env_id, 1, options=options)) as env:
        provider = env.unwrapped.engine.level_provider  # type: ignore[attr-defined]
        arrays, indices = provider.get(numbers.astype(np.uint64))
    return game.load(game.generated(*(array[indices] for array in arrays)))


def _open_file(
    source: str,
    options: Mapping[str, Any],
    numbers: NDArray[np.int64] | None,
    max_levels: int | None,
) -> tuple[str, LevelGame, LevelSet, NDArray[np.int64]]:
    """Return the first fields of the source that reads a file or a folder."""
    game = game_of_file(Path(source))
    levels = game.load(source)
    count = len(levels)
    if numbers is None:
        numbers = np.arange(count if max_levels is None else min(count, max_levels))
    if numbers.max() >= count:
        text = f"{source} has {count:,} levels, from 0 on; got {numbers.max()}"
        raise argument_error("--levels", text)
    # Keywords that the environment refuses beside levels are errors here, too.
    make_vector(game.env_id, 1, options={**options, "levels": levels}).close()
    if others := [name for name in options if name not in game.play_keywords]:
        text = (
            f"{', '.join(others)}: cannot be given beside a file, which has its levels "
            f"already; those that can: {', '.join(game.play_keywords)}"
        )
        raise argument_error("-o", text)
    if len(numbers) < count or (numbers != np.arange(count)).any():
        levels = game.load(levels.grids[numbers])
    return source, game, levels, numbers


def measure(
    source: LevelSource,
    *,
    episodes: int,
    seed: int,
    max_states: int | None,
    threads: int | None,
) -> Columns:
    """Return the measures of levels; it reports its progress.

    Parameters
    ----------
    source : LevelSource
    episodes : int
        Of random actions in each level; 0: none.
    seed : int
        Of these actions.
    max_states : int or None
        States that a search may visit in a level; None: the solver's own bound.
    threads : int or None
    """
    shares = {}
    if episodes:
        # First, because it refuses environments without a step limit.
        shares["random_success"] = random_success(source, episodes, seed, threads)
    num_threads = resolve_num_threads(threads)
    own = source.game.measure(source, max_states, num_threads)
    return {"level": source.numbers, **own, **shares}


def random_success(
    source: LevelSource, episodes: int, seed: int, threads: int | None = None
) -> NDArray[np.float64]:
    """Return the share of random players that succeed within the step limit.

    The actions are a function of the seed and the number of the level.

    Returns
    -------
    (L,) float64

    Raises
    ------
    UsageError
        If there is no step limit.
    """
    count = len(source.levels)
    group = max(1, min(count, _PLAYERS // episodes))
    shares = np.zeros(count)
    env: Any = make_vector(
        source.game.env_id, group * episodes, options=source.options, threads=threads
    )
    with closing(env):
        limit, space = env.unwrapped.engine.max_steps, env.single_action_space
        if not limit:
            text = "random players need a step limit, such as 100"
            raise argument_error("-o max_episode_steps", text)
        actions = np.empty((limit, group, episodes), space.dtype)
        for first in range(0, count, group):
            # The last group has levels of the group before it, too.
            start = min(first, count - group)
            levels = np.arange(start, start + group)
            for j, number in enumerate(source.numbers[levels].tolist()):
                generator = np.random.default_rng([seed, number, _SEED_WORD])
                actions[:, j] = generator.integers(
                    space.start, space.start + space.n, (limit, episodes), space.dtype
                )
            # Seeds that differ by the count play the same level, and slip otherwise.
            seeds = np.add.outer(levels, np.arange(episodes) * count)
            success = _play_once(env, seeds.ravel(), actions.reshape(limit, -1))
            shares[levels] = success.reshape(group, episodes).mean(axis=1)
            report("random episodes", (start + group) * episodes, count * episodes)
    return shares


def _play_once(
    env: Any, seeds: NDArray[np.int64], actions: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return which environments succeed in the episodes of seeds."""
    env.reset(seed=seeds.tolist())
    is_playing = np.ones(env.num_envs, np.bool_)
    success = np.zeros(env.num_envs, np.bool_)
    for batch in actions:
        _, _, terminations, truncations, _ = env.step(batch)
        success |= is_playing & env.unwrapped.successes
        is_playing &= ~(terminations | truncations)
        if not is_playing.any():
            break
    return success


def write_csv(file: BinaryIO, columns: Columns) -> None:
    """Write a header and a row for each level; cells without a value are empty."""
    rows = io.TextIOWrapper(file, "utf-8", newline="")
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(value, "") for value in row])
    rows.detach()


def _cell(value: Any, no_value: str) -> str:
    """Return a value in as few digits as it takes."""
    if isinstance(value, np.floating):
        return no_value if np.isnan(value) else f"{value:.6g}"
    return str(value)


def stats_tables(source: LevelSource, columns: Columns, num_rows: int) -> Iterator[Any]:
    """Yield tables of measures: of the first levels, and quantiles; needs rich."""
    from rich.table import Table

    count = len(source.levels)
    height, width = source.levels.shape
    title = f"{source.title}: {count:,} levels of {height} x {width} cells"
    if num_rows:
        table = Table(title=title)
        for name in columns:
            heading = name.replace("_", "\n")
            table.add_column(heading, justify="right", no_wrap=True)
        for row in islice(zip(*columns.values(), strict=True), num_rows):
            table.add_row(*(_cell(value, _NO_VALUE) for value in row))
        if count > num_rows:
            table.add_row("...")
        yield table
    table = Table(title=f"of {count:,} levels" if num_rows else title)
    # The names take two lines where one is too wide.
    table.add_column("", justify="right")
    for name in ("levels", *_QUANTILES, "mean"):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    for name, column in columns.items():
        if name == "level":
            continue
        if column.dtype.kind not in "iuf":
            texts, counts = np.unique(column, return_counts=True)
            for text, number in zip(texts, counts, strict=True):
                table.add_row(f"{text}", f"{number:,}")
            continue
        values = column[~np.isnan(column.astype(np.float64))]
        cells = [f"{len(values):,}"]
        if len(values):
            quantiles = np.quantile(values, list(_QUANTILES.values()))
            cells += [f"{value:.4g}" for value in (*quantiles, values.mean())]
        table.add_row(name.replace("_", " "), *cells)
    yield table
