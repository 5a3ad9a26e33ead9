"""``roll-vec envs``: the ids of this package and their keywords."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from roll_vec.cli._environments import full_id, import_module
from roll_vec.cli._errors import argument_error
from roll_vec.factories import make_pool_vector, make_vector
from roll_vec.registration import ENVIRONMENTS

__all__ = ["add_parser"]

_ACTION_START = """\
action_start: the actions begin at 1, and 0 is "no valid action". An agent that counts
from 0 plays action + single_action_space.start, or makes them with action_start=0.
"""

_EPILOG = """\
A keyword is given with -o, for example:
  roll-vec rollout roll_vec/Sokoban-v0 -o num_boxes=4

examples:
  roll-vec envs
  roll-vec envs roll_vec/Countdown-v0
  roll-vec envs my_module:               all, with those that my_module registers
"""

# The maker of batches and the heading of their keywords; True: of pools.
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
    module, _, env_id = arguments.id.rpartition(":")
    if module:
        import_module(module)
    if env_id:
        env_id = full_id(env_id)
    if env_id and env_id not in ENVIRONMENTS:
        text = f"expected one of {', '.join(ENVIRONMENTS)}, got {env_id!r}"
        raise argument_error("ID", text)
    for pooled, (maker, heading) in _VECTOR_FORMS.items():
        environments = [
            environment
            for environment in ENVIRONMENTS.values()
            if environment.pooled is pooled and env_id in ("", environment.id)
        ]
        for environment in environments:
            defaults = {
                "max_episode_steps": environment.max_episode_steps,
                **environment.defaults(),
            }
            sys.stdout.write(f"{environment.id}\n{_wrap_pairs(defaults)}\n\n")
        if any(
            "action_start" in environment.defaults() for environment in environments
        ):
            sys.stdout.write(f"{_ACTION_START}\n")
        if environments:
            shared = _defaults(maker)
            # The first is listed above, the second has no effect.
            del shared["max_episode_steps"], shared["disable_env_checker"]
            sys.stdout.write(f"{heading}\n{_wrap_pairs(shared)}\n\n")
    return 0


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.default is not parameter.empty
    }


def _wrap_pairs(defaults: dict[str, Any]) -> str:
    """Return ``key=value`` pairs, indented; none is broken over two lines."""
    pairs = [
        # A user writes an enum's value; some keywords have no default.
        name
        if value is inspect.Parameter.empty
        else f"{name}={getattr(value, 'value', value)!r}"
        for name, value in defaults.items()
    ]
    # A line must not be broken at the spaces inside a pair.
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
