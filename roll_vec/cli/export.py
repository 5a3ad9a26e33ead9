"""``roll-vec export``: episodes of a policy or of a recorded run as training data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from roll_vec.cli._arguments import add_option_argument, integer_from, refuse_arguments
from roll_vec.cli._chat_arguments import add_chat_arguments
from roll_vec.cli._errors import (
    FAILURE,
    INTERRUPTED,
    UsageError,
    argument_error,
    say_error,
)
from roll_vec.cli._export_sources import make_source
from roll_vec.cli._files import write_errors
from roll_vec.cli._imports import require
from roll_vec.cli._policies import ENDPOINT_FORM, FORMS
from roll_vec.cli._progress import progress_bars, waiting
from roll_vec.cli._signals import ending_signals
from roll_vec.errors import InvalidActionError, InvalidOptionError, one_line
from roll_vec.evaluation import ChatError
from roll_vec.export import (
    FORMATS,
    NUM_ENVS,
    ExportResult,
    TooFewSuccessesError,
    VerificationError,
    export,
    verify,
)
from roll_vec.recordings.environments import search_here

__all__ = ["add_parser"]

# Names of arguments in errors of `roll_vec.export`.
_ARGUMENTS = {
    "format": "--format",
    "num": "--num",
    "out": "--out",
    "start_seed": "--seed",
}
_SECONDS_PER_UPDATE = 0.1

_DESCRIPTION = """\
Write episodes as training data, one row an episode: of a policy, or of a run
that roll-vec rollout --save has recorded. Every row has its seed, its return
and whether it is a success. Row k plays the seed of --seed plus k; with
--only-success, the k-th success.

The same command writes the same bytes, whatever --num-envs and the threads are.
After Ctrl-C, or any other end, the same command goes on where it was: the rows
so far are in the folder OUT.partial. Another command with the same --out is
refused.
"""

_EPILOG = """\
formats:
%(formats)s

For messages a game on a grid gets the keywords obs_mode=text, action_mode=text
and action_pattern=<answer>(.*?)</answer>; -o changes them.

