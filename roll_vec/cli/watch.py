"""``roll-vec watch``: environments of a run or of a policy, to be looked at."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path
from typing import Any

from roll_vec.cli._arguments import (
    PathArgument,
    add_option_argument,
    autoreset_mode,
    integer_from,
    number_ranges,
    refuse_arguments,
)
from roll_vec.cli._files import new_file
from roll_vec.cli._imports import require
from roll_vec.cli._policies import FORMS
from roll_vec.cli._progress import progress_bars
from roll_vec.cli._screen import text_width
from roll_vec.cli._watch_files import (
    FILE_FORMS,
    Writer,
    file_writer,
    positive_number,
)
from roll_vec.cli._watch_sources import MAX_ENVS, NUM_ENVS, record_policy, record_run
from roll_vec.watch import Recording, write_text
from roll_vec.watch.video import DEFAULT_FPS

__all__ = ["add_parser"]

_DESCRIPTION = """\
Write environments and what happened in them to a file that shows it, or here as
plain text: a grid of boards, pictures or conversations. The suffix of
--out says the form of the file:

  .html   one page for a browser, without other files and without network
  .gif    an animated picture: a grid of boards, and below each the action, the
          reward, the end of the episode and its return so far; it repeats
  .mp4    the same as a video with H.264 (extra render)

The environments are those of a saved run, which is played again and compared
with its file as roll-vec replay does it; or they are made here and played by a
policy.
"""

_EPILOG = f"""\
a file of roll-vec rollout --save is played to its end, or to the first
difference from the file, which is marked: its environment, step and field. The
exit code is then 1, as that of roll-vec replay. A replay computes all values
again, also those of which the file has digests alone.

examples:
  roll-vec watch roll_vec/Sokoban-v0 --policy oracle --out page.html
  roll-vec watch roll_vec/Countdown-v0 --policy random -o group_size=8 \\
      --out page.html
  roll-vec watch CartPole-v1 --num 4 --steps 200 --out page.html --open
  roll-vec watch roll_vec/Sokoban-v0 --policy oracle --text
  roll-vec watch roll_vec/Sokoban-v0 --policy oracle --steps 40 \\
      --out sokoban.gif
  roll-vec rollout roll_vec/Sokoban-v0 --num-envs 1000 --steps 120 \\
      --save run.npz
  roll-vec watch run.npz --envs 0-15,40 --out page.html

By default the first {NUM_ENVS} environments of a run are shown; the whole batch
is played all the same.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "watch",
        help="see a saved run, or a policy at play, in a browser",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    positive = integer_from(1)
    parser.add_argument(
        "target",
        metavar="RUN.npz|ID",
        help="file of roll-vec rollout --save, or a registered gymnasium id as for "
        "roll-vec rollout",
    )
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument(
        "--out",
        type=PathArgument(*FILE_FORMS),
        metavar="FILE",
        help=f"the file to write, with one of these suffixes: {', '.join(FILE_FORMS)}",
    )
    place.add_argument(
        "--text",
        action="store_true",
        help="write all steps as plain text, here",
    )
    parser.add_argument(
        "--num",
        type=integer_from(1, MAX_ENVS),
        metavar="N",
        help="environments to show: the first N of a run; of an ID, so many are made "
        f"(default: {NUM_ENVS})",
    )
    parser.add_argument(
        "--envs",
        type=number_ranges(MAX_ENVS),
        metavar="I-J,K",
        help="of a run, the environments to show by their numbers: 0-15,40",
    )
    parser.add_argument(
        "--steps",
        type=positive,
        metavar="N",
        help="steps to play (default: all of a run, 100 of an ID)",
    )
    parser.add_argument(
        "--policy",
        metavar="NAME",
        help=f"of an ID: {FORMS}, see roll-vec rollout --help (default: random)",
    )
    parser.add_argument(
        "--seed",
        type=integer_from(0),
        metavar="N",
        help="of an ID: seed of the first environment; environment i has seed N + i "
        "(default: 0)",
    )
    parser.add_argument(
        "--autoreset",
        type=autoreset_mode,
        metavar="MODE",
        help="of an ID: next_step, same_step or disabled, as for roll-vec rollout "
        "(default: next_step)",
    )
    add_option_argument(
        parser,
        "of an ID, a keyword of the environment, may be repeated: -o num_boxes=4 -o "
        'group_size=8; "roll-vec info ID" lists them; of a run, as for roll-vec replay',
    )
    parser.add_argument(
        "--fps",
        type=positive_number,
        metavar="N",
        help=f"of a video: steps a second (default: {DEFAULT_FPS})",
    )
    parser.add_argument(
        "--scale",
        type=positive,
        metavar="N",
        help="of a video: a cell of a board has 16 N pixels (default: 1 to 3, by the "
        "number of boards)",
    )
    parser.add_argument(
        "--open", action="store_true", help="open the file when it is written"
    )
    parser.add_argument(
        "--quiet", action="store_true", help="no progress bar and no output"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Run the command; check everything that can be wrong before the first step."""
    writer = None
    if arguments.out is None:
        refuse_arguments(arguments, ["fps", "scale", "open"], "with --text")
    else:
        writer = file_writer(arguments.out, arguments.fps, arguments.scale)
    if not arguments.quiet:
        require("rich", "roll-vec watch without --quiet")
    is_run = (
        arguments.target.lower().endswith(".npz") or Path(arguments.target).is_file()
    )
    recording, code = (record_run if is_run else record_policy)(arguments)
    if writer is not None:
        _write(arguments, recording, writer)
    else:
        write_text(sys.stdout, recording, text_width())
    return code


def _write(arguments: argparse.Namespace, recording: Recording, writer: Writer) -> None:
    """Write the file, say so, and open it."""
    out: Path = arguments.out
    with new_file("--out", out) as file:
        if arguments.quiet:
            writer(file, recording, None)
        else:
            with progress_bars() as show:
                writer(file, recording, lambda n, total: show("writing", n, total))
    if not arguments.quiet:
        from rich.console import Console

        size = out.stat().st_size / 1_000_000
        num_envs, steps = len(recording.env_ids), recording.ticks[-1].step
        line = f"{num_envs:,} environments, {steps:,} steps, {size:.2f} MB: {out}"
        Console().print(line, markup=False, highlight=False, soft_wrap=True)
    if arguments.open:
        webbrowser.open(out.absolute().as_uri())
