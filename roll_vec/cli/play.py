"""``roll-vec play``: a person plays one environment in a terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import gymnasium

from roll_vec.cli._errors import UsageError
from roll_vec.cli._game import BoardGame, Game, has_directions
from roll_vec.cli._keys import read_keys
from roll_vec.cli._players import COMMANDS, KEYS, KeyPlayer, LinePlayer, is_typed
from roll_vec.recordings.environments import (
    find_spec,
    full_id,
    make_or_refuse,
    render_modes,
)

_DESCRIPTION = """\
Play an environment in the terminal. If the actions are Up, Down, Left and
Right, keys move. If they are text, or have other names, you type one answer a
line.
"""

_EPILOG = f"""\
{KEYS}
{COMMANDS}
With -o levels=FILE, or a list, --seed N begins with level N of it, from 0. Keys
and answers are also read from the lines of a pipe. NO_COLOR=1: no colours.

examples:
  roll-vec play roll_vec/Sokoban-v0 --seed 1010
  roll-vec play roll_vec/FrozenLake-v1 -o obs_mode=text -o action_mode=text
  roll-vec play roll_vec/Countdown-v0 -o max_steps=3
  printf 'ddss\\nq\\n' | roll-vec play roll_vec/FrozenLake-v1
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "play",
        help="play one environment, by keys or by typing answers",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.take("ID", "-o")
    parser.take("--seed", help="seed of the first level")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Run the command until the person or the input ends it.

    Raises
    ------
    UsageError
        The actions are neither directions nor can they be typed.
    """
    title, out = full_id(arguments.id), sys.stdout
    with ExitStack() as game_end, ExitStack() as silence:
        # Keys that are pressed during compilation are not echoed, and played later.
        batches = silence.enter_context(read_keys(sys.stdin))
        env = _make_env(title, arguments.options)
        game_end.callback(env.close)
        if has_directions(env):
            board_game = BoardGame(env, arguments.seed)
            board_game.compile_kernels()
            game_end.callback(board_game.close)
            KeyPlayer(board_game, title, out).play(batches)
        elif is_typed(env):
            game = Game(env, arguments.seed)
            game.compile_kernels()
            silence.close()
            LinePlayer(game, title, out).play(sys.stdin)
        else:
            message = (
                f"{title} cannot be played: its actions are neither text nor named by "
                "an action_lookup, such as {1: 'Up', 2: 'Down'}"
            )
            raise UsageError(message)
    return 0


def _make_env(env_id: str, options: Mapping[str, Any]) -> Any:
    """Return one environment for a person, rendering as text where it can.

    Raises
    ------
    SetupError
        The environment refuses a keyword, or the id is unknown.
    """
    spec = find_spec(env_id)

    def make(**more: Any) -> Any:
        return gymnasium.make(spec, disable_env_checker=True, **options, **more)

    modes = render_modes(spec)
    if modes is None:
        modes = ["ansi"]
    mode = next((mode for mode in ("ansi", "text") if mode in modes), None)
    return make_or_refuse(env_id, make, mode)
