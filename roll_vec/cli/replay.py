"""``roll-vec replay``: play a recorded run again, and say whether all is equal."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from roll_vec.cli._errors import FAILURE, UsageError, file_errors
from roll_vec.cli._options import add_command
from roll_vec.cli._tables import progress, steps_listener
from roll_vec.errors import InvalidOptionError, one_line
from roll_vec.recordings import load_run, replay
from roll_vec.recordings.files import Run
from roll_vec.recordings.replays import ReplayResult
from roll_vec.recordings.setup import current_versions

_SUMMARY = "play a saved rollout again and find the first difference"

_DESCRIPTION = """\
Make the batch of a file of roll-vec rollout --out again, reset it with the same
seeds, take the same actions, and compare the results of every reset and step,
bit by bit: rewards and ends themselves, observations and infos by digests of 32
bits. It prints "identical" and exits with 0; or it prints the first difference
(the step, the first environment in it, the field) and exits with 1. Versions
that differ from those of the file are printed as well.
"""

_EPILOG = """\
Steps are counted from 1; step 0 is the first reset. See docs/watching.md.

examples:
  roll-vec rollout roll_vec/Sokoban-v0 --out run.npz
  roll-vec replay run.npz
  roll-vec watch run.npz --envs 3 --out page.html
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = add_command(commands, "replay", _run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.option("FILE.npz", "a saved run", dest="file", type=Path)
    parser.option(
        "-o",
        "another path of a data file, another num_threads=N, or for a pool other "
        "workers=N, executor=NAME, context=NAME, step_timeout=SECONDS or "
        "reset_timeout=SECONDS; may be repeated",
    )
    parser.option("--quiet", "no progress bar, no output: the exit code says all")


def _run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    run = open_run(arguments.file, "FILE.npz")
    env = make_batch(run, arguments.options)
    with closing(env), progress(arguments.quiet) as show:
        result = replay(env, run, steps_listener(show, run.num_steps))
    if not arguments.quiet:
        sys.stdout.write("".join(f"{line}\n" for line in _report(run, result)))
    return 0 if result.difference is None else FAILURE


def open_run(path: Path, argument: str) -> Run:
    """Return a saved run.

    Raises
    ------
    UsageError
        If it cannot be read; the error names the argument.
    InvalidFileError
    """
    with file_errors(argument, path, "read"):
        return load_run(path)


def make_batch(
    run: Run, options: dict[str, Any], render_mode: str | None = None
) -> Any:
    """Return the batch of a run; see `RunSetup.make_batch`.

    Raises
    ------
    UsageError
        If it cannot be made here.
    """
    try:
        return run.setup.make_batch(options, render_mode)
    except (UsageError, InvalidOptionError) as error:
        message = f"{run.path} cannot be played here: {one_line(error)}"
        raise UsageError(message) from error


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
