"""``roll-vec levels``: make, show, measure and write sets of levels."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from roll_vec.cli._arguments import (
    PathArgument,
    add_option_argument,
    integer_from,
    number_ranges,
    refuse_arguments,
)
from roll_vec.cli._errors import argument_error
from roll_vec.cli._files import check_suffix, check_target, new_file, write_errors
from roll_vec.cli._imports import require
from roll_vec.cli._level_games import (
    LEVEL_SUFFIXES,
    LevelGame,
    SokobanLevels,
    game_of_id,
)
from roll_vec.cli._level_help import DESCRIPTIONS, EPILOGS, SUMMARY
from roll_vec.cli._level_sources import (
    MAX_LEVELS,
    draw_levels,
    open_source,
)
from roll_vec.cli._level_stats import (
    MAX_PLAYERS,
    Measurement,
    measure,
    stats_tables,
    write_csv,
)
from roll_vec.cli._picture import MAX_BOARDS, draw_boards
from roll_vec.cli._progress import progress_bars
from roll_vec.progress import listen
from roll_vec.recordings.environments import full_id, make_vector
from roll_vec.render.mosaic import PICTURE_SUFFIXES, save_picture
from roll_vec.stacked.level_archives import SUFFIX, write_archive

__all__ = ["add_parser"]

# Boards of a sheet if the user does not say how many.
_SHEET = 16
# Columns of a screen that no table fills.
_NO_LIMIT = 10_000


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parent = commands.add_parser(
        "levels",
        help=SUMMARY,
        description=f"{SUMMARY.capitalize()}.",
        epilog=EPILOGS[""],
    )
    inner = parent.add_commands()
    for add in (_add_make, _add_show, _add_stats, _add_export):
        add(inner)


def _add_make(commands: Any) -> None:
    parser = commands.add_parser(
        "make",
        help="generate levels and write them to a file",
        description=DESCRIPTIONS["make"],
        epilog=EPILOGS["make"],
    )
    parser.add_argument(
        "id", metavar="ID", help="for example roll_vec/Sokoban-v0 or roll_vec/Sokoban"
    )
    parser.add_argument(
        "--num-levels",
        type=integer_from(1, MAX_LEVELS),
        default=1000,
        metavar="N",
        help="levels to generate (default: %(default)s)",
    )
    parser.add_argument(
        "--start-level",
        type=integer_from(0),
        default=0,
        metavar="S",
        help="seed of the first level (default: %(default)s)",
    )
    add_option_argument(parser)
    _add_out(parser)
    parser.set_defaults(run=_make)


def _add_show(commands: Any) -> None:
    parser = commands.add_parser(
        "show",
        help="draw a sheet of boards, or write them as text on the screen",
        description=DESCRIPTIONS["show"],
        epilog=EPILOGS["show"],
    )
    _add_source(parser, f"the first {_SHEET}", MAX_BOARDS)
    parser.add_argument(
        "--out",
        type=PathArgument(*PICTURE_SUFFIXES),
        default=Path("levels.png"),
        metavar="FILE",
        help=f"the picture: {', '.join(PICTURE_SUFFIXES)}; -o render_scale=N sizes its "
        "boards (default: %(default)s)",
    )
    parser.add_argument(
        "--text", action="store_true", help="write text on the screen, and no picture"
    )
    parser.set_defaults(run=_show)


def _add_stats(commands: Any) -> None:
    parser = commands.add_parser(
        "stats",
        help="measure how difficult levels are",
        description=DESCRIPTIONS["stats"],
        epilog=EPILOGS["stats"],
    )
    _add_source(parser, "all of a file, the first 100 of an id")
    parser.add_argument(
        "--random-episodes",
        type=integer_from(0, MAX_PLAYERS),
        default=100,
        metavar="N",
        help="episodes of random actions in each level (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=integer_from(0),
        default=0,
        metavar="N",
        help="seed of the random actions (default: %(default)s)",
    )
    parser.add_argument(
        "--max-states",
        type=integer_from(1),
        metavar="N",
        help="positions after which the search gives a Sokoban level up (default: the "
        "solver's own bound)",
    )
    parser.add_argument(
        "--threads",
        type=integer_from(1),
        metavar="N",
        help="threads (default: one for each core)",
    )
    parser.add_argument(
        "--rows",
        type=integer_from(0),
        default=20,
        metavar="N",
        help="levels in the table on the screen (default: %(default)s)",
    )
    parser.add_argument(
        "--csv",
        type=PathArgument(".csv"),
        metavar="FILE",
        help="write a row for each level",
    )
    parser.set_defaults(run=_stats)


def _add_export(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="write levels in another format",
        description=DESCRIPTIONS["export"],
        epilog=EPILOGS["export"],
    )
    _add_source(parser, "all of a file, the first 100 of an id")
    _add_out(parser)
    parser.set_defaults(run=_export)


def _add_source(parser: Any, default: str, most: int = MAX_LEVELS) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a file or a folder of levels, or an id; see below",
    )
    parser.add_argument(
        "--levels",
        type=number_ranges(most),
        metavar="NUMBERS",
        help=f"such as 0-15,40: numbers of a file's levels, from 0, or seeds "
        f"of an id (default: {default})",
    )
    add_option_argument(parser)


def _add_out(parser: Any) -> None:
    parser.add_argument(
        "--out",
        type=PathArgument(*LEVEL_SUFFIXES),
        required=True,
        metavar="FILE",
        help="the file, in the format of its suffix: "
        f"{SUFFIX}, or text as {', '.join(LEVEL_SUFFIXES[1:])}",
    )


def _make(arguments: argparse.Namespace) -> int:
    game, count, start = (
        game_of_id(arguments.id, "ID", "one of"),
        arguments.num_levels,
        arguments.start_level,
    )
    _check_out(game, arguments.out)
    for name in ("num_levels", "start_level", "levels"):
        if name in arguments.options:
            flag = f"use --{name.replace('_', '-')}"
            hint = "make generates levels" if name == "levels" else flag
            text = f"{name} cannot be used here: {hint}"
            raise argument_error("-o", text)
    options = {**arguments.options, "num_levels": count, "start_level": start}
    require("rich", "roll-vec levels")
    with progress_bars() as progress, listen(progress):
        levels = draw_levels(arguments.id, game, options, np.arange(count))
    _write(game, levels, arguments.out)
    seeds = f"seeds {start} to {start + count - 1}"
    _say(f"{count:,} levels of {full_id(arguments.id)}, {seeds}: {arguments.out}")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    if arguments.text:
        refuse_arguments(arguments, ["out"], "with --text")
    else:
        check_target("--out", arguments.out)
        check_suffix("--out", arguments.out)
        require("pillow", "a sheet of levels without --text", module="PIL.Image")
    source = open_source(
        arguments.source, arguments.options, arguments.levels, most=_SHEET
    )
    if arguments.text:
        _say(source.game.format_text(source.levels, source.numbers), end="")
        return 0
    count = len(source.levels)
    name = source.game.ENV_ID
    env: Any = make_vector(name, count, options=source.options, render_mode="rgb_array")
    try:
        env.reset(seed=list(range(count)))
        picture, _ = draw_boards(env, count, has_scale="render_scale" in source.options)
    finally:
        env.close()
    with write_errors("--out", arguments.out):
        save_picture(arguments.out, picture)
    _say(f"{count:,} levels of {source.title}: {arguments.out}")
    return 0


def _stats(arguments: argparse.Namespace) -> int:
    check_target("--csv", arguments.csv)
    levels, rows = Path(arguments.source), arguments.csv
    if rows is not None and rows.exists() and levels.exists() and rows.samefile(levels):
        raise argument_error("--csv", f"{str(levels)!r} is the file of the levels")
    if not arguments.random_episodes:
        refuse_arguments(arguments, ["seed"], "with --random-episodes 0")
    require("rich", "roll-vec levels stats")
    with progress_bars() as progress, listen(progress):
        source = open_source(arguments.source, arguments.options, arguments.levels)
        if not isinstance(source.game, SokobanLevels):
            refuse_arguments(arguments, ["max_states"], "with lakes")
        result: Measurement = measure(
            source,
            episodes=arguments.random_episodes,
            seed=arguments.seed,
            max_states=arguments.max_states,
            threads=arguments.threads,
        )
    if arguments.csv is not None:
        with new_file("--csv", arguments.csv) as file:
            write_csv(file, result)
    from rich.console import Console
    from rich.measure import Measurement as Widths

    console = Console()
    for part in stats_tables(result, arguments.rows):
        # A table is never narrower than its values: the terminal breaks its lines.
        free = console.options.update(width=_NO_LIMIT)
        console.width = max(console.width, Widths.get(console, free, part).minimum)
        console.print(part)
    if arguments.csv is not None:
        _say(f"a row for each level: {arguments.csv}")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    check_target("--out", arguments.out)
    require("rich", "roll-vec levels")
    with progress_bars() as progress, listen(progress):
        source = open_source(arguments.source, arguments.options, arguments.levels)
    _check_out(source.game, arguments.out)
    _write(source.game, source.levels, arguments.out)
    _say(f"{len(source.levels):,} levels of {source.title}: {arguments.out}")
    return 0


def _check_out(game: LevelGame, path: Path) -> None:
    check_target("--out", path)
    suffixes = (SUFFIX, *game.TEXT_SUFFIXES)
    if path.suffix.lower() not in suffixes:
        text = f"expected a file {', '.join(suffixes)}, got {str(path)!r}"
        raise argument_error("--out", text)


def _write(game: LevelGame, levels: Any, path: Path) -> None:
    with new_file("--out", path) as file:
        if path.suffix.lower() == SUFFIX:
            write_archive(file, game.ENV_ID, levels.grids)
        else:
            numbers = np.arange(len(levels))
            file.write(game.format_text(levels, numbers).encode())


def _say(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
