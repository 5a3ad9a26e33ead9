"""``roll-vec info``: an environment's spaces, keywords, rewards, ends and infos."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from roll_vec.cli._arguments import add_option_argument
from roll_vec.recordings.environments import full_id, make_or_refuse

__all__ = ["add_parser"]

_EPILOG = """\
examples:
  roll-vec info roll_vec/Sokoban-v0
  roll-vec info roll_vec/Sokoban -o "dim_room=(10, 10)" \\
      -o terminate_on_deadlock=True
  roll-vec info my_module:mine/Corridor-v0
  roll-vec info CartPole-v1 --json
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "info",
        help="explain an environment: spaces, keywords, rewards, ends, infos",
        description="Explain an environment: spaces, keywords, rewards, ends, infos, "
        "sources.\nOf other packages' ids it shows all that is known.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "id",
        metavar="ID",
        help="a registered id; without a version, the newest; module:ID imports the "
        "module that registers it first",
    )
    parser.add_argument(
        "--json", action="store_true", help="write it as JSON, for programs"
    )
    add_option_argument(
        parser,
        "keyword of the environment: spaces and rewards are then those with it; may be "
        "repeated",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    # It imports numba, which other commands do without.
    from roll_vec.descriptions import describe_env, format_description

    env_id = full_id(arguments.id)

    def describe() -> Any:
        return describe_env(env_id, arguments.options)

    description = make_or_refuse(env_id, describe)
    if arguments.json:
        text = json.dumps(description.as_dict(), indent=2)
    else:
        text = format_description(description)
    sys.stdout.write(f"{text}\n")
    return 0
