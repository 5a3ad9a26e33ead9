"""``roll-vec levels``: write sets of generated levels as files."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from roll_vec.cli._errors import argument_error, check_target, new_file
from roll_vec.cli._options import add_command, add_commands
from roll_vec.cli._tables import progress
from roll_vec.registration.any_id import full_id

# A set of so many boards takes hundreds of megabytes.
MAX_LEVELS = 10_000_000
SOKOBAN = "roll_vec/Sokoban-v0"
SUFFIXES = (".txt", ".xsb", ".sok")

_SUMMARY = "write sets of generated levels as files"

_EPILOG = """\
The file has rows of # @ + $ * . and space; a line "; n" stands before level n.
The keyword levels plays it: -o levels=FILE.

examples:
  roll-vec levels make roll_vec/Sokoban-v0 --num-levels 1000 --out train.txt
  roll-vec levels make roll_vec/Sokoban-v0 -o 'solution_steps=(5,9)' --out b.txt
  roll-vec play roll_vec/Sokoban-v0 -o levels=train.txt --seed 3
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    inner = add_commands(
        commands, "levels", _SUMMARY, f"{_SUMMARY.capitalize()}.", _EPILOG
    )
    add = partial(add_command, inner, epilog=_EPILOG)
    parser = add(
        "make",
        _make,
        "generate levels and write them to a file",
        "Generate levels of roll_vec/Sokoban-v0. Level n of the file is that of seed\n"
        "S + n; with a band of difficulty, solution_steps or solution_pushes, it is\n"
        "the level that draw_levels draws for this number (docs/levels.md).",
    )
    parser.add_shared("ID", "-o")
    parser.number("--num-levels", "levels to generate", 1, MAX_LEVELS, default=1000)
    parser.number("--start-level", "seed of the first level", 0, metavar="S", default=0)
    parser.option("--out", f"the file: {', '.join(SUFFIXES)}", required=True)


def _make(arguments: argparse.Namespace) -> int:
    from roll_vec.envs.sokoban.level_files import format_levels
    from roll_vec.evaluation import draw_levels

    id, out, options = full_id(arguments.id), arguments.out, dict(arguments.options)
    if id.rpartition(":")[2] != SOKOBAN:
        raise argument_error("ID", f"expected {SOKOBAN}, got {id}")
    check_target("--out", out)
    if out.suffix.lower() not in SUFFIXES:
        text = f"expected a file {', '.join(SUFFIXES)}, got {str(out)!r}"
        raise argument_error("--out", text)
    for name in ("num_levels", "start_level", "levels"):
        if name in options:
            flag = f"use --{name.replace('_', '-')}"
            hint = "make generates levels" if name == "levels" else flag
            raise argument_error("-o", f"{name} cannot be used here: {hint}")
    count, start = arguments.num_levels, arguments.start_level
    last = start + count - 1
    if last >> 32:
        text = f"expected seeds below 2**32, got {last}"
        raise argument_error("--start-level", text)
    with progress():
        levels, _ = draw_levels(SOKOBAN, count, start_level=start, **options)
    with new_file("--out", out) as file:
        file.write(format_levels(levels.grids).encode())
    sys.stdout.write(f"{count:,} levels of {id}, seeds {start} to {last}: {out}\n")
    return 0
