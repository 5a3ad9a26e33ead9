"""The levels that a command line names, and their measures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.level_sets import LevelSet
from roll_vec.arrays.row_threads import resolve_num_threads
from roll_vec.cli._errors import argument_error
from roll_vec.cli._level_games import (
    LevelGame,
    Measures,
    SearchBudget,
    game_of_file,
    game_of_id,
)
from roll_vec.progress import report
from roll_vec.recordings.environments import SetupError, full_id, make_vector

# Numbers of one command; a set of so many boards takes hundreds of megabytes.
MAX_LEVELS = 10_000_000
# An id names any number of levels: so many of them if the user does not say.
_DEFAULT_COUNT = 100
# Random players at once, unless one level has more of them.
_PLAYERS = 1 << 15
MAX_PLAYERS = 100_000
"""The most random players of a level."""
# Keeps the streams of random players apart from others of the same seed.
_SEED_WORD = 0x72616E64
_QUANTILES = {"lowest": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "highest": 1.0}
_NO_VALUE = "\N{EN DASH}"


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
    max_levels: int | None = None,
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
    max_levels : int, optional
        The largest number of levels if ``ranges`` is None.

    Raises
    ------
    UsageError, InvalidOptionError, LevelGenerationError
    """
    numbers = None
    if ranges is not None:
        numbers = np.concatenate([np.arange(r.start, r.stop) for r in ranges])
    if Path(source).exists():
        return _open_file(source, options, numbers, max_levels)
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
    return game.from_generated(tuple(array[indices] for array in arrays))


def _open_file(
    source: str,
    options: Mapping[str, Any],
    numbers: NDArray[np.int64] | None,
    max_levels: int | None,
) -> LevelSource:
    game = game_of_file(Path(source))
    levels = game.load(source)
    count = len(levels)
    if numbers is None:
        numbers = np.arange(count if max_levels is None else min(count, max_levels))
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


class Measurement(NamedTuple):
    """The measures of some levels."""

    source: LevelSource
    columns: Measures
    """By name, (L,) each: numbers, NaN where a level has no such value; texts."""


def measure(
    source: LevelSource,
    *,
    episodes: int,
    seed: int,
    max_states: int | None,
    threads: int | None,
) -> Measurement:
    """Return the measures of levels; it reports its progress.

    Parameters
    ----------
    source : LevelSource
    episodes : int
        Of random actions in each level; 0: none.
    seed : int
        Of these actions.
    max_states : int or None
        See `SearchBudget`.
    threads : int or None
    """
    game, levels = source.game, source.levels
    columns: Measures = {"level": source.numbers, **game.count(levels)}
    shares = {}
    if episodes:
        # First, because it refuses environments without a step limit.
        shares["random_success"] = random_success(source, episodes, seed, threads)
    budget = SearchBudget(max_states, resolve_num_threads(threads))
    columns |= game.solve(levels, source.options, budget) | shares
    return Measurement(source, columns)


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
        source.game.ENV_ID, group * episodes, options=source.options, threads=threads
    )
    try:
        limit = env.unwrapped.engine.max_steps
        if not limit:
            text = "random players need a step limit, such as 100"
            raise argument_error("-o max_episode_steps", text)
        for first in range(0, count, group):
            # The last group has levels of the group before it, too.
            start = min(first, count - group)
            shares[start : start + group] = _play_group(
                env, source, start, group, episodes, seed, limit
            )
            report("random episodes", (start + group) * episodes, count * episodes)
    finally:
        env.close()
    return shares


def _play_group(
    env: Any,
    source: LevelSource,
    start: int,
    group: int,
    episodes: int,
    seed: int,
    limit: int,
) -> NDArray[np.float64]:
    """Return the share of success in some levels; `episodes` environments each."""
    space, count = env.single_action_space, len(source.levels)
    actions = np.empty((limit, group, episodes), space.dtype)
    for j, number in enumerate(source.numbers[start : start + group].tolist()):
        generator = np.random.default_rng([seed, number, _SEED_WORD])
        actions[:, j] = generator.integers(
            space.start, space.start + space.n, (limit, episodes), space.dtype
        )
    # Seeds that differ by the number of levels play the same level, and slip otherwise.
    seeds = np.add.outer(np.arange(start, start + group), np.arange(episodes) * count)
    env.reset(seed=seeds.ravel().tolist())
    is_playing = np.ones(env.num_envs, np.bool_)
    success = np.zeros(env.num_envs, np.bool_)
    for batch in actions.reshape(limit, -1):
        _, _, terminations, truncations, _ = env.step(batch)
        success |= is_playing & env.unwrapped.successes
        is_playing &= ~(terminations | truncations)
        if not is_playing.any():
            break
    shares: NDArray[np.float64] = success.reshape(group, episodes).mean(axis=1)
    return shares


def write_csv(file: BinaryIO, result: Measurement) -> None:
    """Write a header and a row for each level; cells without a value are empty."""
    columns = result.columns
    rows = io.TextIOWrapper(file, "utf-8", newline="")
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow(columns)
    for j in range(len(result.source.levels)):
        writer.writerow([_cell(column[j], "") for column in columns.values()])
    rows.detach()


def _cell(value: Any, no_value: str) -> str:
    """Return a value in as few digits as it takes."""
    if isinstance(value, np.floating):
        return no_value if np.isnan(value) else f"{value:.6g}"
    return str(value)


def stats_tables(result: Measurement, num_rows: int) -> Iterator[Any]:
    """Yield tables of a measurement: its first levels, and quantiles; needs rich."""
    from rich.table import Table

    columns, count = result.columns, len(result.source.levels)
    height, width = result.source.levels.shape
    title = f"{result.source.title}: {count:,} levels of {height} x {width} cells"
    if num_rows:
        table = Table(title=title)
        for name in columns:
            heading = name.replace("_", "\n")
            table.add_column(heading, justify="right", no_wrap=True)
        for j in range(min(count, num_rows)):
            table.add_row(*(_cell(column[j], _NO_VALUE) for column in columns.values()))
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
