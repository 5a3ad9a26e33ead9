"""``roll-vec export``: episodes of a policy or of a recorded run as training data."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from roll_vec.cli._errors import (
    FAILURE,
    INTERRUPTED,
    argument_error,
    as_argument,
    ending_signals,
    file_errors,
    say_error,
)
from roll_vec.cli._options import POLICY_HELP, add_command, refuse_arguments
from roll_vec.cli._policies import (
    is_endpoint,
    make_endpoint,
    make_turn_policy,
    refuse_chat,
)
from roll_vec.cli._tables import count, progress
from roll_vec.cli.replay import open_run
from roll_vec.errors import InvalidActionError, InvalidOptionError, one_line
from roll_vec.evaluation import ChatError, play_chat
from roll_vec.evaluation.chat import TEXTS
from roll_vec.export import (
    FORMATS,
    NUM_ENVS,
    ExportResult,
    Source,
    TooFewSuccessesError,
    VerificationError,
    export,
    player_source,
    policy_source,
    recorded_source,
    verify,
)
from roll_vec.recordings import read_trajectories
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.any_id import (
    find_spec,
    full_id,
    is_pooled,
    make_or_refuse,
    search_here,
)

# Rows, unless --num-rows says otherwise.
_NUM_ROWS = 1000
# Names of arguments in errors of `roll_vec.export`.
_ARGUMENTS = {
    "format": "--format",
    "num": "--num-rows",
    "out": "--out",
    "start_seed": "--seed",
}

_SUMMARY = "write episodes as training data for other libraries"

_DESCRIPTION = """\
Write episodes as training data, one row an episode: of a policy, or of a run
that roll-vec rollout --out has recorded. Row k plays the seed of --seed plus k;
with --only-success, the k-th success. The same command writes the same bytes;
after any end it goes on where it was: OUT.partial has the rows so far.
"""

_EPILOG = """\
formats (docs/data.md):
%(formats)s

examples:
  roll-vec export roll_vec/Sokoban-v0 --num-rows 1000 --out train.jsonl --verify
  roll-vec export run.npz --format parquet --out run.parquet
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    names = "\n".join(f"  {name:<12}{each.summary}" for name, each in FORMATS.items())
    texts = _SUMMARY, _DESCRIPTION, _EPILOG % {"formats": names}
    parser = add_command(commands, "export", _run, *texts)
    parser.option(
        "ID|FILE",
        "registered id, or the .npz file of a run; without --out the complete "
        "export that --verify checks",
        dest="source",
    )
    parser.option(
        "--format", "see below", "NAME", choices=tuple(FORMATS), default="messages"
    )
    parser.option("--out", "what is written", "PATH")
    parser.option("--num-rows", f"rows (default: {_NUM_ROWS:,}; of a run, all)")
    parser.option("--policy", f"{POLICY_HELP} (default: oracle)", default=None)
    parser.flag("--only-success", "leave out other episodes, and count them")
    parser.number(
        "--max-episodes", "give up after N episodes (default: 100 for each row)", 1
    )
    parser.take("--seed", "-o")
    parser.option("--num-envs", f"stepped at once, for speed (default: {NUM_ENVS})")
    parser.flag("--verify", "play each row again, and compare")
    parser.flag("--overwrite", "replace a complete export")
    parser.take("--quiet")
    # The same command goes on, so that a failure need not cost an episode.
    parser.take_chat(on_error="raise")


def _run(arguments: argparse.Namespace) -> int:
    """Run the command."""
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


def _export(arguments: argparse.Namespace) -> int:
    """Write the file, and a line about it."""
    source, num = _make_source(arguments)
    rows = 0
    start = perf_counter()
    try:
        with (
            file_errors("--out", arguments.out),
            ending_signals(),
            progress(arguments.quiet) as show,
        ):

            def on_progress(totals: Any) -> None:
                nonlocal rows
                rows = totals.rows
                if show is not None:
                    show("rows", rows, num)

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
        raise as_argument(error, _ARGUMENTS) from error
    seconds = perf_counter() - start
    for line in _report(arguments, result, seconds):
        sys.stdout.write(f"{line}\n")
    return 0


