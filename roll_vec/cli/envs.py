"""``roll-vec envs``: the ids of this package, a line each."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import Any

from roll_vec.cli._screen import format_rows
from roll_vec.recordings.environments import import_module
from roll_vec.registration import ENVIRONMENTS

__all__ = ["add_parser"]

_EPILOG = """\
examples:
  roll-vec envs
  roll-vec envs my_module    all, with those that my_module registers
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "envs",
        help="list the environments",
        description="List the ids that roll_vec registers, each with its step limit.\n"
        '"roll-vec info ID" explains one, with its keywords.',
        epilog=_EPILOG,
    )
    parser.add_argument(
        "module",
        nargs="?",
        metavar="MODULE",
        help="import this module first, and list what it registers, too",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.module is not None:
        import_module(arguments.module.removesuffix(":"))
    rows = []
    for environment in ENVIRONMENTS.values():
        limit = environment.max_episode_steps
        text = textwrap.shorten(environment.summarize(), 60, placeholder=" ...")
        rows.append((environment.id, "-" if limit is None else str(limit), text))
    sys.stdout.write(format_rows(rows, "<>", sys.stdout))
    sys.stdout.write(
        "\nThe number is the step limit.  Keywords and rewards: roll-vec info ID\n"
    )
    return 0