examples:
  roll-vec export roll_vec/Sokoban-v0 --policy oracle --num 1000 \\
      --out train.jsonl
  roll-vec export roll_vec/Countdown-v0 --policy my_agent:act --only-success \\
      --num 1000 --out train.jsonl
  roll-vec export roll_vec/Sokoban-v0 --policy oracle --format parquet \\
      --num 1000 --out train.parquet --verify
  roll-vec export roll_vec/FrozenLake-v1 --policy oracle --format minari \\
      --num 1000 --out ~/.minari/datasets/lake-oracle-v0
  roll-vec export roll_vec/Countdown-v0 --only-success --num 1000 --model NAME \\
      --policy http://localhost:8000/v1 --out model.jsonl
  roll-vec rollout roll_vec/Sokoban-v0 --save run.npz
  roll-vec export run.npz --format parquet --out run.parquet
  roll-vec export train.jsonl --verify
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    names = "\n".join(f"  {name:<12}{each.summary}" for name, each in FORMATS.items())
    parser = commands.add_parser(
        "export",
        help="write episodes as training data for other libraries",
        description=_DESCRIPTION,
        epilog=_EPILOG % {"formats": names},
    )
    parser.add_argument(
        "source",
        metavar="ID|FILE",
        help="registered gymnasium id, or the .npz file of a recorded run; without "
        "--out the complete export that --verify checks",
    )
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        default="messages",
        help="see below (default: %(default)s)",
    )
    parser.add_argument("--out", type=Path, metavar="PATH", help="what is written")
    parser.add_argument(
        "--num",
        type=integer_from(1),
        metavar="N",
        help="rows (default: 1000; of a recorded run, all)",
    )
    parser.add_argument(
        "--policy",
        default=None,
        metavar="POLICY",
        help=f"{FORMS}, or {ENDPOINT_FORM}; see roll-vec eval --help (default: oracle)",
    )
    parser.add_argument(
        "--only-success",
        action="store_true",
        help="leave out the other episodes, and say how many there were",
    )
    parser.add_argument(
        "--max-episodes",
        type=integer_from(1),
        metavar="N",
        help="give up after N episodes (default: 100 for each row)",
    )
    parser.add_argument(
        "--seed",
        type=integer_from(0),
        default=0,
        metavar="N",
        help="seed of the first episode, and of a random policy (default: %(default)s)",
    )
    add_option_argument(parser)
    parser.add_argument(
        "--num-envs",
        type=integer_from(1),
        metavar="N",
        help=f"environments stepped at once; changes no row (default: {NUM_ENVS})",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="play each row again, and compare return, success, steps and observations",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a complete export"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    add_chat_arguments(parser)
    # The same command goes on, so that a failure need not cost an episode.
    parser.set_defaults(run=_run, on_error="raise")


def _run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if not arguments.quiet:
        require("rich", "an export without --quiet")
    if arguments.out is None:
        if not arguments.verify:
            raise argument_error("--out", "expected the path of the file to write")
        read = {"source", "format", "num_envs", "verify", "quiet"}
        unread = arguments.changes.keys() - read
        refuse_arguments(arguments, unread, "without --out PATH")
        return _verify(arguments, Path(arguments.source))
    code = _export(arguments)
    if code == 0 and arguments.verify:
        code = _verify(arguments, arguments.out)
    return code


@contextmanager
def _bar(task: str, total: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar; the function in it takes the count so far."""
    if total is None or quiet:
        with waiting(f"{task} ...", quiet):
            yield lambda _: None
        return
    due = 0.0
    with progress_bars() as update:

        def show(count: int) -> None:
            nonlocal due
            # A bar costs more than a row.
            if monotonic() >= due:
                due = monotonic() + _SECONDS_PER_UPDATE
                update(task, count, total)

        yield show


def _export(arguments: argparse.Namespace) -> int:
    """Write the file, and a line about it."""
    source, num = make_source(arguments)
    rows = 0
    start = perf_counter()
    try:
        with (
            write_errors("--out", arguments.out),
            ending_signals(),
            _bar("rows", num, arguments.quiet) as show,
        ):

            def on_progress(totals: Any) -> None:
                nonlocal rows
                rows = totals.rows
                show(rows)

            result = export(
                arguments.out,
                source,
                format=arguments.format,
                num=num,
                only_success=arguments.only_success,
                max_episodes=arguments.max_episodes,
                overwrite=arguments.overwrite,
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        of = "" if num is None else f" of {num:,}"
        say_error(f"interrupted after {rows:,}{of} rows; the same command goes on")
        return INTERRUPTED
    except TooFewSuccessesError as error:
        say_error(f"error: {one_line(error)}")
        return FAILURE
    except ChatError as error:
        say_error(f"error: {one_line(error)}, after {rows:,} rows")
        return FAILURE
    except InvalidActionError as error:
        raise argument_error("--policy", one_line(error)) from error
    except InvalidOptionError as error:
        raise _as_argument(error) from error
    seconds = perf_counter() - start
    for line in _report(arguments, result, seconds):
        sys.stdout.write(f"{line}\n")
    return 0


def _verify(arguments: argparse.Namespace, path: Path) -> int:
    """Play the rows again, and write a line about them."""
    # The ids of the file may name modules.
    search_here()
    try:
        with _bar("playing the rows again", None, arguments.quiet) as show:
            rows, without_seed = verify(
                path,
                arguments.format,
                num_envs=arguments.num_envs or NUM_ENVS,
                on_progress=show,
            )
    except OSError as error:
        text = f"cannot read {str(path)!r}: {error.strerror or one_line(error)}"
        raise argument_error("FILE", text) from error
    except VerificationError as error:
        say_error(f"error: {one_line(error)}")
        return FAILURE
    replayed = rows - without_seed
    verb = "replays" if replayed == 1 else "replay"
    line = f"verified: {_count(replayed, 'row', 'rows')} {verb} to the bit"
    if without_seed:
        line += f"; {without_seed:,} rows have no seed that begins them"
    sys.stdout.write(f"{line}\n")
    return 0


def _report(
    arguments: argparse.Namespace, result: ExportResult, seconds: float
) -> list[str]:
    """Return the lines about an export."""
    totals, lines = result.totals, []
    if result.rows_before:
        lines.append(f"went on after {result.rows_before:,} rows")
    missing = totals.episodes - totals.rows - totals.faults
    if arguments.only_success:
        lines.append(f"left out: {missing:,} episodes without success")
    if totals.faults:
        lines.append(f"left out: {totals.faults:,} episodes that ended by an error")
    rate = (totals.rows - result.rows_before) / seconds
    rows = _count(totals.rows, "row", "rows")
    successes = _count(totals.successes, "success", "successes")
    lines.append(
        f"{arguments.out}: {rows}, {successes}, mean return {result.mean_return:.4g}, "
        f"{rate:,.0f} rows/s"
    )
    return lines


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _as_argument(error: InvalidOptionError) -> UsageError:
    """Return an error about a keyword of `export` as one about an argument."""
    name, _, text = str(error).partition(": ")
    if name not in _ARGUMENTS:
        return UsageError(str(error))
    return argument_error(_ARGUMENTS[name], text)