def _verify(arguments: argparse.Namespace, path: Path) -> int:
    """Play the rows again, and write a line about them."""
    # The ids of the file may name modules.
    search_here()
    try:
        with file_errors("FILE", path, "read"), progress(arguments.quiet) as show:

            def on_progress(rows: int) -> None:
                if show is not None:
                    show("rows played again", rows, None)

            rows, without_seed = verify(
                path,
                arguments.format,
                num_envs=arguments.num_envs or NUM_ENVS,
                on_progress=on_progress,
            )
    except VerificationError as error:
        say_error(f"error: {one_line(error)}")
        return FAILURE
    replayed = rows - without_seed
    verb = "replays" if replayed == 1 else "replay"
    line = f"verified: {count(replayed, 'row')} {verb} to the bit"
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
    rows = count(totals.rows, "row")
    successes = count(totals.successes, "success", "successes")
    lines.append(
        f"{arguments.out}: {rows}, {successes}, mean return {result.mean_return:.4g}, "
        f"{rate:,.0f} rows/s"
    )
    return lines


def _make_source(arguments: argparse.Namespace) -> tuple[Source, int | None]:
    """Return the episodes to export, and the number of rows; None: all.

    Raises
    ------
    UsageError
        If an argument cannot be used.
    InvalidFileError
        If the file of a run is damaged.
    MissingExtraError
    """
    if arguments.source.lower().endswith(".npz"):
        return _recorded(arguments), arguments.num_rows
    id = full_id(arguments.source)
    spec = find_spec(id)
    keywords = dict(arguments.options)
    policy = arguments.policy or "oracle"
    if spec.id not in ENVIRONMENTS:
        text = f"expected an id of this package or of roll_vec.register, got {id!r}"
        raise argument_error("ID", text)
    format = FORMATS[arguments.format]
    needs_texts = format.needs_texts or format.needs_pictures or is_endpoint(policy)
    if needs_texts and not is_pooled(spec):
        pictures = {"obs_mode": "rgb"} if format.needs_pictures else {}
        keywords = {**TEXTS, **pictures, **keywords}
    make = _chat_source if is_endpoint(policy) else _policy_source
    source = make_or_refuse(id, lambda: make(id, policy, keywords, arguments))
    return source, arguments.num_rows or _NUM_ROWS


def _policy_source(
    id: str, policy: str, keywords: dict[str, Any], arguments: argparse.Namespace
) -> Source:
    """Return the episodes of a policy that acts in a batch."""
    refuse_chat(arguments)
    return policy_source(
        id,
        lambda envs: make_turn_policy(policy, envs, arguments.seed),
        policy,
        keywords=keywords,
        start_seed=arguments.seed,
        num_envs=arguments.num_envs or NUM_ENVS,
    )


def _chat_source(
    id: str, policy: str, keywords: dict[str, Any], arguments: argparse.Namespace
) -> Source:
    """Return the episodes of a model behind an endpoint."""
    endpoint = make_endpoint(policy, arguments)
    options = {"history": arguments.history, "on_error": arguments.on_error}
    facts = {**endpoint.to_json(), "history": arguments.history}
    return player_source(
        id,
        lambda envs, seeds, _: play_chat(envs, seeds, endpoint, **options),
        {"policy": arguments.model, "endpoint": facts},
        keywords=keywords,
        start_seed=arguments.seed,
        num_envs=arguments.concurrency,
    )


def _recorded(arguments: argparse.Namespace) -> Source:
    """Return the episodes of a recorded run."""
    read = {"source", "format", "out", "num_rows", "only_success"}
    read |= {"verify", "overwrite", "quiet"}
    # --verify reads --num-envs, and --num-rows reads --max-episodes.
    read |= {"num_envs"} if arguments.verify else set()
    read |= {"max_episodes"} if arguments.num_rows is not None else set()
    unread = arguments.changes.keys() - read
    refuse_arguments(arguments, unread, "with a recorded run")
    path = Path(arguments.source)
    run = open_run(path, "FILE")
    files = {name: file.path for name, file in run.setup.data_files.items()}
    with closing(run.setup.make_batch()) as envs:
        spaces = envs.single_observation_space, envs.single_action_space
    keywords = {**run.setup.options, **files}
    read_all = partial(read_trajectories, run)
    return recorded_source(run.setup.id, keywords, *spaces, read_all, path)
