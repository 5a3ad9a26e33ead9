"""``roll-vec info`` and ``roll-vec envs``: one environment explained, or all listed."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from typing import Any

from roll_vec.cli._errors import argument_error
from roll_vec.cli._options import add_command
from roll_vec.cli._tables import print_table, text_width
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.any_id import full_id, import_module, make_or_refuse

_LIST_DESCRIPTION = """\
List the ids that roll_vec registers, each with its step limit; of MiniGrid and
BabyAI the names. "roll-vec info ID" explains one, with its keywords.
"""

_LIST_EPILOG = """\
examples:
  roll-vec envs
  roll-vec envs --match DoorKey
  roll-vec envs my_module
"""

_SUMMARY = "explain an environment: spaces, keywords, rewards, ends, infos"

_DESCRIPTION = """\
Explain an environment: spaces, keywords, rewards, ends, infos, sources.
Of other packages' ids it shows all that is known.
"""

_EPILOG = """\
examples:
  roll-vec info roll_vec/Sokoban-v0
  roll-vec info roll_vec/Sokoban -o "dim_room=(10, 10)" \\
      -o terminate_on_deadlock=True
  roll-vec info my_module:mine/Corridor-v0
  roll-vec info CartPole-v1 --json
"""


def add_parser(commands: Any) -> None:
    """Add both commands to the subparsers of the program."""
    texts = "list the environments", _LIST_DESCRIPTION, _LIST_EPILOG
    parser = add_command(commands, "envs", _list, *texts)
    parser.option(
        "MODULE", "import this module first, and list what it registers, too", nargs="?"
    )
    parser.option("--match", "list the ids with this text, each in a line", "TEXT")
    parser = add_command(commands, "info", _info, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.add_shared("ID", "--json")
    parser.option(
        "-o",
        "keyword of the environment: spaces and limits are then those with it; "
        "may be repeated",
    )


def _list(arguments: argparse.Namespace) -> int:
    if arguments.module is not None:
        import_module(arguments.module.removesuffix(":"))
    part = arguments.match
    rows, families = [], dict[str, list[str]]()
    for environment in ENVIRONMENTS.values():
        family = environment.family
        if part is None and family:
            name = environment.id.removeprefix(f"roll_vec/{family}-")
            families.setdefault(family, []).append(name)
        elif part is None or part.lower() in environment.id.lower():
            limit = environment.find_limit()
            text = textwrap.shorten(environment.summarize(), 60, placeholder=" ...")
            rows.append((environment.id, "-" if limit is None else str(limit), text))
    if not rows:
        raise argument_error("--match", f"expected a part of an id, got {part!r}")
    notes = [""]
    for family, names in families.items():
        notes.append(f"roll_vec/{family}-, {len(names)} ids:")
        notes += textwrap.wrap(
            ", ".join(names),
            text_width(),
            initial_indent="  ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        notes.append("")
    note = "The number is the step limit.  Keywords and rewards: roll-vec info ID"
    print_table(rows, "<>", notes=[*notes, note])
    return 0


def _info(arguments: argparse.Namespace) -> int:
    # It imports numba, which other commands do without.
    from roll_vec.descriptions import describe_env
    from roll_vec.descriptions.report import format_description

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
