"""``roll-vec envs``: the ids of this package and their keywords."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from roll_vec.registration import ENVIRONMENTS, make_vector

__all__ = ["add_parser"]

_EPILOG = """\
A keyword is given with -o, for example:
  roll-vec rollout roll_vec/Sokoban-v0 -o num_boxes=4
"""

_VECTOR_FORM = """\
The vector form, gymnasium.make_vec(id, ...), also takes:
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
    for env_id, environment in ENVIRONMENTS.items():
        defaults = {
            "max_episode_steps": environment.max_episode_steps,
            **_defaults(environment.load("Options")),
            **environment.keywords,
        }
        sys.stdout.write(f"{env_id}\n{_wrapped(defaults)}\n\n")
    shared = _defaults(make_vector)
    # Said above, and without effect.
    del shared["max_episode_steps"], shared["disable_env_checker"]
    sys.stdout.write(f"{_VECTOR_FORM}{_wrapped(shared)}\n")
    return 0


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.default is not parameter.empty
    }


def _wrapped(defaults: dict[str, Any]) -> str:
    """Return ``key=value`` pairs, indented; none is broken over two lines."""
    pairs = [
        # An enum's value is what a user would write.
        f"{name}={getattr(value, 'value', value)!r}"
        for name, value in defaults.items()
    ]
    # Spaces inside a pair must not be taken for places to break a line.
    text = " ".join(pair.replace(" ", "\0") for pair in pairs)
    lines = textwrap.wrap(
        text,
        width=88,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\0", " ")
