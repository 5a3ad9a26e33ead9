"""``roll-vec envs``: the ids of this package, a line each."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import Any

from roll_vec.cli._environments import import_module
from roll_vec.cli._screen import format_rows
from roll_vec.cli.info import show_info
from roll_vec.registration import ENVIRONMENTS

__all__ = ["add_parser"]

_EPILOG = """\
examples:
  roll-vec envs
  roll-vec envs my_module:              all, with those that my_module registers
  roll-vec envs roll_vec/Countdown-v0   as roll-vec info roll_vec/Countdown-v0
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
        "id",
        nargs="?",
        default="",
        metavar="ID",
        help="explain this one, as roll-vec info; module: imports the module and lists "
        "all",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    module, _, env_id = arguments.id.rpartition(":")
    if env_id:
        return show_info(arguments.id, {})
    if module:
        import_module(module)
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
