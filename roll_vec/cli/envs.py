"""``roll-vec envs``: the ids of this package and their keywords."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import gymnasium

__all__ = ["add_parser"]

_EPILOG = """\
A keyword is given with -o, for example:
  roll-vec rollout roll_vec/Sokoban-v0 -o num_boxes=4
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "envs",
        help="list the environments and their keywords",
        description="List the ids that roll_vec registers, with keywords and defaults.",
        epilog=_EPILOG,
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    del arguments
    for env_id, spec in sorted(gymnasium.registry.items()):
        if spec.namespace == "roll_vec":
            sys.stdout.write(f"{env_id}\n")
    return 0
