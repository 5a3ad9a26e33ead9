"""``roll-vec replay``: play a recorded run again, and say whether all is equal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from roll_vec.cli._arguments import add_option_argument, integer_from
from roll_vec.cli._errors import FAILURE, UsageError, argument_error
from roll_vec.cli._imports import require
from roll_vec.cli._progress import stepping_bar
from roll_vec.errors import InvalidOptionError, one_line
from roll_vec.recordings import ReplayResult, Run, load_run, replay
from roll_vec.recordings.setup import current_versions

__all__ = ["add_parser"]

_DESCRIPTION = """\
Make the batch of a file of roll-vec rollout --save again, reset it with the
same seeds, take the same actions, and compare the results of every reset and
step, bit by bit: observations, rewards, terminations, truncations and infos.

It prints "identical" and exits with 0; or it prints the first difference (the
step, the first environment in it, the field and both values) and exits with 1.
Versions that differ from those of the file are printed as well.
"""

_EPILOG = """\
The file says everything: the id, the keywords, the seed and the actions. An id
of your own needs its module, which is imported as roll-vec rollout imported it,
also from the working directory. Data files in the keywords have to have the
same content as then; their paths may change: -o data=PATH.

Steps are counted from 1; step 0 is the first reset. Where the file has no
values of a step, but only digests (see roll-vec rollout --save-values), the
digest of the recorded value is shown in its place.

examples:
  roll-vec rollout roll_vec/Sokoban-v0 --save run.npz
  roll-vec replay run.npz
  roll-vec watch run.npz --envs 3 --text
  roll-vec replay run.npz --threads 1
  roll-vec rollout roll_vec/Countdown-v0 --save texts.npz
  roll-vec replay texts.npz -o workers=0
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "replay",
        help="play a saved rollout again and find the first difference",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "file", type=Path, metavar="FILE.npz", help="file of roll-vec rollout --save"
    )
    add_option_argument(
        parser,
        "another path of a data file, or for a pool other workers=N, executor=NAME, "
        "context=NAME, step_timeout=SECONDS or reset_timeout=SECONDS; may be repeated",
    )
    parser.add_argument(
        "--threads",
        type=integer_from(1),
        metavar="N",
        help="threads of an environment that has them (default: its own choice)",
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="no progress bar and no output; the exit code says all",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if not arguments.quiet:
        require("rich", "a replay without --quiet")
    path = arguments.file
    try:
        run = load_run(path)
    except OSError as error:
        text = f"cannot read {str(path)!r}: {error.strerror or one_line(error)}"
        raise argument_error("FILE.npz", text) from error
    try:
        env = run.setup.make_batch(arguments.options, arguments.threads)
    except (UsageError, InvalidOptionError) as error:
        message = f"{path} cannot be played here: {one_line(error)}"
        raise UsageError(message) from error
    try:
        with stepping_bar(run.num_steps, arguments.quiet) as on_progress:
            result = replay(env, run, on_progress)
    finally:
        env.close()
    if not arguments.quiet:
        sys.stdout.write("".join(f"{line}\n" for line in _report(run, result)))
    return 0 if result.difference is None else FAILURE


def _report(run: Run, result: ReplayResult) -> list[str]:
    """Return the lines of the report."""
    setup, difference = run.setup, result.difference
    batch = f"{setup.id}, {setup.num_envs:,} environments"
    if difference is None:
        lines = [
            f"identical: {batch}, {result.num_steps:,} steps ({result.seconds:.2f} s)"
        ]
        if run.exception is not None:
            lines.append(f"the last step raises, as it did: {run.exception}")
    else:
        after = ", the reset after it" if result.is_reset and result.num_steps else ""
        env_id = "unknown" if difference.env_id is None else str(difference.env_id)
        if difference.num_envs > 1:
            env_id += (
                f" (the first of {difference.num_envs:,} that differ in this step)"
            )
        lines = [
            f"different: {batch}",
            f"  step         {result.num_steps:,} of {run.num_steps:,}{after}",
            f"  environment  {env_id}",
            f"  field        {difference.field}",
            f"  recorded     {difference.recorded}",
            f"  now          {difference.present}",
        ]
    present = current_versions()
    changes = [
        f"{name} {version} (now {present[name]})"
        for name, version in run.versions.items()
        if present.get(name, version) != version
    ]
    if changes:
        lines.append(f"versions that differ: {', '.join(changes)}")
    return lines
