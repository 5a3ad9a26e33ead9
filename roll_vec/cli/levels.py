"""``roll-vec levels``: make, show, measure and write sets of levels."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from roll_vec.arrays.level_sets import SUFFIX, write_archive
from roll_vec.cli._errors import (
    argument_error,
    check_target,
    file_errors,
    new_file,
    require,
)
from roll_vec.cli._levels import (
    LEVEL_SUFFIXES,
    MAX_LEVELS,
    MAX_PLAYERS,
    SOKOBAN,
    LevelGame,
    draw_levels,
    game_of_id,
    measure,
    open_source,
    stats_tables,
    write_csv,
)
from roll_vec.cli._options import (
    add_command,
    add_commands,
    number_ranges,
    refuse_arguments,
)
from roll_vec.cli._tables import progress
from roll_vec.errors import InvalidOptionError
from roll_vec.recordings.environments import full_id, make_vector
from roll_vec.render.boards import MAX_BOARDS, draw_boards
from roll_vec.render.mosaic import PICTURE_SUFFIXES, picture_format, save_picture

# Boards of a sheet if the user does not say how many.
_SHEET = 16
# Columns of a screen that no table fills.
_NO_LIMIT = 10_000

_SUMMARY = "make, show, measure and write sets of levels"

_EPILOG = """\
Levels are those of roll_vec/Sokoban-v0 or of roll_vec/RandomFrozenLake-v0. A
SOURCE is a file or a folder of levels, or an id, whose level n is that of seed
n. Beside an id, -o takes all its keywords; beside a file, which has its levels
already, max_episode_steps, max_steps, render_scale, and is_slippery of lakes.

files (docs/levels.md), all of them played with -o levels=FILE:
  .txt .xsb .sok   Sokoban: rows of # @ + $ * . and space; any other line, as a
                   title or a blank one, ends a level
  .txt             lakes: rows of S F H G; a blank line, or one that begins
                   with ";", ends a level
  .npz             an array "levels"
"""

_EXAMPLES = """\

examples:
  roll-vec levels make roll_vec/Sokoban-v0 --num-levels 1000 --out train.txt
  roll-vec levels show train.txt --levels 0-24 --out sheet.png
  roll-vec levels stats train.txt --out train.csv
  roll-vec levels export roll_vec/Sokoban-v0 --levels 3,7,10-12 --out few.txt
  roll-vec play roll_vec/Sokoban-v0 -o levels=train.txt --seed 3
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    texts = _SUMMARY, f"{_SUMMARY.capitalize()}.", _EPILOG + _EXAMPLES
    inner = add_commands(commands, "levels", *texts)
    add = partial(add_command, inner, epilog=_EPILOG)

    def take_source(parser: Any, default: str, max_levels: int = MAX_LEVELS) -> None:
        parser.option("SOURCE", "a file or a folder of levels, or an id")
        parser.option(
            "--levels",
            "such as 0-15,40: numbers of a file's levels, from 0, or seeds of an "
            f"id (default: {default})",
            "NUMBERS",
            number_ranges(max_levels),
        )
        parser.take("-o")

    some = "all of a file, the first 100 of an id"
    out = f"the file: {SUFFIX}, or text as {', '.join(LEVEL_SUFFIXES[1:])}"
    parser = add(
        "make",
        _make,
        "generate levels and write them to a file",
        "Generate the levels that an environment with the keywords num_levels=N and\n"
        "start_level=S plays: level n of the file is that of seed S + n.",
    )
    parser.take("ID", "-o")
    parser.number("--num-levels", "levels to generate", 1, MAX_LEVELS, default=1000)
    parser.number("--start-level", "seed of the first level", 0, metavar="S", default=0)
    parser.option("--out", out, required=True)

    parser = add(
        "show",
        _show,
        "draw a sheet of boards, or write them as text",
        "Draw the boards of levels side by side as a picture, in rows from left to\n"
        "right; or write them on the screen as text, in the format of a file.",
    )
    take_source(parser, f"the first {_SHEET}", MAX_BOARDS)
    parser.option(
        "--out",
        f"the picture: {', '.join(PICTURE_SUFFIXES)}; -o render_scale=N sizes its "
        "boards",
        default=Path("levels.png"),
    )
    parser.take("--text")

    parser = add(
        "stats",
        _stats,
        "measure how difficult levels are",
        "Measure levels: the fewest moves and the fewest pushes that solve a Sokoban\n"
        "level, by an exact search; the chance of the best player to reach the goal\n"
        "of a lake; and how often random players succeed within the step limit of\n"
        "the environment (-o max_episode_steps=N).",
    )
    take_source(parser, some)
    text = "episodes of random actions in each level"
    parser.number("--random-episodes", text, 0, MAX_PLAYERS, default=100)
    parser.option("--seed", "seed of the random actions")
    parser.number(
        "--max-states",
        "positions after which the search gives a Sokoban level up (default: the "
        "solver's own bound)",
        1,
    )
    parser.option("--threads", "threads (default: one for each core)")
    parser.number("--num-rows", "levels in the table on the screen", 0, default=20)
    parser.option("--out", "write a row for each level", "FILE.csv")

    parser = add(
        "export",
        _export,
        "write levels in another format",
        "Write levels as text or as .npz. The keyword levels reads the file back as\n"
        "the same levels: smaller ones of a set stay padded with wall to the size of\n"
        "the largest.",
    )
    take_source(parser, some)
    parser.option("--out", out, required=True)


