"""Measures of levels: exact solutions, success of random players, their tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.cli._errors import argument_error
from roll_vec.cli._level_games import Columns, Effort
from roll_vec.cli._level_sources import LevelSource
from roll_vec.progress import report
from roll_vec.recordings.environments import make_vector
from roll_vec.stacked.row_threads import resolve_num_threads

__all__ = [
    "MAX_PLAYERS",
    "Measurement",
    "measure",
    "random_success",
    "stats_tables",
    "write_csv",
]

# Random players at once, unless one level has more of them.
_PLAYERS = 1 << 15
MAX_PLAYERS = 100_000
"""The most random players of a level."""
# Keeps the streams of random players apart from others of the same seed.
_SEED_WORD = 0x72616E64
_QUANTILES = {"lowest": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "highest": 1.0}
_NO_VALUE = "\N{EN DASH}"


class Measurement(NamedTuple):
    """The measures of some levels."""

    source: LevelSource
    columns: Columns
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
        See `Effort`.
    threads : int or None
    """
    game, levels = source.game, source.levels
    columns: Columns = {"level": source.numbers, **game.count(levels)}
    shares = {}
    if episodes:
        # First, because it refuses environments without a step limit.
        shares["random_success"] = random_success(source, episodes, seed, threads)
    effort = Effort(max_states, resolve_num_threads(threads))
    columns |= game.solve(levels, source.options, effort) | shares
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
