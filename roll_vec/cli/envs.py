"""``roll-vec envs``: the ids of this package and their keywords."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from roll_vec.cli._environments import full_id, import_module
from roll_vec.cli._errors import UsageError
from roll_vec.factories import make_pool_vector, make_vector
from roll_vec.registration import ENVIRONMENTS

__all__ = ["add_parser"]

_ACTION_START = """\
action_start: the actions are 1 to 4, and 0 is "no valid action". An agent that counts
from 0 plays action + single_action_space.start, or 0 to 3 with action_start=0.
"""

_EPILOG = """\
A keyword is given with -o, for example:
  roll-vec rollout roll_vec/Sokoban-v0 -o num_boxes=4

examples:
  roll-vec envs
  roll-vec envs roll_vec/Countdown-v0
  roll-vec envs my_module:               all, with those that my_module registers
"""

# By whether a batch is a pool: who makes it, and what it is called.
_VECTOR_FORMS = {
    False: (
        make_vector,
        "Batches of these, gymnasium.make_vec(id, ...), are stacked arrays; they take "
        "besides:",
    ),
    True: (
        make_pool_vector,
        "Batches of these, gymnasium.make_vec(id, ...), are pools of objects; they "
        "take besides:",
    ),
}


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "envs",
        help="list the environments and their keywords",
        description="List the ids that roll_vec registers, with keywords and defaults.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "id",
        nargs="?",
        default="",
        metavar="ID",
        help="list this one alone; module:ID and module: import the module that "
        "registers it first",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    module, _, wanted = arguments.id.rpartition(":")
    if module:
        import_module(module)
    if wanted:
        wanted = full_id(wanted)
    if wanted and wanted not in ENVIRONMENTS:
        message = (
            f"argument ID: expected one of {', '.join(ENVIRONMENTS)}, got {wanted!r}"
        )
        raise UsageError(message)
    for pooled, (maker, heading) in _VECTOR_FORMS.items():
        listed = [
            environment
            for env_id, environment in ENVIRONMENTS.items()
            if environment.pooled is pooled and wanted in ("", env_id)
        ]
        for environment in listed:
            defaults = {
                "max_episode_steps": environment.max_episode_steps,
                **environment.defaults(),
            }
            sys.stdout.write(f"{environment.id}\n{_wrapped(defaults)}\n\n")
        if any("action_start" in environment.defaults() for environment in listed):
            sys.stdout.write(f"{_ACTION_START}\n")
        if listed:
            shared = _defaults(maker)
            # Said above, and without effect.
            del shared["max_episode_steps"], shared["disable_env_checker"]
            sys.stdout.write(f"{heading}\n{_wrapped(shared)}\n\n")
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
        # An enum's value is what a user would write; some keywords have no default.
        name
        if value is inspect.Parameter.empty
        else f"{name}={getattr(value, 'value', value)!r}"
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