def _make(arguments: argparse.Namespace) -> int:
    game = game_of_id(arguments.id, "ID", "one of")
    count, start = arguments.num_levels, arguments.start_level
    _check_out(game, arguments.out)
    for name in ("num_levels", "start_level", "levels"):
        if name in arguments.options:
            flag = f"use --{name.replace('_', '-')}"
            hint = "make generates levels" if name == "levels" else flag
            text = f"{name} cannot be used here: {hint}"
            raise argument_error("-o", text)
    options = {**arguments.options, "num_levels": count, "start_level": start}
    require("rich", "roll-vec levels")
    with progress():
        levels = draw_levels(arguments.id, game, options, np.arange(count))
    seeds = f"seeds {start} to {start + count - 1}"
    _write(game, levels, f"{full_id(arguments.id)}, {seeds}", arguments.out)
    return 0


def _show(arguments: argparse.Namespace) -> int:
    out = arguments.out
    if arguments.text:
        refuse_arguments(arguments, ["out"], "with --text")
        if "render_scale" in arguments.options:
            raise argument_error("-o", "render_scale: not allowed with --text")
    else:
        check_target("--out", out)
        try:
            picture_format(out)
        except InvalidOptionError as error:
            raise argument_error("--out", str(error)) from error
        require("pillow", "a sheet of levels without --text", module="PIL.Image")
    source = open_source(
        arguments.source, arguments.options, arguments.levels, max_levels=_SHEET
    )
    if arguments.text:
        sys.stdout.write(source.game.format_text(source.levels, source.numbers))
        return 0
    count, options = len(source.levels), source.options
    env: Any = make_vector(
        source.game.env_id, count, options=options, render_mode="rgb_array"
    )
    with closing(env):
        env.reset(seed=list(range(count)))
        picture, _ = draw_boards(env, count, has_scale="render_scale" in options)
    with file_errors("--out", out):
        save_picture(out, picture)
    _say(f"{count:,} levels of {source.title}: {out}")
    return 0


def _stats(arguments: argparse.Namespace) -> int:
    levels, out = Path(arguments.source), arguments.out
    check_target("--out", out)
    if out is not None and out.exists() and levels.exists() and out.samefile(levels):
        raise argument_error("--out", f"{str(levels)!r} is the file of the levels")
    if not arguments.random_episodes:
        refuse_arguments(arguments, ["seed"], "with --random-episodes 0")
    require("rich", "roll-vec levels stats")
    with progress():
        source = open_source(arguments.source, arguments.options, arguments.levels)
        if source.game is not SOKOBAN:
            refuse_arguments(arguments, ["max_states"], "with lakes")
        columns = measure(
            source,
            episodes=arguments.random_episodes,
            seed=arguments.seed,
            max_states=arguments.max_states,
            threads=arguments.threads,
        )
    if out is not None:
        with new_file("--out", out) as file:
            write_csv(file, columns)
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    for part in stats_tables(source, columns, arguments.num_rows):
        # A table is never narrower than its values: the terminal breaks its lines.
        free = console.options.update(width=_NO_LIMIT)
        console.width = max(console.width, Measurement.get(console, free, part).minimum)
        console.print(part)
    if out is not None:
        _say(f"a row for each level: {out}")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    check_target("--out", arguments.out)
    require("rich", "roll-vec levels")
    with progress():
        source = open_source(arguments.source, arguments.options, arguments.levels)
    _check_out(source.game, arguments.out)
    _write(source.game, source.levels, source.title, arguments.out)
    return 0


def _check_out(game: LevelGame, path: Path) -> None:
    check_target("--out", path)
    suffixes = (SUFFIX, *game.text_suffixes)
    if path.suffix.lower() not in suffixes:
        text = f"expected a file {', '.join(suffixes)}, got {str(path)!r}"
        raise argument_error("--out", text)


def _write(game: LevelGame, levels: Any, title: str, path: Path) -> None:
    with new_file("--out", path) as file:
        if path.suffix.lower() == SUFFIX:
            write_archive(file, game.env_id, levels.grids)
        else:
            numbers = np.arange(len(levels))
            file.write(game.format_text(levels, numbers).encode())
    _say(f"{len(levels):,} levels of {title}: {path}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
